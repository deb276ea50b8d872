// A checkpoint: one folder with the models of a run as .keras files, what else training must
// remember, and the checksums of all of it (docs/checkpoint_format.md).
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "lockstep/formats/files.h"
#include "lockstep/formats/json.h"

namespace lockstep {

struct Checkpoint {
  int64_t step = 0;
  /// An object. "format", "step" and "files" belong to the folder and are not in here.
  Json state = Json::object();
  std::map<std::string, Bytes> files{};  // name -> content: "model.keras"
};

/// "step-00001234"
std::string checkpoint_name(int64_t step);

/// Writes `folder`/step-00001234: beside, synced, renamed, so that it is there whole or not at all,
/// also after a loss of power. One of the same name (damaged, or it would not be written again)
/// is replaced. Throws as `write_file_atomically`; nothing new is there then.
void write_checkpoint(const std::filesystem::path& folder, const Checkpoint& checkpoint);

/// Reads one checkpoint's folder. Throws NotFound when it is not there or cannot be read, DataLoss
/// naming file and rule when a file is missing, its checksum differs, or the folder bears the
/// number of another step, Unsupported for another format version.
Checkpoint read_checkpoint(const std::filesystem::path& path);

/// Folders with a checkpoint's name in `folder`, oldest first; none when there is no such folder.
/// Throws NotFound when it cannot be listed.
std::vector<std::filesystem::path> list_checkpoints(const std::filesystem::path& folder);

struct LatestCheckpoint {
  std::optional<Checkpoint> checkpoint;  // none: there is no whole one
  std::vector<std::string> damaged;      // what is wrong with newer ones, one message each
  std::vector<std::filesystem::path> damaged_paths{};
};
LatestCheckpoint read_latest_checkpoint(const std::filesystem::path& folder);

/// Renames a damaged checkpoint to `damaged-step-...`: it is no checkpoint any more, and nothing
/// removes it. What cannot be renamed stays.
void set_aside(const std::filesystem::path& damaged);

/// Of the checkpoints up to that of step `newest`, removes all but the newest `keep` (at least 1),
/// and what unfinished writes left behind. What cannot be removed stays.
void remove_old_checkpoints(const std::filesystem::path& folder, int64_t newest, int64_t keep);

}  // namespace lockstep
