module @conv2d_input_gradient__stride_2 {
  func.func public @main(%arg0: tensor<2x4x4x5xf32>, %arg1: tensor<3x3x3x5xf32>) -> (tensor<2x7x8x3xf32>) {
    %0 = stablehlo.reverse %arg1, dims = [0, 1] : tensor<3x3x3x5xf32>
    %1 = stablehlo.convolution(%arg0, %0) dim_numbers = [b, 0, 1, f]x[0, 1, o, i]->[b, 0, 1, f], window = {stride = [1, 1], pad = [[1, 1], [2, 1]], lhs_dilate = [2, 2], rhs_dilate = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, precision_config = [#stablehlo<precision HIGHEST>, #stablehlo<precision HIGHEST>]} : (tensor<2x4x4x5xf32>, tensor<3x3x3x5xf32>) -> tensor<2x7x8x3xf32>
    return %1 : tensor<2x7x8x3xf32>
  }
}
