module @dot_general__batch_last {
  func.func public @main(%arg0: tensor<3x5x2xf32>, %arg1: tensor<5x2x4xf32>) -> (tensor<2x3x4xf32>) {
    %0 = stablehlo.dot_general %arg0, %arg1, batching_dims = [2] x [1], contracting_dims = [1] x [0], precision = [HIGHEST, HIGHEST] : (tensor<3x5x2xf32>, tensor<5x2x4xf32>) -> tensor<2x3x4xf32>
    return %0 : tensor<2x3x4xf32>
  }
}
