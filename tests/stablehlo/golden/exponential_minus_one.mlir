module @exponential_minus_one__scalar {
  func.func public @main(%arg0: tensor<f32>) -> (tensor<f32>) {
    %0 = stablehlo.exponential_minus_one %arg0 : tensor<f32>
    return %0 : tensor<f32>
  }
}
