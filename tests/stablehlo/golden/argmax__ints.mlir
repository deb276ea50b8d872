module @argmax__ints {
  func.func public @main(%arg0: tensor<2x3xi32>) -> (tensor<2xi32>) {
    %0 = stablehlo.iota dim = 1 : tensor<2x3xi32>
    %1 = stablehlo.constant dense<-2147483648> : tensor<i32>
    %2 = stablehlo.constant dense<0> : tensor<i32>
    %3:2 = stablehlo.reduce(%arg0 init: %1), (%0 init: %2) across dimensions = [1] : (tensor<2x3xi32>, tensor<2x3xi32>, tensor<i32>, tensor<i32>) -> (tensor<2xi32>, tensor<2xi32>)
     reducer(%a: tensor<i32>, %b: tensor<i32>) (%ai: tensor<i32>, %bi: tensor<i32>) {
      %g = stablehlo.compare GT, %a, %b, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %e = stablehlo.compare EQ, %a, %b, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %l = stablehlo.compare LT, %ai, %bi, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %el = stablehlo.and %e, %l : tensor<i1>
      %left = stablehlo.or %g, %el : tensor<i1>
      %m = stablehlo.select %left, %a, %b : tensor<i1>, tensor<i32>
      %mi = stablehlo.select %left, %ai, %bi : tensor<i1>, tensor<i32>
      stablehlo.return %m, %mi : tensor<i32>, tensor<i32>
    }
    return %3#1 : tensor<2xi32>
  }
}
