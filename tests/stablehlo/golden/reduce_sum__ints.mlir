module @reduce_sum__ints {
  func.func public @main(%arg0: tensor<2x3xi32>) -> (tensor<2xi32>) {
    %0 = stablehlo.constant dense<0> : tensor<i32>
    %1 = stablehlo.reduce(%arg0 init: %0) applies stablehlo.add across dimensions = [1] : (tensor<2x3xi32>, tensor<i32>) -> tensor<2xi32>
    return %1 : tensor<2xi32>
  }
}
