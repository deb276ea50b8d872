module @max_pool2d_gradient__overlap_same {
  func.func public @main(%arg0: tensor<1x7x5x4xf32>, %arg1: tensor<1x4x3x4xf32>, %arg2: tensor<1x4x3x4xf32>) -> (tensor<1x7x5x4xf32>) {
    %0 = stablehlo.constant dense<0x00000000> : tensor<1x4x3x4xf32>
    %1 = stablehlo.compare EQ, %arg1, %arg1, FLOAT : (tensor<1x4x3x4xf32>, tensor<1x4x3x4xf32>) -> tensor<1x4x3x4xi1>
    %2 = stablehlo.select %1, %arg2, %0 : tensor<1x4x3x4xi1>, tensor<1x4x3x4xf32>
    %3 = stablehlo.constant dense<0x00000000> : tensor<f32>
    %4 = stablehlo.constant dense<0x7FC00000> : tensor<f32>
    %5 = stablehlo.pad %arg0, %4, low = [0, 1, 1, 0], high = [0, 1, 1, 0], interior = [0, 0, 0, 0] : (tensor<1x7x5x4xf32>, tensor<f32>) -> tensor<1x9x7x4xf32>
    %6 = stablehlo.constant dense<0> : tensor<1x4x3x4xi32>
    %7 = stablehlo.constant dense<1> : tensor<1x4x3x4xi32>
    %8 = stablehlo.constant dense<2> : tensor<1x4x3x4xi32>
    %9 = stablehlo.constant dense<3> : tensor<1x4x3x4xi32>
    %10 = stablehlo.constant dense<4> : tensor<1x4x3x4xi32>
    %11 = stablehlo.constant dense<5> : tensor<1x4x3x4xi32>
    %12 = stablehlo.constant dense<6> : tensor<1x4x3x4xi32>
    %13 = stablehlo.constant dense<7> : tensor<1x4x3x4xi32>
    %14 = stablehlo.constant dense<8> : tensor<1x4x3x4xi32>
    %15 = stablehlo.slice %5 [0:1:1, 0:7:2, 0:5:2, 0:4:1] : (tensor<1x9x7x4xf32>) -> tensor<1x4x3x4xf32>
    %16 = stablehlo.slice %5 [0:1:1, 0:7:2, 1:6:2, 0:4:1] : (tensor<1x9x7x4xf32>) -> tensor<1x4x3x4xf32>
    %17 = stablehlo.compare EQ, %16, %16, FLOAT : (tensor<1x4x3x4xf32>, tensor<1x4x3x4xf32>) -> tensor<1x4x3x4xi1>
    %18 = stablehlo.compare LE, %16, %15, FLOAT : (tensor<1x4x3x4xf32>, tensor<1x4x3x4xf32>) -> tensor<1x4x3x4xi1>
    %19 = stablehlo.not %18 : tensor<1x4x3x4xi1>
    %20 = stablehlo.and %17, %19 : tensor<1x4x3x4xi1>
    %21 = stablehlo.select %20, %16, %15 : tensor<1x4x3x4xi1>, tensor<1x4x3x4xf32>
    %22 = stablehlo.select %20, %7, %6 : tensor<1x4x3x4xi1>, tensor<1x4x3x4xi32>
    %23 = stablehlo.slice %5 [0:1:1, 0:7:2, 2:7:2, 0:4:1] : (tensor<1x9x7x4xf32>) -> tensor<1x4x3x4xf32>
    %24 = stablehlo.compare EQ, %23, %23, FLOAT : (tensor<1x4x3x4xf32>, tensor<1x4x3x4xf32>) -> tensor<1x4x3x4xi1>
    %25 = stablehlo.compare LE, %23, %21, FLOAT : (tensor<1x4x3x4xf32>, tensor<1x4x3x4xf32>) -> tensor<1x4x3x4xi1>
    %26 = stablehlo.not %25 : tensor<1x4x3x4xi1>
    %27 = stablehlo.and %24, %26 : tensor<1x4x3x4xi1>
    %28 = stablehlo.select %27, %23, %21 : tensor<1x4x3x4xi1>, tensor<1x4x3x4xf32>
    %29 = stablehlo.select %27, %8, %22 : tensor<1x4x3x4xi1>, tensor<1x4x3x4xi32>
    %30 = stablehlo.slice %5 [0:1:1, 1:8:2, 0:5:2, 0:4:1] : (tensor<1x9x7x4xf32>) -> tensor<1x4x3x4xf32>
    %31 = stablehlo.compare EQ, %30, %30, FLOAT : (tensor<1x4x3x4xf32>, tensor<1x4x3x4xf32>) -> tensor<1x4x3x4xi1>
    %32 = stablehlo.compare LE, %30, %28, FLOAT : (tensor<1x4x3x4xf32>, tensor<1x4x3x4xf32>) -> tensor<1x4x3x4xi1>
    %33 = stablehlo.not %32 : tensor<1x4x3x4xi1>
    %34 = stablehlo.and %31, %33 : tensor<1x4x3x4xi1>
    %35 = stablehlo.select %34, %30, %28 : tensor<1x4x3x4xi1>, tensor<1x4x3x4xf32>
    %36 = stablehlo.select %34, %9, %29 : tensor<1x4x3x4xi1>, tensor<1x4x3x4xi32>
    %37 = stablehlo.slice %5 [0:1:1, 1:8:2, 1:6:2, 0:4:1] : (tensor<1x9x7x4xf32>) -> tensor<1x4x3x4xf32>
    %38 = stablehlo.compare EQ, %37, %37, FLOAT : (tensor<1x4x3x4xf32>, tensor<1x4x3x4xf32>) -> tensor<1x4x3x4xi1>
    %39 = stablehlo.compare LE, %37, %35, FLOAT : (tensor<1x4x3x4xf32>, tensor<1x4x3x4xf32>) -> tensor<1x4x3x4xi1>
    %40 = stablehlo.not %39 : tensor<1x4x3x4xi1>
    %41 = stablehlo.and %38, %40 : tensor<1x4x3x4xi1>
    %42 = stablehlo.select %41, %37, %35 : tensor<1x4x3x4xi1>, tensor<1x4x3x4xf32>
    %43 = stablehlo.select %41, %10, %36 : tensor<1x4x3x4xi1>, tensor<1x4x3x4xi32>
    %44 = stablehlo.slice %5 [0:1:1, 1:8:2, 2:7:2, 0:4:1] : (tensor<1x9x7x4xf32>) -> tensor<1x4x3x4xf32>
    %45 = stablehlo.compare EQ, %44, %44, FLOAT : (tensor<1x4x3x4xf32>, tensor<1x4x3x4xf32>) -> tensor<1x4x3x4xi1>
    %46 = stablehlo.compare LE, %44, %42, FLOAT : (tensor<1x4x3x4xf32>, tensor<1x4x3x4xf32>) -> tensor<1x4x3x4xi1>
    %47 = stablehlo.not %46 : tensor<1x4x3x4xi1>
    %48 = stablehlo.and %45, %47 : tensor<1x4x3x4xi1>
    %49 = stablehlo.select %48, %44, %42 : tensor<1x4x3x4xi1>, tensor<1x4x3x4xf32>
    %50 = stablehlo.select %48, %11, %43 : tensor<1x4x3x4xi1>, tensor<1x4x3x4xi32>
    %51 = stablehlo.slice %5 [0:1:1, 2:9:2, 0:5:2, 0:4:1] : (tensor<1x9x7x4xf32>) -> tensor<1x4x3x4xf32>
    %52 = stablehlo.compare EQ, %51, %51, FLOAT : (tensor<1x4x3x4xf32>, tensor<1x4x3x4xf32>) -> tensor<1x4x3x4xi1>
    %53 = stablehlo.compare LE, %51, %49, FLOAT : (tensor<1x4x3x4xf32>, tensor<1x4x3x4xf32>) -> tensor<1x4x3x4xi1>
    %54 = stablehlo.not %53 : tensor<1x4x3x4xi1>
    %55 = stablehlo.and %52, %54 : tensor<1x4x3x4xi1>
    %56 = stablehlo.select %55, %51, %49 : tensor<1x4x3x4xi1>, tensor<1x4x3x4xf32>
    %57 = stablehlo.select %55, %12, %50 : tensor<1x4x3x4xi1>, tensor<1x4x3x4xi32>
    %58 = stablehlo.slice %5 [0:1:1, 2:9:2, 1:6:2, 0:4:1] : (tensor<1x9x7x4xf32>) -> tensor<1x4x3x4xf32>
    %59 = stablehlo.compare EQ, %58, %58, FLOAT : (tensor<1x4x3x4xf32>, tensor<1x4x3x4xf32>) -> tensor<1x4x3x4xi1>
    %60 = stablehlo.compare LE, %58, %56, FLOAT : (tensor<1x4x3x4xf32>, tensor<1x4x3x4xf32>) -> tensor<1x4x3x4xi1>
    %61 = stablehlo.not %60 : tensor<1x4x3x4xi1>
    %62 = stablehlo.and %59, %61 : tensor<1x4x3x4xi1>
    %63 = stablehlo.select %62, %58, %56 : tensor<1x4x3x4xi1>, tensor<1x4x3x4xf32>
    %64 = stablehlo.select %62, %13, %57 : tensor<1x4x3x4xi1>, tensor<1x4x3x4xi32>
    %65 = stablehlo.slice %5 [0:1:1, 2:9:2, 2:7:2, 0:4:1] : (tensor<1x9x7x4xf32>) -> tensor<1x4x3x4xf32>
    %66 = stablehlo.compare EQ, %65, %65, FLOAT : (tensor<1x4x3x4xf32>, tensor<1x4x3x4xf32>) -> tensor<1x4x3x4xi1>
    %67 = stablehlo.compare LE, %65, %63, FLOAT : (tensor<1x4x3x4xf32>, tensor<1x4x3x4xf32>) -> tensor<1x4x3x4xi1>
    %68 = stablehlo.not %67 : tensor<1x4x3x4xi1>
    %69 = stablehlo.and %66, %68 : tensor<1x4x3x4xi1>
    %70 = stablehlo.select %69, %65, %63 : tensor<1x4x3x4xi1>, tensor<1x4x3x4xf32>
    %71 = stablehlo.select %69, %14, %64 : tensor<1x4x3x4xi1>, tensor<1x4x3x4xi32>
    %72 = stablehlo.compare EQ, %71, %6, SIGNED : (tensor<1x4x3x4xi32>, tensor<1x4x3x4xi32>) -> tensor<1x4x3x4xi1>
    %73 = stablehlo.select %72, %2, %0 : tensor<1x4x3x4xi1>, tensor<1x4x3x4xf32>
    %74 = stablehlo.pad %73, %3, low = [0, 0, 0, 0], high = [0, 2, 2, 0], interior = [0, 1, 1, 0] : (tensor<1x4x3x4xf32>, tensor<f32>) -> tensor<1x9x7x4xf32>
    %75 = stablehlo.compare EQ, %71, %7, SIGNED : (tensor<1x4x3x4xi32>, tensor<1x4x3x4xi32>) -> tensor<1x4x3x4xi1>
    %76 = stablehlo.select %75, %2, %0 : tensor<1x4x3x4xi1>, tensor<1x4x3x4xf32>
    %77 = stablehlo.pad %76, %3, low = [0, 0, 1, 0], high = [0, 2, 1, 0], interior = [0, 1, 1, 0] : (tensor<1x4x3x4xf32>, tensor<f32>) -> tensor<1x9x7x4xf32>
    %78 = stablehlo.add %74, %77 : tensor<1x9x7x4xf32>
    %79 = stablehlo.compare EQ, %71, %8, SIGNED : (tensor<1x4x3x4xi32>, tensor<1x4x3x4xi32>) -> tensor<1x4x3x4xi1>
    %80 = stablehlo.select %79, %2, %0 : tensor<1x4x3x4xi1>, tensor<1x4x3x4xf32>
    %81 = stablehlo.pad %80, %3, low = [0, 0, 2, 0], high = [0, 2, 0, 0], interior = [0, 1, 1, 0] : (tensor<1x4x3x4xf32>, tensor<f32>) -> tensor<1x9x7x4xf32>
    %82 = stablehlo.add %78, %81 : tensor<1x9x7x4xf32>
    %83 = stablehlo.compare EQ, %71, %9, SIGNED : (tensor<1x4x3x4xi32>, tensor<1x4x3x4xi32>) -> tensor<1x4x3x4xi1>
    %84 = stablehlo.select %83, %2, %0 : tensor<1x4x3x4xi1>, tensor<1x4x3x4xf32>
    %85 = stablehlo.pad %84, %3, low = [0, 1, 0, 0], high = [0, 1, 2, 0], interior = [0, 1, 1, 0] : (tensor<1x4x3x4xf32>, tensor<f32>) -> tensor<1x9x7x4xf32>
    %86 = stablehlo.add %82, %85 : tensor<1x9x7x4xf32>
    %87 = stablehlo.compare EQ, %71, %10, SIGNED : (tensor<1x4x3x4xi32>, tensor<1x4x3x4xi32>) -> tensor<1x4x3x4xi1>
    %88 = stablehlo.select %87, %2, %0 : tensor<1x4x3x4xi1>, tensor<1x4x3x4xf32>
    %89 = stablehlo.pad %88, %3, low = [0, 1, 1, 0], high = [0, 1, 1, 0], interior = [0, 1, 1, 0] : (tensor<1x4x3x4xf32>, tensor<f32>) -> tensor<1x9x7x4xf32>
    %90 = stablehlo.add %86, %89 : tensor<1x9x7x4xf32>
    %91 = stablehlo.compare EQ, %71, %11, SIGNED : (tensor<1x4x3x4xi32>, tensor<1x4x3x4xi32>) -> tensor<1x4x3x4xi1>
    %92 = stablehlo.select %91, %2, %0 : tensor<1x4x3x4xi1>, tensor<1x4x3x4xf32>
    %93 = stablehlo.pad %92, %3, low = [0, 1, 2, 0], high = [0, 1, 0, 0], interior = [0, 1, 1, 0] : (tensor<1x4x3x4xf32>, tensor<f32>) -> tensor<1x9x7x4xf32>
    %94 = stablehlo.add %90, %93 : tensor<1x9x7x4xf32>
    %95 = stablehlo.compare EQ, %71, %12, SIGNED : (tensor<1x4x3x4xi32>, tensor<1x4x3x4xi32>) -> tensor<1x4x3x4xi1>
    %96 = stablehlo.select %95, %2, %0 : tensor<1x4x3x4xi1>, tensor<1x4x3x4xf32>
    %97 = stablehlo.pad %96, %3, low = [0, 2, 0, 0], high = [0, 0, 2, 0], interior = [0, 1, 1, 0] : (tensor<1x4x3x4xf32>, tensor<f32>) -> tensor<1x9x7x4xf32>
    %98 = stablehlo.add %94, %97 : tensor<1x9x7x4xf32>
    %99 = stablehlo.compare EQ, %71, %13, SIGNED : (tensor<1x4x3x4xi32>, tensor<1x4x3x4xi32>) -> tensor<1x4x3x4xi1>
    %100 = stablehlo.select %99, %2, %0 : tensor<1x4x3x4xi1>, tensor<1x4x3x4xf32>
    %101 = stablehlo.pad %100, %3, low = [0, 2, 1, 0], high = [0, 0, 1, 0], interior = [0, 1, 1, 0] : (tensor<1x4x3x4xf32>, tensor<f32>) -> tensor<1x9x7x4xf32>
    %102 = stablehlo.add %98, %101 : tensor<1x9x7x4xf32>
    %103 = stablehlo.compare EQ, %71, %14, SIGNED : (tensor<1x4x3x4xi32>, tensor<1x4x3x4xi32>) -> tensor<1x4x3x4xi1>
    %104 = stablehlo.select %103, %2, %0 : tensor<1x4x3x4xi1>, tensor<1x4x3x4xf32>
    %105 = stablehlo.pad %104, %3, low = [0, 2, 2, 0], high = [0, 0, 0, 0], interior = [0, 1, 1, 0] : (tensor<1x4x3x4xf32>, tensor<f32>) -> tensor<1x9x7x4xf32>
    %106 = stablehlo.add %102, %105 : tensor<1x9x7x4xf32>
    %107 = stablehlo.pad %106, %3, low = [0, -1, -1, 0], high = [0, -1, -1, 0], interior = [0, 0, 0, 0] : (tensor<1x9x7x4xf32>, tensor<f32>) -> tensor<1x7x5x4xf32>
    return %107 : tensor<1x7x5x4xf32>
  }
}
