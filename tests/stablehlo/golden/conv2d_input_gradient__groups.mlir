module @conv2d_input_gradient__groups {
  func.func public @main(%arg0: tensor<2x3x3x6xf32>, %arg1: tensor<3x3x2x6xf32>) -> (tensor<2x5x5x4xf32>) {
    %0 = stablehlo.reshape %arg1 : (tensor<3x3x2x6xf32>) -> tensor<3x3x2x2x3xf32>
    %1 = stablehlo.transpose %0, dims = [0, 1, 3, 2, 4] : (tensor<3x3x2x2x3xf32>) -> tensor<3x3x2x2x3xf32>
    %2 = stablehlo.reshape %1 : (tensor<3x3x2x2x3xf32>) -> tensor<3x3x4x3xf32>
    %3 = stablehlo.reverse %2, dims = [0, 1] : tensor<3x3x4x3xf32>
    %4 = stablehlo.convolution(%arg0, %3) dim_numbers = [b, 0, 1, f]x[0, 1, o, i]->[b, 0, 1, f], window = {stride = [1, 1], pad = [[2, 2], [2, 2]], lhs_dilate = [1, 1], rhs_dilate = [1, 1]} {batch_group_count = 1 : i64, feature_group_count = 2 : i64, precision_config = [#stablehlo<precision HIGHEST>, #stablehlo<precision HIGHEST>]} : (tensor<2x3x3x6xf32>, tensor<3x3x4x3xf32>) -> tensor<2x5x5x4xf32>
    return %4 : tensor<2x5x5x4xf32>
  }
}
