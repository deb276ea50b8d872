module @pad__interior {
  func.func public @main(%arg0: tensor<3x4xf32>, %arg1: tensor<f32>) -> (tensor<6x12xf32>) {
    %0 = stablehlo.pad %arg0, %arg1, low = [0, 2], high = [1, 0], interior = [1, 2] : (tensor<3x4xf32>, tensor<f32>) -> tensor<6x12xf32>
    return %0 : tensor<6x12xf32>
  }
}
