module @iota__rows {
  func.func public @main() -> (tensor<3x5xf32>) {
    %0 = stablehlo.iota dim = 0 : tensor<3x5xf32>
    return %0 : tensor<3x5xf32>
  }
}
