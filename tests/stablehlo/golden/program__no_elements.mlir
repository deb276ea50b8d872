module @no_elements {
  func.func public @main(%arg0: tensor<0x3xf32>) -> (tensor<0x3xf32>, tensor<2x0xi1>, tensor<0x3xf32>, tensor<3xf32>) {
    %0 = stablehlo.constant dense<> : tensor<0x3xf32>
    %1 = stablehlo.add %arg0, %0 : tensor<0x3xf32>
    %2 = stablehlo.constant dense<> : tensor<2x0xui8>
    %3 = stablehlo.convert %2 : (tensor<2x0xui8>) -> tensor<2x0xi1>
    %4 = stablehlo.constant dense<0x3F800000> : tensor<0x3xf32>
    %5 = stablehlo.constant dense<0x00000000> : tensor<f32>
    %6 = stablehlo.reduce(%arg0 init: %5) applies stablehlo.add across dimensions = [0] : (tensor<0x3xf32>, tensor<f32>) -> tensor<3xf32>
    return %1, %3, %4, %6 : tensor<0x3xf32>, tensor<2x0xi1>, tensor<0x3xf32>, tensor<3xf32>
  }
}
