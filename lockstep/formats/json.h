// JSON as Keras writes and reads it: key order kept, Python's NaN and Infinity allowed.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "lockstep/base/error.h"

namespace lockstep {

using Json = nlohmann::ordered_json;

/// Throws DataLoss naming `where` and the byte; nesting deeper than 256 and more than 256 MiB are
/// refused. Of equal keys the last counts, as in Python.
Json parse_json(std::string_view text, std::string_view where);

/// A double that comes back bit for bit, also when it is no number: C's "%a", as text.
Json exact_double(double value);
/// Throws DataLoss naming `where` when it is no such text.
double parse_exact_double(const Json& json, std::string_view where);

/// Runs `body`, which takes JSON apart by `at` and `get`: what does not fit there throws DataLoss
/// naming `where`.
template <class Body>
void checked_json(std::string_view where, Body&& body) {
  try {
    body();
  } catch (const Json::exception& error) {
    fail(ErrorCode::kDataLoss, where, "does not hold what it should: {}", error.what());
  }
}

/// One line for indent < 0. Numbers as Python's repr writes them: 0.001, 1e-07, 1e+16, NaN. Throws
/// InvalidArgument when a text is not UTF-8.
std::string dump_json(const Json& json, int indent = -1);

}  // namespace lockstep
