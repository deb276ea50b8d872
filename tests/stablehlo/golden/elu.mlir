module @elu__odd {
  func.func public @main(%arg0: tensor<3x7xf32>) -> (tensor<3x7xf32>) {
    %0 = stablehlo.constant dense<0x00000000> : tensor<f32>
    %1 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<f32>) -> tensor<3x7xf32>
    %2 = stablehlo.minimum %arg0, %1 : tensor<3x7xf32>
    %3 = stablehlo.exponential_minus_one %2 : tensor<3x7xf32>
    %4 = stablehlo.constant dense<0x3F800000> : tensor<f32>
    %5 = stablehlo.broadcast_in_dim %4, dims = [] : (tensor<f32>) -> tensor<3x7xf32>
    %6 = stablehlo.multiply %3, %5 : tensor<3x7xf32>
    %7 = stablehlo.constant dense<0x00000000> : tensor<f32>
    %8 = stablehlo.broadcast_in_dim %7, dims = [] : (tensor<f32>) -> tensor<3x7xf32>
    %9 = stablehlo.compare GT, %arg0, %8, FLOAT : (tensor<3x7xf32>, tensor<3x7xf32>) -> tensor<3x7xi1>
    %10 = stablehlo.constant dense<0x3F800000> : tensor<f32>
    %11 = stablehlo.broadcast_in_dim %10, dims = [] : (tensor<f32>) -> tensor<3x7xf32>
    %12 = stablehlo.multiply %arg0, %11 : tensor<3x7xf32>
    %13 = stablehlo.select %9, %12, %6 : tensor<3x7xi1>, tensor<3x7xf32>
    return %13 : tensor<3x7xf32>
  }
}
