// Layers of several inputs: `auto y = Add()({a, b});`.
#pragma once

#include <algorithm>

#include "lockstep/nn/layer.h"

namespace lockstep {

/// A class name as a template argument.
template <size_t N>
struct ClassName {
  char text[N];
  constexpr ClassName(const char (&name)[N]) { std::copy_n(name, N, text); }  // NOLINT: implicit
};

/// Configuration of a merge without options.
template <ClassName Name>
struct MergeConfig {
  static constexpr std::string_view kClassName = Name.text;
  std::string name = "";
  bool trainable = true;

  static void visit(auto&, auto&&) {}
};
using AddConfig = MergeConfig<"Add">;
using SubtractConfig = MergeConfig<"Subtract">;
using MultiplyConfig = MergeConfig<"Multiply">;
using AverageConfig = MergeConfig<"Average">;
using MaximumConfig = MergeConfig<"Maximum">;
using MinimumConfig = MergeConfig<"Minimum">;

/// Element by element over inputs of one shape, or shapes that broadcast (extents equal or 1); an
/// input of lower rank gets axes of 1 behind the batch, as in Keras. Integers stay integers when
/// all inputs are; else float32. Subtract takes two inputs, the others one or more; Average sums in
/// the inputs' order and divides. Throws InvalidArgument naming the layer and the shapes.
LayerHandle Add(AddConfig config = {});
LayerHandle Subtract(SubtractConfig config = {});
LayerHandle Multiply(MultiplyConfig config = {});
LayerHandle Average(AverageConfig config = {});
LayerHandle Maximum(MaximumConfig config = {});
LayerHandle Minimum(MinimumConfig config = {});

struct ConcatenateConfig {
  static constexpr std::string_view kClassName = "Concatenate";
  int64_t axis = -1;
  std::string name = "";
  bool trainable = true;

  static void visit(auto& self, auto&& field) { field("axis", self.axis); }
};

/// Inputs joined along one axis, not the batch; their other extents are equal. Throws
/// InvalidArgument naming the layer and the shapes.
LayerHandle Concatenate(ConcatenateConfig config = {});

}  // namespace lockstep
