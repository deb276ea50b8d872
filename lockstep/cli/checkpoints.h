// Checkpoint folders and run folders as the MODEL of a command.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "lockstep/io/checkpoint.h"
#include "lockstep/train/model.h"

namespace lockstep {

/// The checkpoint that `word` names: a checkpoint's folder, or a run folder, whose newest whole one
/// counts. None when it is no folder. Throws NotFound for a folder that is neither; damaged
/// checkpoints that are passed over are named on stderr.
std::optional<Checkpoint> open_checkpoint(const std::string& word);

/// Its model. Throws InvalidArgument naming them when it has several.
Model checkpoint_model(const std::string& word, Checkpoint checkpoint);

/// A GAN's has: what it holds is told then, and no model.
bool has_several_models(const Checkpoint& checkpoint);

/// Step, epoch, arguments and numerics of a checkpoint, as lines for `inspect`.
std::string describe_checkpoint(const Checkpoint& checkpoint);

}  // namespace lockstep
