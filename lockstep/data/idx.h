// IDX files, the format of MNIST: http://yann.lecun.com/exdb/mnist.
#pragma once

#include <string_view>

#include "lockstep/tensor/host_tensor.h"

namespace lockstep {

/// An IDX file's content: two zero bytes, type, rank, big-endian extents, big-endian elements.
///
/// Unsigned bytes become u8; signed bytes, shorts and ints s32; floats f32; doubles f64. Throws
/// DataLoss naming `where` and the rule that does not hold. Takes no more memory than four times
/// `bytes`.
HostTensor parse_idx(std::string_view bytes, std::string_view where);

}  // namespace lockstep
