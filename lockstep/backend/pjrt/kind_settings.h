// What Lockstep asks of each kind's plugin: how its devices are opened, how programs are compiled.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "lockstep/backend/pjrt/compile_options.h"
#include "lockstep/backend/pjrt/program.h"

namespace lockstep::pjrt {

/// Loads the kind's plugin. Throws NotFound naming where it was looked for and what would bring it.
std::shared_ptr<Plugin> load_plugin(std::string_view kind);

std::vector<PluginOption> client_options(std::string_view kind);

/// float32 means float32, NaN stays NaN, and every run of a program gives the same bits.
std::vector<Flag> compile_flags(std::string_view kind);

}  // namespace lockstep::pjrt
