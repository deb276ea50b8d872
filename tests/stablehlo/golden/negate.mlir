module @negate__scalar {
  func.func public @main(%arg0: tensor<f32>) -> (tensor<f32>) {
    %0 = stablehlo.negate %arg0 : tensor<f32>
    return %0 : tensor<f32>
  }
}
