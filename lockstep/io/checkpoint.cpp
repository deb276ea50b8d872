#include "lockstep/io/checkpoint.h"

#include <algorithm>
#include <tuple>

namespace lockstep {
namespace {

namespace fs = std::filesystem;

constexpr int kFormat = 1;
constexpr std::string_view kPrefix = "step-", kState = "state.json", kStateSum = "state.sha256";

/// While one checkpoint takes the place of another of the same step, the old one has this behind
/// its name; it counts until the new one is in place.
constexpr std::string_view kReplaced = ".replaced";

/// The step of a checkpoint's name, or of a replaced one's.
std::optional<int64_t> step_of(std::string name) {
  if (name.ends_with(kReplaced)) name.resize(name.size() - kReplaced.size());
  if (!name.starts_with(kPrefix) || name.size() == kPrefix.size() ||
      name.size() > kPrefix.size() + 18 ||
      !std::all_of(name.begin() + static_cast<int64_t>(kPrefix.size()), name.end(),
                   [](char c) { return c >= '0' && c <= '9'; }))
    return std::nullopt;
  return std::stoll(name.substr(kPrefix.size()));
}

/// Unfinished writes and folders on their way out begin with a dot.
bool is_leftover(const std::string& name) {
  return name.starts_with(".step-");
}

/// As sha256sum writes and checks it.
std::string sum_line(std::string_view text) {
  return fmt::format("{}  {}\n", sha256_hex(text), kState);
}

/// A part that is not there is damage; one that cannot be read is not.
Bytes read_part(const fs::path& path) {
  std::error_code error;
  const auto status = fs::status(path, error);
  if (status.type() == fs::file_type::not_found ||
      (fs::exists(status) && !fs::is_regular_file(status)))
    fail(ErrorCode::kDataLoss, path.string(), "must be there, as a file");
  return read_file(path);
}

Json checked_state(const fs::path& path) {
  const std::string where = (path / kState).string();
  const Bytes text = read_part(path / kState);
  if (read_part(path / kStateSum) != sum_line(text))
    fail(ErrorCode::kDataLoss, where, "must have the checksum that {} says", kStateSum);
  Json state = parse_json(text, where);
  if (!state.is_object() || !state.contains("format") || !state["format"].is_number_integer())
    fail(ErrorCode::kDataLoss, where, "must be an object with a format");
  if (state["format"] != kFormat)
    unsupported(where, "format {} is known: this is format {}", kFormat,
                state["format"].get<int64_t>());
  if (!state.contains("step") || !state["step"].is_number_integer() || !state.contains("files") ||
      !state["files"].is_object())
    fail(ErrorCode::kDataLoss, where, "must hold a step and the list of files");
  return state;
}

}  // namespace

std::string checkpoint_name(int64_t step) {
  return fmt::format("{}{:08}", kPrefix, step);
}

void write_checkpoint(const fs::path& folder, const Checkpoint& checkpoint) {
  Json state;
  state["format"] = kFormat;
  state["step"] = checkpoint.step;
  state.update(checkpoint.state);
  Json& files = state["files"] = Json::object();
  for (const auto& [name, bytes] : checkpoint.files)
    files[name] = {{"bytes", bytes.size()}, {"sha256", sha256_hex(bytes)}};
  const std::string name = checkpoint_name(checkpoint.step);
  const fs::path unfinished = folder / fmt::format(".{}.tmp", name),
                 replaced = folder / fmt::format("{}{}", name, kReplaced);
  std::error_code ignored;
  fs::remove_all(unfinished, ignored);
  make_folder(unfinished);
  try {
    for (const auto& [file, bytes] : checkpoint.files) write_new_file(unfinished / file, bytes);
    const std::string text = dump_json(state, 1);
    write_new_file(unfinished / kState, text);
    write_new_file(unfinished / kStateSum, sum_line(text));
    sync_folder(unfinished);
    // A folder that is not empty cannot be renamed over.
    if (fs::exists(folder / name)) {
      fs::remove_all(replaced, ignored);
      rename_durably(folder / name, replaced);
    }
    rename_durably(unfinished, folder / name);
  } catch (...) {
    fs::remove_all(unfinished, ignored);
    throw;
  }
  fs::remove_all(replaced, ignored);
}

Checkpoint read_checkpoint(const fs::path& path) {
  if (!fs::is_directory(path))
    fail(ErrorCode::kNotFound, path.string(), "must be the folder of a checkpoint");
  Checkpoint checkpoint;
  checkpoint.state = checked_state(path);
  for (const auto& [name, entry] : checkpoint.state["files"].items()) {
    if (fs::path(name).filename() != name || !entry.is_object() ||
        !entry.value("sha256", Json()).is_string())
      fail(ErrorCode::kDataLoss, path.string(), "\"{}\" must be a file of the folder", name);
    Bytes bytes = read_part(path / name);
    if (sha256_hex(bytes) != entry["sha256"].get<std::string>())
      fail(ErrorCode::kDataLoss, (path / name).string(),
           "must have the checksum that {} says: {} bytes came, {} were written", kState,
           bytes.size(), dump_json(entry.value("bytes", Json())));
    checkpoint.files.emplace(name, std::move(bytes));
  }
  checkpoint.step = checkpoint.state["step"].get<int64_t>();
  if (const auto named = step_of(path.filename().string()); named && *named != checkpoint.step)
    fail(ErrorCode::kDataLoss, path.string(), "must be the checkpoint of step {}: it is of step {}",
         *named, checkpoint.step);
  for (const char* own : {"format", "step", "files"}) checkpoint.state.erase(own);
  return checkpoint;
}

std::vector<fs::path> list_checkpoints(const fs::path& folder) {
  std::vector<std::tuple<int64_t, bool, fs::path>> found;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string();
    if (const auto step = step_of(name); step && fs::is_directory(entry.symlink_status(error)))
      found.emplace_back(*step, !name.ends_with(kReplaced), entry.path());
  }
  if (error && error != std::errc::no_such_file_or_directory)
    fail(ErrorCode::kNotFound, folder.string(), "cannot be listed: {}", error.message());
  std::sort(found.begin(), found.end());
  std::vector<fs::path> paths;
  for (auto& [step, is_newer, path] : found) paths.push_back(std::move(path));
  return paths;
}

