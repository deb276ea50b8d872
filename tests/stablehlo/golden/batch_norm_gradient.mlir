module @batch_norm_gradient__channels_3 {
  func.func public @main(%arg0: tensor<5x3xf32>, %arg1: tensor<3xf32>, %arg2: tensor<3xf32>, %arg3: tensor<3xf32>, %arg4: tensor<5x3xf32>) -> (tensor<5x3xf32>, tensor<3xf32>, tensor<3xf32>) {
    %0 = stablehlo.constant dense<0x3A83126F> : tensor<f32>
    %1 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<f32>) -> tensor<3xf32>
    %2 = stablehlo.add %arg3, %1 : tensor<3xf32>
    %3 = stablehlo.sqrt %2 : tensor<3xf32>
    %4 = stablehlo.constant dense<0x3F800000> : tensor<f32>
    %5 = stablehlo.broadcast_in_dim %4, dims = [] : (tensor<f32>) -> tensor<3xf32>
    %6 = stablehlo.divide %5, %3 : tensor<3xf32>
    %7 = stablehlo.broadcast_in_dim %arg2, dims = [1] : (tensor<3xf32>) -> tensor<5x3xf32>
    %8 = stablehlo.subtract %arg0, %7 : tensor<5x3xf32>
    %9 = stablehlo.broadcast_in_dim %6, dims = [1] : (tensor<3xf32>) -> tensor<5x3xf32>
    %10 = stablehlo.multiply %8, %9 : tensor<5x3xf32>
    %11 = stablehlo.constant dense<0x00000000> : tensor<f32>
    %12 = stablehlo.reduce(%arg4 init: %11) applies stablehlo.add across dimensions = [0] : (tensor<5x3xf32>, tensor<f32>) -> tensor<3xf32>
    %13 = stablehlo.multiply %arg4, %10 : tensor<5x3xf32>
    %14 = stablehlo.constant dense<0x00000000> : tensor<f32>
    %15 = stablehlo.reduce(%13 init: %14) applies stablehlo.add across dimensions = [0] : (tensor<5x3xf32>, tensor<f32>) -> tensor<3xf32>
    %16 = stablehlo.constant dense<0x40A00000> : tensor<f32>
    %17 = stablehlo.broadcast_in_dim %16, dims = [] : (tensor<f32>) -> tensor<3xf32>
    %18 = stablehlo.divide %12, %17 : tensor<3xf32>
    %19 = stablehlo.broadcast_in_dim %18, dims = [1] : (tensor<3xf32>) -> tensor<5x3xf32>
    %20 = stablehlo.subtract %arg4, %19 : tensor<5x3xf32>
    %21 = stablehlo.constant dense<0x40A00000> : tensor<f32>
    %22 = stablehlo.broadcast_in_dim %21, dims = [] : (tensor<f32>) -> tensor<3xf32>
    %23 = stablehlo.divide %15, %22 : tensor<3xf32>
    %24 = stablehlo.broadcast_in_dim %23, dims = [1] : (tensor<3xf32>) -> tensor<5x3xf32>
    %25 = stablehlo.multiply %10, %24 : tensor<5x3xf32>
    %26 = stablehlo.subtract %20, %25 : tensor<5x3xf32>
    %27 = stablehlo.multiply %arg1, %6 : tensor<3xf32>
    %28 = stablehlo.broadcast_in_dim %27, dims = [1] : (tensor<3xf32>) -> tensor<5x3xf32>
    %29 = stablehlo.multiply %28, %26 : tensor<5x3xf32>
    return %29, %15, %12 : tensor<5x3xf32>, tensor<3xf32>, tensor<3xf32>
  }
}
