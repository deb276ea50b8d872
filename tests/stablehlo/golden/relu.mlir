module @relu__odd {
  func.func public @main(%arg0: tensor<3x7xf32>) -> (tensor<3x7xf32>) {
    %0 = stablehlo.constant dense<0x00000000> : tensor<f32>
    %1 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<f32>) -> tensor<3x7xf32>
    %2 = stablehlo.maximum %arg0, %1 : tensor<3x7xf32>
    return %2 : tensor<3x7xf32>
  }
}
