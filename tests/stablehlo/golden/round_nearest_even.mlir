module @round_nearest_even__scalar {
  func.func public @main(%arg0: tensor<f32>) -> (tensor<f32>) {
    %0 = stablehlo.round_nearest_even %arg0 : tensor<f32>
    return %0 : tensor<f32>
  }
}
