module @convert__float_to_int {
  func.func public @main(%arg0: tensor<5xf32>) -> (tensor<5xi32>) {
    %0 = stablehlo.convert %arg0 : (tensor<5xf32>) -> tensor<5xi32>
    return %0 : tensor<5xi32>
  }
}
