module @not__scalar {
  func.func public @main(%arg0: tensor<i1>) -> (tensor<i1>) {
    %0 = stablehlo.not %arg0 : tensor<i1>
    return %0 : tensor<i1>
  }
}
