#include "lockstep/formats/json.h"

#include <cstdio>
#include <cstdlib>

#include <charconv>
#include <cmath>
#include <limits>
#include <vector>

namespace lockstep {
namespace {

constexpr int kMaxDepth = 256;
constexpr size_t kMaxBytes = size_t{1} << 28;

/// Text that the JSON grammar allows, and what its numbers really are.
struct PlainJson {
  struct Literal {
    size_t number;  // counting the numbers of the text from 0
    double value;
  };
  std::string text;
  std::vector<Literal> literals;
};

/// The value of Python's NaN, Infinity or -Infinity at the start of `text`, and its length.
std::pair<double, size_t> python_literal(std::string_view text) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (text.starts_with("NaN")) return {std::numeric_limits<double>::quiet_NaN(), 3};
  if (text.starts_with("Infinity")) return {kInfinity, 8};
  if (text.starts_with("-Infinity")) return {-kInfinity, 9};
  return {0, 0};
}

size_t string_end(std::string_view text, size_t quote) {
  size_t i = quote + 1;
  while (i < text.size() && text[i] != '"') i += text[i] == '\\' ? 2 : 1;
  return std::min(i + 1, text.size());
}

/// Python's literals become a 0 and spaces: every byte keeps its position. Depth is bounded here.
PlainJson plain_json(std::string_view text, std::string_view where) {
  PlainJson plain{std::string(text), {}};
  int depth = 0;
  size_t numbers = 0;
  for (size_t i = 0; i < text.size();) {
    const char c = text[i];
    const auto [value, length] = python_literal(text.substr(i));
    if (c == '"') {
      i = string_end(text, i);
    } else if (length > 0) {
      plain.text.replace(i, length, "0" + std::string(length - 1, ' '));
      plain.literals.push_back({numbers++, value});
      i += length;
    } else if (c == '-' || (c >= '0' && c <= '9')) {
      ++numbers;
      i = std::min(text.find_first_not_of("0123456789+-.eE", i), text.size());
    } else {
      depth += (c == '[' || c == '{') - (c == ']' || c == '}');
      if (depth > kMaxDepth)
        fail(ErrorCode::kDataLoss, where, "JSON must not nest deeper than {} (byte {})", kMaxDepth,
             i);
      ++i;
    }
  }
  return plain;
}

/// As Python's repr: the fewest digits that read back the same, an exponent below 1e-4 and from
/// 1e16.
void append_number(std::string& out, double value) {
  if (std::isnan(value)) {
    out += "NaN";
    return;
  }
  if (std::isinf(value)) {
    out += value > 0 ? "Infinity" : "-Infinity";
    return;
  }
  const double size = std::abs(value);
  const bool is_fixed = size == 0 || (size >= 1e-4 && size < 1e16);
  char digits[32];
  const auto end =
      std::to_chars(digits, digits + sizeof digits, value,
                    is_fixed ? std::chars_format::fixed : std::chars_format::scientific)
          .ptr;
  const std::string_view number(digits, static_cast<size_t>(end - digits));
  out += number;
  if (is_fixed && number.find('.') == std::string_view::npos) out += ".0";
}

class Writer {
 public:
  explicit Writer(int indent) : indent_(indent) {}

  void write(const Json& json) {
    if (json.is_structured() && !json.empty())
      write_members(json);
    else if (json.is_number_float())
      append_number(out_, json.get<double>());
    else
      write_plain(json);
  }
  std::string take() { return std::move(out_); }

 private:
  void write_members(const Json& json) {
    const bool is_object = json.is_object();
    out_ += is_object ? '{' : '[';
    ++depth_;
    const char* separator = "";
    for (auto it = json.begin(); it != json.end(); ++it) {
      out_ += separator;
      separator = ",";
      break_line();
      if (is_object) {
        write_plain(it.key());
        out_ += indent_ < 0 ? ":" : ": ";
      }
      write(*it);
    }
    --depth_;
    break_line();
    out_ += is_object ? '}' : ']';
  }

  /// Text, integers, true, false, null, {} and []: what both languages write alike.
  void write_plain(const Json& json) {
    try {
      out_ += json.dump(-1, ' ', true);
    } catch (const nlohmann::json::exception&) {
      invalid_argument("json", "text must be UTF-8 to be written as JSON");
    }
  }

  void break_line() {
    if (indent_ < 0) return;
    out_ += '\n';
    out_.append(static_cast<size_t>(indent_) * depth_, ' ');
  }

  int indent_;
  size_t depth_ = 0;
  std::string out_;
};

}  // namespace

Json parse_json(std::string_view text, std::string_view where) {
  if (text.size() > kMaxBytes)
    fail(ErrorCode::kDataLoss, where, "JSON must have at most {} bytes: {}", kMaxBytes,
         text.size());
  const PlainJson plain = plain_json(text, where);
  auto literal = plain.literals.begin();
  size_t numbers = 0;
  const auto restore = [&](int, Json::parse_event_t event, Json& parsed) {
    if (event != Json::parse_event_t::value || !parsed.is_number()) return true;
    const size_t number = numbers++;
    if (literal != plain.literals.end() && literal->number == number) parsed = (literal++)->value;
    return true;
  };
  try {
    return Json::parse(plain.text, restore);
  } catch (const nlohmann::json::exception& error) {
    fail(ErrorCode::kDataLoss, where, "must be JSON: {}", error.what());
  }
}

std::string dump_json(const Json& json, int indent) {
  Writer writer(indent);
  writer.write(json);
  return writer.take();
}

Json exact_double(double value) {
  char text[40];
  std::snprintf(text, sizeof text, "%a", value);
  return text;
}

double parse_exact_double(const Json& json, std::string_view where) {
  if (json.is_string()) {
    const auto& text = json.get_ref<const std::string&>();
    char* end = nullptr;
    const double value = std::strtod(text.c_str(), &end);
    if (!text.empty() && end == text.c_str() + text.size()) return value;
  }
  fail(ErrorCode::kDataLoss, where, "a number as \"0x1.8p+1\" must stand here: {}",
       dump_json(json));
}

}  // namespace lockstep
