module @argmax__last {
  func.func public @main(%arg0: tensor<5x10xf32>) -> (tensor<5xi32>) {
    %0 = stablehlo.iota dim = 1 : tensor<5x10xi32>
    %1 = stablehlo.constant dense<0> : tensor<5x10xi32>
    %2 = stablehlo.constant dense<0x7F800000> : tensor<5x10xf32>
    %3 = stablehlo.constant dense<0xFF800000> : tensor<5x10xf32>
    %4 = stablehlo.compare EQ, %0, %1, SIGNED : (tensor<5x10xi32>, tensor<5x10xi32>) -> tensor<5x10xi1>
    %5 = stablehlo.select %4, %2, %3 : tensor<5x10xi1>, tensor<5x10xf32>
    %6 = stablehlo.compare NE, %arg0, %arg0, FLOAT : (tensor<5x10xf32>, tensor<5x10xf32>) -> tensor<5x10xi1>
    %7 = stablehlo.select %6, %5, %arg0 : tensor<5x10xi1>, tensor<5x10xf32>
    %8 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %9 = stablehlo.constant dense<0> : tensor<i32>
    %10:2 = stablehlo.reduce(%7 init: %8), (%0 init: %9) across dimensions = [1] : (tensor<5x10xf32>, tensor<5x10xi32>, tensor<f32>, tensor<i32>) -> (tensor<5xf32>, tensor<5xi32>)
     reducer(%a: tensor<f32>, %b: tensor<f32>) (%ai: tensor<i32>, %bi: tensor<i32>) {
      %g = stablehlo.compare GT, %a, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %e = stablehlo.compare EQ, %a, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %l = stablehlo.compare LT, %ai, %bi, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %el = stablehlo.and %e, %l : tensor<i1>
      %left = stablehlo.or %g, %el : tensor<i1>
      %m = stablehlo.select %left, %a, %b : tensor<i1>, tensor<f32>
      %mi = stablehlo.select %left, %ai, %bi : tensor<i1>, tensor<i32>
      stablehlo.return %m, %mi : tensor<f32>, tensor<i32>
    }
    return %10#1 : tensor<5xi32>
  }
}
