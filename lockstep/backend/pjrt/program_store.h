// Compiled programs kept in a folder, so that a resumed training runs the very kernels that it
// began with (a GPU's compiler chooses them by timing) and starts at once.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "lockstep/backend/pjrt/client.h"

namespace lockstep::pjrt {

class ProgramStore {
 public:
  /// The folder is made when the first program is kept.
  explicit ProgramStore(std::filesystem::path folder) : folder_(std::move(folder)) {}

  const std::filesystem::path& folder() const { return folder_; }

  /// The program of this text, options and platform, from the folder or else compiled and kept. A
  /// file that is damaged or belongs to another version is compiled again and replaced; where the
  /// plugin cannot serialize, or the folder cannot be written, it is compiled every time.
  std::unique_ptr<LoadedProgram> get(Client& client, const std::string& text,
                                     const ProgramOptions& options, const std::string& name) const;

 private:
  std::filesystem::path folder_;
};

}  // namespace lockstep::pjrt
