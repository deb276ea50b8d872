#include "lockstep/base/error.h"

#include <algorithm>
#include <numeric>
#include <vector>

namespace lockstep {

int exit_code(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalidArgument:
      return 2;
    case ErrorCode::kUnsupported:
      return 3;
    case ErrorCode::kOutOfMemory:
      return 4;
    case ErrorCode::kNotFound:
      return 5;
    case ErrorCode::kDataLoss:
      return 6;
    case ErrorCode::kInternal:
      return 70;
  }
  return 70;
}

Error::Error(ErrorCode code, std::string_view where, std::string_view message)
    : std::runtime_error(
          printable(where.empty() ? std::string(message) : fmt::format("[{}] {}", where, message))),
      code_(code) {}

void check_failed(const char* condition, const char* file, int line) {
  fail(ErrorCode::kInternal, "lockstep", "this must hold: {} ({}:{}). Please report it", condition,
       file, line);
}

namespace {

/// Length of the UTF-8 character that `text` begins with; 0 where it begins with none.
size_t character_length(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  const size_t length = first < 0x80                    ? 1
                        : first >= 0xC2 && first < 0xE0 ? 2
                        : first >= 0xE0 && first < 0xF0 ? 3
                        : first >= 0xF0 && first < 0xF5 ? 4
                                                        : 0;
  if (length == 0 || length > text.size()) return 0;
  for (size_t i = 1; i < length; ++i)
    if ((byte(i) & 0xC0) != 0x80) return 0;
  // Not the shortest form, halves of a pair, and beyond the last character.
  const bool is_odd = (first == 0xE0 && byte(1) < 0xA0) || (first == 0xED && byte(1) >= 0xA0) ||
                      (first == 0xF0 && byte(1) < 0x90) || (first == 0xF4 && byte(1) >= 0x90);
  return is_odd ? 0 : length;
}

}  // namespace

std::string printable(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const size_t length = character_length(text);
    const auto first = static_cast<unsigned char>(text[0]);
    const bool is_control = (first < 0x20 && first != '\n' && first != '\t') || first == 0x7F;
    if (length == 0 || is_control)
      result += fmt::format("\\x{:02x}", first);
    else
      result += text.substr(0, length);
    text.remove_prefix(std::max<size_t>(length, 1));
  }
  return result;
}

int edit_distance(std::string_view a, std::string_view b) {
  std::vector<int> row(b.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (size_t i = 1; i <= a.size(); ++i) {
    int diagonal = row[0];
    row[0] = static_cast<int>(i);
    for (size_t j = 1; j <= b.size(); ++j) {
      const int substitute = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, substitute});
    }
  }
  return row.back();
}

}  // namespace lockstep
