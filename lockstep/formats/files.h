// Files as bytes: read whole with a bound, written so that a reader sees the old content or the
// new, never half; and files that grow.
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
/// temporary one is gone, and the error names path and reason. A link's target is written, the link
/// stays; devices and pipes are written to as they are.
void write_file_atomically(const std::filesystem::path& path, std::string_view bytes);

/// A new file with this content; false, and nothing done, when something of that name is there.
/// Throws InvalidArgument naming path and reason.
bool create_file(const std::filesystem::path& path, std::string_view bytes);

/// Adds to a file that is there. Throws NotFound without one, InvalidArgument when it cannot be
/// written; then it is cut to the length it had.
void append_to_file(const std::filesystem::path& path, std::string_view bytes);

/// Makes a file's content durable. Throws InvalidArgument naming path and reason.
void sync_file(const std::filesystem::path& path);

/// Drops what a file has beyond `bytes`, durably. Throws InvalidArgument naming path and reason.
void cut_file(const std::filesystem::path& path, uint64_t bytes);

/// A file in a folder that nobody reads yet: written and synced, not renamed. Throws as
/// `write_file_atomically`.
void write_new_file(const std::filesystem::path& path, std::string_view bytes);

/// Makes a folder and those above it, durably. Throws InvalidArgument naming path and reason.
void make_folder(const std::filesystem::path& path);

/// Makes the names in a folder durable. Throws InvalidArgument naming path and reason.
void sync_folder(const std::filesystem::path& folder);

/// Renames within one folder and makes it durable. Throws InvalidArgument naming path and reason.
void rename_durably(const std::filesystem::path& from, const std::filesystem::path& to);

/// Lower-case hexadecimal SHA-256.
std::string sha256_hex(std::string_view bytes);

}  // namespace lockstep
