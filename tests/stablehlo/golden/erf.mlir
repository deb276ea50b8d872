module @erf__scalar {
  func.func public @main(%arg0: tensor<f32>) -> (tensor<f32>) {
    %0 = chlo.erf %arg0 : tensor<f32> -> tensor<f32>
    return %0 : tensor<f32>
  }
}
