module @conv2d__stride_2 {
  func.func public @main(%arg0: tensor<2x7x8x3xf32>, %arg1: tensor<3x3x3x5xf32>) -> (tensor<2x4x4x5xf32>) {
    %0 = stablehlo.convolution(%arg0, %arg1) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [2, 2], pad = [[1, 1], [0, 1]], lhs_dilate = [1, 1], rhs_dilate = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, precision_config = [#stablehlo<precision HIGHEST>, #stablehlo<precision HIGHEST>]} : (tensor<2x7x8x3xf32>, tensor<3x3x3x5xf32>) -> tensor<2x4x4x5xf32>
    return %0 : tensor<2x4x4x5xf32>
  }
}
