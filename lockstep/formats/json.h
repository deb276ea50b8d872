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

/// One line for indent < 0. Numbers as Python's repr writes them: 0.001, 1e-07, 1e+16, NaN. Throws
/// InvalidArgument when a text is not UTF-8.
std::string dump_json(const Json& json, int indent = -1);

}  // namespace lockstep
