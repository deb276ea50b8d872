module @max_pool2d_gradient__halves {
  func.func public @main(%arg0: tensor<2x4x6x3xf32>, %arg1: tensor<2x2x3x3xf32>, %arg2: tensor<2x2x3x3xf32>) -> (tensor<2x4x6x3xf32>) {
    %0 = stablehlo.constant dense<0x00000000> : tensor<2x2x3x3xf32>
    %1 = stablehlo.compare EQ, %arg1, %arg1, FLOAT : (tensor<2x2x3x3xf32>, tensor<2x2x3x3xf32>) -> tensor<2x2x3x3xi1>
    %2 = stablehlo.select %1, %arg2, %0 : tensor<2x2x3x3xi1>, tensor<2x2x3x3xf32>
    %3 = stablehlo.constant dense<0x00000000> : tensor<f32>
    %4 = stablehlo.constant dense<0x7FC00000> : tensor<f32>
    %5 = stablehlo.pad %arg0, %4, low = [0, 0, 0, 0], high = [0, 0, 0, 0], interior = [0, 0, 0, 0] : (tensor<2x4x6x3xf32>, tensor<f32>) -> tensor<2x4x6x3xf32>
    %6 = stablehlo.constant dense<0> : tensor<2x2x3x3xi32>
    %7 = stablehlo.constant dense<1> : tensor<2x2x3x3xi32>
    %8 = stablehlo.constant dense<2> : tensor<2x2x3x3xi32>
    %9 = stablehlo.constant dense<3> : tensor<2x2x3x3xi32>
    %10 = stablehlo.slice %5 [0:2:1, 0:3:2, 0:5:2, 0:3:1] : (tensor<2x4x6x3xf32>) -> tensor<2x2x3x3xf32>
    %11 = stablehlo.slice %5 [0:2:1, 0:3:2, 1:6:2, 0:3:1] : (tensor<2x4x6x3xf32>) -> tensor<2x2x3x3xf32>
    %12 = stablehlo.compare EQ, %11, %11, FLOAT : (tensor<2x2x3x3xf32>, tensor<2x2x3x3xf32>) -> tensor<2x2x3x3xi1>
    %13 = stablehlo.compare LE, %11, %10, FLOAT : (tensor<2x2x3x3xf32>, tensor<2x2x3x3xf32>) -> tensor<2x2x3x3xi1>
    %14 = stablehlo.not %13 : tensor<2x2x3x3xi1>
    %15 = stablehlo.and %12, %14 : tensor<2x2x3x3xi1>
    %16 = stablehlo.select %15, %11, %10 : tensor<2x2x3x3xi1>, tensor<2x2x3x3xf32>
    %17 = stablehlo.select %15, %7, %6 : tensor<2x2x3x3xi1>, tensor<2x2x3x3xi32>
    %18 = stablehlo.slice %5 [0:2:1, 1:4:2, 0:5:2, 0:3:1] : (tensor<2x4x6x3xf32>) -> tensor<2x2x3x3xf32>
    %19 = stablehlo.compare EQ, %18, %18, FLOAT : (tensor<2x2x3x3xf32>, tensor<2x2x3x3xf32>) -> tensor<2x2x3x3xi1>
    %20 = stablehlo.compare LE, %18, %16, FLOAT : (tensor<2x2x3x3xf32>, tensor<2x2x3x3xf32>) -> tensor<2x2x3x3xi1>
    %21 = stablehlo.not %20 : tensor<2x2x3x3xi1>
    %22 = stablehlo.and %19, %21 : tensor<2x2x3x3xi1>
    %23 = stablehlo.select %22, %18, %16 : tensor<2x2x3x3xi1>, tensor<2x2x3x3xf32>
    %24 = stablehlo.select %22, %8, %17 : tensor<2x2x3x3xi1>, tensor<2x2x3x3xi32>
    %25 = stablehlo.slice %5 [0:2:1, 1:4:2, 1:6:2, 0:3:1] : (tensor<2x4x6x3xf32>) -> tensor<2x2x3x3xf32>
    %26 = stablehlo.compare EQ, %25, %25, FLOAT : (tensor<2x2x3x3xf32>, tensor<2x2x3x3xf32>) -> tensor<2x2x3x3xi1>
    %27 = stablehlo.compare LE, %25, %23, FLOAT : (tensor<2x2x3x3xf32>, tensor<2x2x3x3xf32>) -> tensor<2x2x3x3xi1>
    %28 = stablehlo.not %27 : tensor<2x2x3x3xi1>
    %29 = stablehlo.and %26, %28 : tensor<2x2x3x3xi1>
    %30 = stablehlo.select %29, %25, %23 : tensor<2x2x3x3xi1>, tensor<2x2x3x3xf32>
    %31 = stablehlo.select %29, %9, %24 : tensor<2x2x3x3xi1>, tensor<2x2x3x3xi32>
    %32 = stablehlo.compare EQ, %31, %6, SIGNED : (tensor<2x2x3x3xi32>, tensor<2x2x3x3xi32>) -> tensor<2x2x3x3xi1>
    %33 = stablehlo.select %32, %2, %0 : tensor<2x2x3x3xi1>, tensor<2x2x3x3xf32>
    %34 = stablehlo.pad %33, %3, low = [0, 0, 0, 0], high = [0, 1, 1, 0], interior = [0, 1, 1, 0] : (tensor<2x2x3x3xf32>, tensor<f32>) -> tensor<2x4x6x3xf32>
    %35 = stablehlo.compare EQ, %31, %7, SIGNED : (tensor<2x2x3x3xi32>, tensor<2x2x3x3xi32>) -> tensor<2x2x3x3xi1>
    %36 = stablehlo.select %35, %2, %0 : tensor<2x2x3x3xi1>, tensor<2x2x3x3xf32>
    %37 = stablehlo.pad %36, %3, low = [0, 0, 1, 0], high = [0, 1, 0, 0], interior = [0, 1, 1, 0] : (tensor<2x2x3x3xf32>, tensor<f32>) -> tensor<2x4x6x3xf32>
    %38 = stablehlo.add %34, %37 : tensor<2x4x6x3xf32>
    %39 = stablehlo.compare EQ, %31, %8, SIGNED : (tensor<2x2x3x3xi32>, tensor<2x2x3x3xi32>) -> tensor<2x2x3x3xi1>
    %40 = stablehlo.select %39, %2, %0 : tensor<2x2x3x3xi1>, tensor<2x2x3x3xf32>
    %41 = stablehlo.pad %40, %3, low = [0, 1, 0, 0], high = [0, 0, 1, 0], interior = [0, 1, 1, 0] : (tensor<2x2x3x3xf32>, tensor<f32>) -> tensor<2x4x6x3xf32>
    %42 = stablehlo.add %38, %41 : tensor<2x4x6x3xf32>
    %43 = stablehlo.compare EQ, %31, %9, SIGNED : (tensor<2x2x3x3xi32>, tensor<2x2x3x3xi32>) -> tensor<2x2x3x3xi1>
    %44 = stablehlo.select %43, %2, %0 : tensor<2x2x3x3xi1>, tensor<2x2x3x3xf32>
    %45 = stablehlo.pad %44, %3, low = [0, 1, 1, 0], high = [0, 0, 0, 0], interior = [0, 1, 1, 0] : (tensor<2x2x3x3xf32>, tensor<f32>) -> tensor<2x4x6x3xf32>
    %46 = stablehlo.add %42, %45 : tensor<2x4x6x3xf32>
    %47 = stablehlo.pad %46, %3, low = [0, 0, 0, 0], high = [0, 0, 0, 0], interior = [0, 0, 0, 0] : (tensor<2x4x6x3xf32>, tensor<f32>) -> tensor<2x4x6x3xf32>
    return %47 : tensor<2x4x6x3xf32>
  }
}
