module @subtract__scalar {
  func.func public @main(%arg0: tensor<f32>, %arg1: tensor<f32>) -> (tensor<f32>) {
    %0 = stablehlo.subtract %arg0, %arg1 : tensor<f32>
    return %0 : tensor<f32>
  }
}
