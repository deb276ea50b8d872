// What libhdf5 believes of a file's bytes without looking: checked before it gets them.
#pragma once

#include <string>
#include <string_view>

namespace lockstep {

/// What is wrong with the superblock or a global heap, as the rest of a message; "" when nothing
/// is. libhdf5 1.10 does not come back from heaps whose objects' sizes do not add up.
std::string hdf5_image_flaw(std::string_view bytes);

}  // namespace lockstep
