module @convert__float_to_bool {
  func.func public @main(%arg0: tensor<4xf32>) -> (tensor<4xi1>) {
    %0 = stablehlo.convert %arg0 : (tensor<4xf32>) -> tensor<4xi1>
    return %0 : tensor<4xi1>
  }
}
