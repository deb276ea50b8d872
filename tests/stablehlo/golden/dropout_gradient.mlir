module @dropout_gradient__of21 {
  func.func public @main(%arg0: tensor<3x7xf32>, %arg1: tensor<3x1xui16>) -> (tensor<3x7xf32>) {
    %0 = stablehlo.convert %arg1 : (tensor<3x1xui16>) -> tensor<3x1xui32>
    %1 = stablehlo.broadcast_in_dim %0, dims = [0, 1] : (tensor<3x1xui32>) -> tensor<3x1x16xui32>
    %2 = stablehlo.iota dim = 2 : tensor<3x1x16xui32>
    %3 = stablehlo.shift_right_logical %1, %2 : tensor<3x1x16xui32>
    %4 = stablehlo.constant dense<1> : tensor<3x1x16xui32>
    %5 = stablehlo.and %3, %4 : tensor<3x1x16xui32>
    %6 = stablehlo.constant dense<0> : tensor<3x1x16xui32>
    %7 = stablehlo.compare NE, %5, %6, UNSIGNED : (tensor<3x1x16xui32>, tensor<3x1x16xui32>) -> tensor<3x1x16xi1>
    %8 = stablehlo.reshape %7 : (tensor<3x1x16xi1>) -> tensor<3x16xi1>
    %9 = stablehlo.slice %8 [0:3, 0:7] : (tensor<3x16xi1>) -> tensor<3x7xi1>
    %10 = stablehlo.constant dense<0x3FB6DB6E> : tensor<3x7xf32>
    %11 = stablehlo.multiply %arg0, %10 : tensor<3x7xf32>
    %12 = stablehlo.constant dense<0x00000000> : tensor<3x7xf32>
    %13 = stablehlo.select %9, %11, %12 : tensor<3x7xi1>, tensor<3x7xf32>
    return %13 : tensor<3x7xf32>
  }
}
