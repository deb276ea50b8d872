// xla.CompileOptionsProto, written byte by byte: the few fields that Lockstep sets.
// Source of the field numbers: xla/pjrt/proto/compile_options.proto.
#pragma once

#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace lockstep::pjrt {

/// A flag of XLA's debug options, set for one compilation.
using Flag = std::pair<std::string, std::variant<bool, int64_t, double, std::string>>;

struct ProgramOptions {
  int replicas = 1;
  /// Runs on whatever device it is given; for one replica only.
  bool is_portable = true;
  std::vector<Flag> flags;
};

std::string serialize(const ProgramOptions& options);

}  // namespace lockstep::pjrt
