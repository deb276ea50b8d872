#include "lockstep/formats/json.h"

#include <cmath>
#include <limits>

namespace lockstep {
namespace {

constexpr int kMaxDepth = 256;
// Python's literals that JSON lacks travel as strings no file holds.
constexpr std::string_view kLiterals[] = {"NaN", "Infinity", "-Infinity"};
constexpr std::string_view kMark = "\x01number:";

/// Python's NaN and Infinity outside strings become marked strings; depth is bounded on the way.
std::string without_literals(std::string_view text, std::string_view where) {
  std::string out;
  out.reserve(text.size());
  int depth = 0;
  bool in_string = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      out += c;
      if (c == '\\' && i + 1 < text.size())
        out += text[++i];
      else if (c == '"')
        in_string = false;
      continue;
    }
    if (c == '"') in_string = true;
    if (c == '[' || c == '{') ++depth;
    if (c == ']' || c == '}') --depth;
    if (depth > kMaxDepth) fail(ErrorCode::kDataLoss, where, "JSON must not nest deeper than {} (byte {})", kMaxDepth, i);
    bool is_literal = false;
    for (const std::string_view literal : kLiterals)
      if (!is_literal && text.substr(i, literal.size()) == literal) {
        out += fmt::format("\"\\u0001number:{}\"", literal);
        i += literal.size() - 1;
        is_literal = true;
      }
    if (!is_literal) out += c;
  }
  return out;
}

void restore_literals(Json& json) {
  if (json.is_string()) {
    const auto& text = json.get_ref<const std::string&>();
    if (!text.starts_with(kMark)) return;
    const std::string literal = text.substr(kMark.size());
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    json = literal == "NaN" ? std::numeric_limits<double>::quiet_NaN() : literal == "Infinity" ? kInfinity : -kInfinity;
    return;
  }
  if (json.is_structured())
    for (auto& item : json) restore_literals(item);
}

void mark_literals(Json& json) {
  if (json.is_number_float() && !std::isfinite(json.get<double>())) {
    const double value = json.get<double>();
    json = std::string(kMark) + (std::isnan(value) ? "NaN" : value > 0 ? "Infinity" : "-Infinity");
    return;
  }
  if (json.is_structured())
    for (auto& item : json) mark_literals(item);
}

}  // namespace

Json parse_json(std::string_view text, std::string_view where) {
  const std::string plain = without_literals(text, where);
  try {
    Json json = Json::parse(plain);
    restore_literals(json);
    return json;
  } catch (const nlohmann::json::exception& error) {
    fail(ErrorCode::kDataLoss, where, "must be JSON: {}", error.what());
  }
}

std::string dump_json(const Json& json, int indent) {
  Json marked = json;
  mark_literals(marked);
  std::string text = marked.dump(indent, ' ', true);
  for (const std::string_view literal : kLiterals) {
    const std::string from = fmt::format("\"\\u0001number:{}\"", literal);
    for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at)) text.replace(at, from.size(), literal);
  }
  return text;
}

}  // namespace lockstep
