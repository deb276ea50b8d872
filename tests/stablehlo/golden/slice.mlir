module @slice__strided {
  func.func public @main(%arg0: tensor<5x7xf32>) -> (tensor<2x2xf32>) {
    %0 = stablehlo.slice %arg0 [1:5:2, 0:6:3] : (tensor<5x7xf32>) -> tensor<2x2xf32>
    return %0 : tensor<2x2xf32>
  }
}
