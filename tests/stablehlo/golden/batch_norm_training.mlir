module @batch_norm_training__channels_3 {
  func.func public @main(%arg0: tensor<5x3xf32>, %arg1: tensor<3xf32>, %arg2: tensor<3xf32>) -> (tensor<5x3xf32>, tensor<3xf32>, tensor<3xf32>) {
    %0 = stablehlo.constant dense<0x00000000> : tensor<f32>
    %1 = stablehlo.reduce(%arg0 init: %0) applies stablehlo.add across dimensions = [0] : (tensor<5x3xf32>, tensor<f32>) -> tensor<3xf32>
    %2 = stablehlo.constant dense<0x40A00000> : tensor<f32>
    %3 = stablehlo.broadcast_in_dim %2, dims = [] : (tensor<f32>) -> tensor<3xf32>
    %4 = stablehlo.divide %1, %3 : tensor<3xf32>
    %5 = stablehlo.broadcast_in_dim %4, dims = [1] : (tensor<3xf32>) -> tensor<5x3xf32>
    %6 = stablehlo.subtract %arg0, %5 : tensor<5x3xf32>
    %7 = stablehlo.multiply %6, %6 : tensor<5x3xf32>
    %8 = stablehlo.constant dense<0x00000000> : tensor<f32>
    %9 = stablehlo.reduce(%7 init: %8) applies stablehlo.add across dimensions = [0] : (tensor<5x3xf32>, tensor<f32>) -> tensor<3xf32>
    %10 = stablehlo.constant dense<0x40A00000> : tensor<f32>
    %11 = stablehlo.broadcast_in_dim %10, dims = [] : (tensor<f32>) -> tensor<3xf32>
    %12 = stablehlo.divide %9, %11 : tensor<3xf32>
    %13 = stablehlo.constant dense<0x3A83126F> : tensor<f32>
    %14 = stablehlo.broadcast_in_dim %13, dims = [] : (tensor<f32>) -> tensor<3xf32>
    %15 = stablehlo.add %12, %14 : tensor<3xf32>
    %16 = stablehlo.sqrt %15 : tensor<3xf32>
    %17 = stablehlo.constant dense<0x3F800000> : tensor<f32>
    %18 = stablehlo.broadcast_in_dim %17, dims = [] : (tensor<f32>) -> tensor<3xf32>
    %19 = stablehlo.divide %18, %16 : tensor<3xf32>
    %20 = stablehlo.broadcast_in_dim %19, dims = [1] : (tensor<3xf32>) -> tensor<5x3xf32>
    %21 = stablehlo.multiply %6, %20 : tensor<5x3xf32>
    %22 = stablehlo.broadcast_in_dim %arg1, dims = [1] : (tensor<3xf32>) -> tensor<5x3xf32>
    %23 = stablehlo.multiply %21, %22 : tensor<5x3xf32>
    %24 = stablehlo.broadcast_in_dim %arg2, dims = [1] : (tensor<3xf32>) -> tensor<5x3xf32>
    %25 = stablehlo.add %23, %24 : tensor<5x3xf32>
    return %25, %4, %12 : tensor<5x3xf32>, tensor<3xf32>, tensor<3xf32>
  }
}