LatestCheckpoint read_latest_checkpoint(const fs::path& folder) {
  LatestCheckpoint latest;
  std::vector<fs::path> paths = list_checkpoints(folder);
  for (; !paths.empty() && !latest.checkpoint; paths.pop_back()) {
    try {
      latest.checkpoint = read_checkpoint(paths.back());
    } catch (const Error& error) {
      if (error.code() != ErrorCode::kDataLoss) throw;
      latest.damaged.emplace_back(error.what());
      latest.damaged_paths.push_back(paths.back());
    }
  }
  return latest;
}

void set_aside(const fs::path& damaged) {
  std::error_code ignored;
  fs::rename(damaged,
             damaged.parent_path() / fmt::format("damaged-{}", damaged.filename().string()),
             ignored);
}

void remove_old_checkpoints(const fs::path& folder, int64_t newest, int64_t keep) {
  std::vector<fs::path> paths = list_checkpoints(folder);
  std::erase_if(paths,
                [&](const fs::path& path) { return *step_of(path.filename().string()) > newest; });
  std::error_code ignored;
  for (size_t i = 0; i + static_cast<size_t>(std::max<int64_t>(1, keep)) < paths.size(); ++i) {
    // Renamed first: half a folder never bears a checkpoint's name.
    const fs::path leaving = folder / fmt::format(".{}.old", paths[i].filename().string());
    fs::rename(paths[i], leaving, ignored);
  }
  for (const auto& entry : fs::directory_iterator(folder, ignored))
    if (is_leftover(entry.path().filename().string())) fs::remove_all(entry.path(), ignored);
}

}  // namespace lockstep
