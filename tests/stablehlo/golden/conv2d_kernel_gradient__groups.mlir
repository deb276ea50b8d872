module @conv2d_kernel_gradient__groups {
  func.func public @main(%arg0: tensor<2x5x5x4xf32>, %arg1: tensor<2x3x3x6xf32>) -> (tensor<3x3x2x6xf32>) {
    %0 = stablehlo.convolution(%arg0, %arg1) dim_numbers = [f, 0, 1, b]x[i, 0, 1, o]->[0, 1, b, f], window = {stride = [1, 1], pad = [[0, 0], [0, 0]], lhs_dilate = [1, 1], rhs_dilate = [1, 1]} {batch_group_count = 2 : i64, feature_group_count = 1 : i64, precision_config = [#stablehlo<precision HIGHEST>, #stablehlo<precision HIGHEST>]} : (tensor<2x5x5x4xf32>, tensor<2x3x3x6xf32>) -> tensor<3x3x2x6xf32>
    return %0 : tensor<3x3x2x6xf32>
  }
}
