module @conv2d_input_gradient__depthwise_multiplier {
  func.func public @main(%arg0: tensor<1x3x3x6xf32>, %arg1: tensor<3x3x1x6xf32>) -> (tensor<1x6x6x3xf32>) {
    %0 = stablehlo.reshape %arg1 : (tensor<3x3x1x6xf32>) -> tensor<3x3x1x3x2xf32>
    %1 = stablehlo.transpose %0, dims = [0, 1, 3, 2, 4] : (tensor<3x3x1x3x2xf32>) -> tensor<3x3x3x1x2xf32>
    %2 = stablehlo.reshape %1 : (tensor<3x3x3x1x2xf32>) -> tensor<3x3x3x2xf32>
    %3 = stablehlo.reverse %2, dims = [0, 1] : tensor<3x3x3x2xf32>
    %4 = stablehlo.convolution(%arg0, %3) dim_numbers = [b, 0, 1, f]x[0, 1, o, i]->[b, 0, 1, f], window = {stride = [1, 1], pad = [[2, 1], [2, 1]], lhs_dilate = [2, 2], rhs_dilate = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 3 : i64, precision_config = [#stablehlo<precision HIGHEST>, #stablehlo<precision HIGHEST>]} : (tensor<1x3x3x6xf32>, tensor<3x3x3x2xf32>) -> tensor<1x6x6x3xf32>
    return %4 : tensor<1x6x6x3xf32>
  }
}
