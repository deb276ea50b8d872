module @log_softmax__classes {
  func.func public @main(%arg0: tensor<5x10xf32>) -> (tensor<5x10xf32>) {
    %0 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %1 = stablehlo.reduce(%arg0 init: %0) applies stablehlo.maximum across dimensions = [1] : (tensor<5x10xf32>, tensor<f32>) -> tensor<5xf32>
    %2 = stablehlo.reshape %1 : (tensor<5xf32>) -> tensor<5x1xf32>
    %3 = stablehlo.broadcast_in_dim %2, dims = [0, 1] : (tensor<5x1xf32>) -> tensor<5x10xf32>
    %4 = stablehlo.subtract %arg0, %3 : tensor<5x10xf32>
    %5 = stablehlo.exponential %4 : tensor<5x10xf32>
    %6 = stablehlo.constant dense<0x00000000> : tensor<f32>
    %7 = stablehlo.reduce(%5 init: %6) applies stablehlo.add across dimensions = [1] : (tensor<5x10xf32>, tensor<f32>) -> tensor<5xf32>
    %8 = stablehlo.reshape %7 : (tensor<5xf32>) -> tensor<5x1xf32>
    %9 = stablehlo.log %8 : tensor<5x1xf32>
    %10 = stablehlo.broadcast_in_dim %9, dims = [0, 1] : (tensor<5x1xf32>) -> tensor<5x10xf32>
    %11 = stablehlo.subtract %4, %10 : tensor<5x10xf32>
    return %11 : tensor<5x10xf32>
  }
}
