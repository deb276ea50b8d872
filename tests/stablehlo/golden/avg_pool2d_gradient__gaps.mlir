module @avg_pool2d_gradient__gaps {
  func.func public @main(%arg0: tensor<1x2x2x2xf32>) -> (tensor<1x7x7x2xf32>) {
    %0 = stablehlo.constant dense<0x40800000> : tensor<1x2x2x2xf32>
    %1 = stablehlo.divide %arg0, %0 : tensor<1x2x2x2xf32>
    %2 = stablehlo.constant dense<0x00000000> : tensor<f32>
    %3 = stablehlo.pad %1, %2, low = [0, 1, 1, 0], high = [0, 3, 3, 0], interior = [0, 2, 2, 0] : (tensor<1x2x2x2xf32>, tensor<f32>) -> tensor<1x8x8x2xf32>
    %4 = "stablehlo.reduce_window"(%3, %2) <{window_dimensions = array<i64: 1, 2, 2, 1>, window_strides = array<i64: 1, 1, 1, 1>, padding = dense<[[0, 0], [0, 0], [0, 0], [0, 0]]> : tensor<4x2xi64>}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %c = stablehlo.add %a, %b : tensor<f32>
      stablehlo.return %c : tensor<f32>
    }) : (tensor<1x8x8x2xf32>, tensor<f32>) -> tensor<1x7x7x2xf32>
    return %4 : tensor<1x7x7x2xf32>
  }
}
