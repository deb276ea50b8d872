// JSON as Keras writes and reads it: key order kept, Python's NaN and Infinity allowed.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "lockstep/base/error.h"

namespace lockstep {

using Json = nlohmann::ordered_json;

/// Throws DataLoss naming `where` and the byte; nesting deeper than 256 is refused.
Json parse_json(std::string_view text, std::string_view where);

/// One line for indent < 0. Numbers in the shortest form that reads back the same.
std::string dump_json(const Json& json, int indent = -1);

}  // namespace lockstep
