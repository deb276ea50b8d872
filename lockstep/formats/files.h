// Whole files: read with a bound, written so that a reader sees the old content or the new, never
// half.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "lockstep/base/error.h"

namespace lockstep {

using Bytes = std::string;

/// Throws NotFound naming the path and the reason, InvalidArgument when the file is larger.
Bytes read_file(const std::filesystem::path& path, uint64_t max_bytes = uint64_t{1} << 36);

/// Writes beside, syncs, renames, syncs the folder. On failure the old file is as it was, the
/// temporary one is gone, and the error names path and reason.
void write_file_atomically(const std::filesystem::path& path, std::string_view bytes);

/// Lower-case hexadecimal SHA-256.
std::string sha256_hex(std::string_view bytes);

}  // namespace lockstep
