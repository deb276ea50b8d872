module @concatenate__columns {
  func.func public @main(%arg0: tensor<3x4xf32>, %arg1: tensor<3x2xf32>, %arg2: tensor<3x17xf32>) -> (tensor<3x23xf32>) {
    %0 = stablehlo.concatenate %arg0, %arg1, %arg2, dim = 1 : (tensor<3x4xf32>, tensor<3x2xf32>, tensor<3x17xf32>) -> tensor<3x23xf32>
    return %0 : tensor<3x23xf32>
  }
}
