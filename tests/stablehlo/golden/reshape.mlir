module @reshape__flatten {
  func.func public @main(%arg0: tensor<2x3x5xf32>) -> (tensor<2x15xf32>) {
    %0 = stablehlo.reshape %arg0 : (tensor<2x3x5xf32>) -> tensor<2x15xf32>
    return %0 : tensor<2x15xf32>
  }
}
