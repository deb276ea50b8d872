module @conv2d_input_gradient__dilation_2 {
  func.func public @main(%arg0: tensor<1x4x7x4xf32>, %arg1: tensor<3x2x3x4xf32>) -> (tensor<1x8x9x3xf32>) {
    %0 = stablehlo.reverse %arg1, dims = [0, 1] : tensor<3x2x3x4xf32>
    %1 = stablehlo.convolution(%arg0, %0) dim_numbers = [b, 0, 1, f]x[0, 1, o, i]->[b, 0, 1, f], window = {stride = [1, 1], pad = [[4, 4], [2, 2]], lhs_dilate = [1, 1], rhs_dilate = [2, 2]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, precision_config = [#stablehlo<precision HIGHEST>, #stablehlo<precision HIGHEST>]} : (tensor<1x4x7x4xf32>, tensor<3x2x3x4xf32>) -> tensor<1x8x9x3xf32>
    return %1 : tensor<1x8x9x3xf32>
  }
}
