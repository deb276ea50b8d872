// What the two ways to lower a convolution share: oneDNN's primitives and loops of our own.
#pragma once

#include "lockstep/backend/onednn/lowering.h"

namespace lockstep {

/// What a convolution contracts: shapes of images in, kernel and images out.
struct ConvShapes {
  Shape x, kernel, y;
  ConvAttrs attrs;
};
ConvShapes shapes_of(const Lowering& lowering, const Node& node);

/// What the unit of a conv2d computes on its sums before they are written.
struct ConvEpilogue {
  const Node* bias = nullptr;        // the broadcast of the channels' biases
  const Node* activation = nullptr;  // relu, elu, tanh or logistic
  int result;                        // the value that the unit yields
};
ConvEpilogue epilogue_of(const Lowering& lowering, const Node& conv);

/// Have we loops of our own for this op of these shapes on this machine? They read and write
/// images in groups of native_block() channels; kernel gradients any x.
bool has_loops(Opcode opcode, const ConvShapes& shapes);

/// Lowers the current unit by them.
void lower_by_loops(Lowering& lowering, const Node& node);

}  // namespace lockstep
