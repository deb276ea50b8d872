module @dot_general__matrix {
  func.func public @main(%arg0: tensor<3x5xf32>, %arg1: tensor<5x7xf32>) -> (tensor<3x7xf32>) {
    %0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0], precision = [HIGHEST, HIGHEST] : (tensor<3x5xf32>, tensor<5x7xf32>) -> tensor<3x7xf32>
    return %0 : tensor<3x7xf32>
  }
}
