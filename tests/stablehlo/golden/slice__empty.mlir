module @slice__empty {
  func.func public @main(%arg0: tensor<3x4xf32>) -> (tensor<0x2xf32>) {
    %0 = stablehlo.slice %arg0 [1:1:1, 2:4:1] : (tensor<3x4xf32>) -> tensor<0x2xf32>
    return %0 : tensor<0x2xf32>
  }
}
