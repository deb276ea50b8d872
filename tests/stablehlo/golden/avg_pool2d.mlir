module @avg_pool2d__halves {
  func.func public @main(%arg0: tensor<2x4x6x3xf32>) -> (tensor<2x2x3x3xf32>) {
    %0 = stablehlo.constant dense<0x00000000> : tensor<f32>
    %1 = "stablehlo.reduce_window"(%arg0, %0) <{window_dimensions = array<i64: 1, 2, 2, 1>, window_strides = array<i64: 1, 2, 2, 1>, padding = dense<[[0, 0], [0, 0], [0, 0], [0, 0]]> : tensor<4x2xi64>}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %c = stablehlo.add %a, %b : tensor<f32>
      stablehlo.return %c : tensor<f32>
    }) : (tensor<2x4x6x3xf32>, tensor<f32>) -> tensor<2x2x3x3xf32>
    %2 = stablehlo.constant dense<0x40800000> : tensor<2x2x3x3xf32>
    %3 = stablehlo.divide %1, %2 : tensor<2x2x3x3xf32>
    return %3 : tensor<2x2x3x3xf32>
  }
}
