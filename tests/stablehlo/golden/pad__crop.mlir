module @pad__crop {
  func.func public @main(%arg0: tensor<5x4xf32>, %arg1: tensor<f32>) -> (tensor<2x5xf32>) {
    %0 = stablehlo.pad %arg0, %arg1, low = [-1, 1], high = [-2, 0], interior = [0, 0] : (tensor<5x4xf32>, tensor<f32>) -> tensor<2x5xf32>
    return %0 : tensor<2x5xf32>
  }
}
