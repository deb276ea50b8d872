module @relu_gradient__odd {
  func.func public @main(%arg0: tensor<3x7xf32>, %arg1: tensor<3x7xf32>) -> (tensor<3x7xf32>) {
    %0 = stablehlo.constant dense<0x00000000> : tensor<f32>
    %1 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<f32>) -> tensor<3x7xf32>
    %2 = stablehlo.compare GT, %arg0, %1, FLOAT : (tensor<3x7xf32>, tensor<3x7xf32>) -> tensor<3x7xi1>
    %3 = stablehlo.constant dense<0x00000000> : tensor<3x7xf32>
    %4 = stablehlo.select %2, %arg1, %3 : tensor<3x7xi1>, tensor<3x7xf32>
    return %4 : tensor<3x7xf32>
  }
}
