module @conv2d__depthwise_multiplier {
  func.func public @main(%arg0: tensor<1x6x6x3xf32>, %arg1: tensor<3x3x1x6xf32>) -> (tensor<1x3x3x6xf32>) {
    %0 = stablehlo.convolution(%arg0, %arg1) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [2, 2], pad = [[0, 1], [0, 1]], lhs_dilate = [1, 1], rhs_dilate = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 3 : i64, precision_config = [#stablehlo<precision HIGHEST>, #stablehlo<precision HIGHEST>]} : (tensor<1x6x6x3xf32>, tensor<3x3x1x6xf32>) -> tensor<1x3x3x6xf32>
    return %0 : tensor<1x3x3x6xf32>
  }
}
