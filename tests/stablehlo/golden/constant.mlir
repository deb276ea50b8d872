module @constant__scalar {
  func.func public @main() -> (tensor<f32>) {
    %0 = stablehlo.constant dense<0xBF000000> : tensor<f32>
    return %0 : tensor<f32>
  }
}
