// A stored row in the dtype that a program wants.
#pragma once

#include "lockstep/data/dataset.h"

namespace lockstep {

/// Writes the elements of one stored row of `column` to `to` as `wanted`.
///
/// Converts as C++ does: to nearest between floats, cut towards zero from float to integer,
/// non-zero to true. Where `wanted` is a float and the column has a divisor, to = wanted(from) /
/// divisor, one rounding each. Throws InvalidArgument when a value has no place in an integer
/// `wanted`.
void convert_row(const Column& column, const void* from, DType wanted, void* to);

}  // namespace lockstep
