// Gzip files, unpacked into memory.
#pragma once

#include <string_view>

#include "lockstep/formats/files.h"

namespace lockstep {

/// Content of a .gz file of one member or several. Throws DataLoss naming `where` when it is
/// damaged, cut off, followed by something else, or unpacks to more than `max_bytes`.
Bytes gunzip(std::string_view packed, std::string_view where,
             uint64_t max_bytes = uint64_t{1} << 34);

}  // namespace lockstep
