module @reduce_sum__all {
  func.func public @main(%arg0: tensor<3x7xf32>) -> (tensor<f32>) {
    %0 = stablehlo.constant dense<0x00000000> : tensor<f32>
    %1 = stablehlo.reduce(%arg0 init: %0) applies stablehlo.add across dimensions = [0, 1] : (tensor<3x7xf32>, tensor<f32>) -> tensor<f32>
    return %1 : tensor<f32>
  }
}
