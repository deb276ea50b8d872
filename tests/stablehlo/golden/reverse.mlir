module @reverse__both {
  func.func public @main(%arg0: tensor<3x5xf32>) -> (tensor<3x5xf32>) {
    %0 = stablehlo.reverse %arg0, dims = [0, 1] : tensor<3x5xf32>
    return %0 : tensor<3x5xf32>
  }
}
