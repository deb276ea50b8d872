module @is_finite__scalar {
  func.func public @main(%arg0: tensor<f32>) -> (tensor<i1>) {
    %0 = stablehlo.is_finite %arg0 : (tensor<f32>) -> tensor<i1>
    return %0 : tensor<i1>
  }
}
