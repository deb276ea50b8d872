module @convert__bool_to_float {
  func.func public @main(%arg0: tensor<3xi1>) -> (tensor<3xf32>) {
    %0 = stablehlo.convert %arg0 : (tensor<3xi1>) -> tensor<3xf32>
    return %0 : tensor<3xf32>
  }
}
