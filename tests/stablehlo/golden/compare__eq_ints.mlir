module @compare__eq_ints {
  func.func public @main(%arg0: tensor<3xi32>, %arg1: tensor<3xi32>) -> (tensor<3xi1>) {
    %0 = stablehlo.compare EQ, %arg0, %arg1, SIGNED : (tensor<3xi32>, tensor<3xi32>) -> tensor<3xi1>
    return %0 : tensor<3xi1>
  }
}
