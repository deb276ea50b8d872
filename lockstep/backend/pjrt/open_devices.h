// A kind's devices as the process has them open, with what was compiled for them.
#pragma once

#include <memory>
#include <string>

#include "lockstep/backend/pjrt/client.h"
#include "lockstep/backend/pjrt/discovery.h"
#include "lockstep/backend/pjrt/program_cache.h"

namespace lockstep::pjrt {

class OpenDevices {
 public:
  /// One for all who use the kind at the same time: a second client would ask for the devices'
  /// memory again. The last who lets go closes the devices. Throws as make_pjrt_backend.
  static std::shared_ptr<OpenDevices> of(const PluginKind& kind);

  /// A program whose tensors stay on the devices.
  struct Program {
    std::unique_ptr<LoadedProgram> loaded;
    std::string text;
  };

  explicit OpenDevices(std::shared_ptr<Client> client) : client(std::move(client)) {}

  const std::shared_ptr<Client> client;
  /// 512: several trainings' worth, each with a few for a tower's shape and a few for each size of
  /// a variable.
  ProgramCache<const Program> programs{512};
};

}  // namespace lockstep::pjrt
