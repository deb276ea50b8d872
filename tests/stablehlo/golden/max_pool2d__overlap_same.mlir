module @max_pool2d__overlap_same {
  func.func public @main(%arg0: tensor<1x7x5x4xf32>) -> (tensor<1x4x3x4xf32>) {
    %0 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %1 = "stablehlo.reduce_window"(%arg0, %0) <{window_dimensions = array<i64: 1, 3, 3, 1>, window_strides = array<i64: 1, 2, 2, 1>, padding = dense<[[0, 0], [1, 1], [1, 1], [0, 0]]> : tensor<4x2xi64>}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %c = stablehlo.maximum %a, %b : tensor<f32>
      stablehlo.return %c : tensor<f32>
    }) : (tensor<1x7x5x4xf32>, tensor<f32>) -> tensor<1x4x3x4xf32>
    return %1 : tensor<1x4x3x4xf32>
  }
}
