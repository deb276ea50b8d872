module @dot_general__batched {
  func.func public @main(%arg0: tensor<2x3x5xf32>, %arg1: tensor<2x5x4xf32>) -> (tensor<2x3x4xf32>) {
    %0 = stablehlo.dot_general %arg0, %arg1, batching_dims = [0] x [0], contracting_dims = [2] x [1], precision = [HIGHEST, HIGHEST] : (tensor<2x3x5xf32>, tensor<2x5x4xf32>) -> tensor<2x3x4xf32>
    return %0 : tensor<2x3x4xf32>
  }
}
