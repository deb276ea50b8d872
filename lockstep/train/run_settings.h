// Whether a run folder may go on with the arguments that came.
#pragma once

#include <string>

#include "lockstep/formats/json.h"

namespace lockstep {

/// Throws InvalidArgument naming `where`, the first setting that differs, and both values; the
/// order of an object's keys says nothing. `name` is the setting's, "" for all of them.
void refuse_difference(const std::string& where, const std::string& name, const Json& before,
                       const Json& now);

/// Takes an optimizer's name out of a compile configuration: it changes no number, and a new Python
/// session gives another one.
void forget_optimizer_name(Json& compile_config);

}  // namespace lockstep
