module @elu_gradient__odd {
  func.func public @main(%arg0: tensor<3x7xf32>, %arg1: tensor<3x7xf32>) -> (tensor<3x7xf32>) {
    %0 = stablehlo.constant dense<0x00000000> : tensor<f32>
    %1 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<f32>) -> tensor<3x7xf32>
    %2 = stablehlo.compare GT, %arg0, %1, FLOAT : (tensor<3x7xf32>, tensor<3x7xf32>) -> tensor<3x7xi1>
    %3 = stablehlo.constant dense<0x3FE10966> : tensor<f32>
    %4 = stablehlo.broadcast_in_dim %3, dims = [] : (tensor<f32>) -> tensor<3x7xf32>
    %5 = stablehlo.add %arg0, %4 : tensor<3x7xf32>
    %6 = stablehlo.constant dense<0x3F867D5F> : tensor<3x7xf32>
    %7 = stablehlo.select %2, %6, %5 : tensor<3x7xi1>, tensor<3x7xf32>
    %8 = stablehlo.multiply %arg1, %7 : tensor<3x7xf32>
    return %8 : tensor<3x7xf32>
  }
}
