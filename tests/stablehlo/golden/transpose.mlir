module @transpose__matrix {
  func.func public @main(%arg0: tensor<3x5xf32>) -> (tensor<5x3xf32>) {
    %0 = stablehlo.transpose %arg0, dims = [1, 0] : (tensor<3x5xf32>) -> tensor<5x3xf32>
    return %0 : tensor<5x3xf32>
  }
}
