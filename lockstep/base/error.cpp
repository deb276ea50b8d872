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
    : std::runtime_error(where.empty() ? std::string(message)
                                       : fmt::format("[{}] {}", where, message)),
      code_(code) {}

void check_failed(const char* condition, const char* file, int line) {
  fail(ErrorCode::kInternal, "lockstep", "this must hold: {} ({}:{}). Please report it", condition,
       file, line);
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
