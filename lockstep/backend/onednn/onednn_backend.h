// The CPU backend: oneDNN for convolutions and large matrix products, own vector kernels (Highway)
// for what oneDNN does in reference code or cannot fuse. Images stay in the
// blocked order that convolutions like from one end of a program to the other (layout.h).
#pragma once

#include "lockstep/backend/backend.h"

namespace lockstep {

/// Kind "cpu". f32 everywhere; integers and i1 where graphs of training need them. Throws
/// Unsupported naming the node for other types.
std::unique_ptr<Backend> make_onednn_backend();

}  // namespace lockstep
