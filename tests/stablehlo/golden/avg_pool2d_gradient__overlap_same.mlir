module @avg_pool2d_gradient__overlap_same {
  func.func public @main(%arg0: tensor<1x4x3x4xf32>) -> (tensor<1x7x5x4xf32>) {
    %0 = stablehlo.constant dense<"0x000080400000C040000080400000C040000010410000C0400000C040000010410000C040000080400000C04000008040"> : tensor<4x3xf32>
    %1 = stablehlo.broadcast_in_dim %0, dims = [1, 2] : (tensor<4x3xf32>) -> tensor<1x4x3x4xf32>
    %2 = stablehlo.divide %arg0, %1 : tensor<1x4x3x4xf32>
    %3 = stablehlo.constant dense<0x00000000> : tensor<f32>
    %4 = stablehlo.pad %2, %3, low = [0, 1, 1, 0], high = [0, 1, 1, 0], interior = [0, 1, 1, 0] : (tensor<1x4x3x4xf32>, tensor<f32>) -> tensor<1x9x7x4xf32>
    %5 = "stablehlo.reduce_window"(%4, %3) <{window_dimensions = array<i64: 1, 3, 3, 1>, window_strides = array<i64: 1, 1, 1, 1>, padding = dense<[[0, 0], [0, 0], [0, 0], [0, 0]]> : tensor<4x2xi64>}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %c = stablehlo.add %a, %b : tensor<f32>
      stablehlo.return %c : tensor<f32>
    }) : (tensor<1x9x7x4xf32>, tensor<f32>) -> tensor<1x7x5x4xf32>
    return %5 : tensor<1x7x5x4xf32>
  }
}
