module @avg_pool2d__overlap_same {
  func.func public @main(%arg0: tensor<1x7x5x4xf32>) -> (tensor<1x4x3x4xf32>) {
    %0 = stablehlo.constant dense<0x00000000> : tensor<f32>
    %1 = "stablehlo.reduce_window"(%arg0, %0) <{window_dimensions = array<i64: 1, 3, 3, 1>, window_strides = array<i64: 1, 2, 2, 1>, padding = dense<[[0, 0], [1, 1], [1, 1], [0, 0]]> : tensor<4x2xi64>}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %c = stablehlo.add %a, %b : tensor<f32>
      stablehlo.return %c : tensor<f32>
    }) : (tensor<1x7x5x4xf32>, tensor<f32>) -> tensor<1x4x3x4xf32>
    %2 = stablehlo.constant dense<"0x000080400000C040000080400000C040000010410000C0400000C040000010410000C040000080400000C04000008040"> : tensor<4x3xf32>
    %3 = stablehlo.broadcast_in_dim %2, dims = [1, 2] : (tensor<4x3xf32>) -> tensor<1x4x3x4xf32>
    %4 = stablehlo.divide %1, %3 : tensor<1x4x3x4xf32>
    return %4 : tensor<1x4x3x4xf32>
  }
}
