module @rsqrt__scalar {
  func.func public @main(%arg0: tensor<f32>) -> (tensor<f32>) {
    %0 = stablehlo.sqrt %arg0 : tensor<f32>
    %1 = stablehlo.constant dense<0x3F800000> : tensor<f32>
    %2 = stablehlo.divide %1, %0 : tensor<f32>
    return %2 : tensor<f32>
  }
}
