module @constants {
  func.func public @main() -> (tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<2x3xf32>, tensor<7x1xf32>, tensor<f64>, tensor<f64>, tensor<f64>, tensor<f64>, tensor<f64>, tensor<f64>, tensor<f64>, tensor<2x3xf64>, tensor<7x1xf64>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<2x3xi32>, tensor<3x1xi32>, tensor<i64>, tensor<i64>, tensor<i64>, tensor<2x3xi64>, tensor<3x1xi64>, tensor<ui8>, tensor<ui8>, tensor<ui8>, tensor<2x3xui8>, tensor<3x1xui8>, tensor<ui16>, tensor<ui16>, tensor<ui16>, tensor<2x3xui16>, tensor<3x1xui16>, tensor<ui32>, tensor<ui32>, tensor<ui32>, tensor<2x3xui32>, tensor<3x1xui32>, tensor<i1>, tensor<i1>, tensor<2x3xi1>, tensor<2x1xi1>) {
    %0 = stablehlo.constant dense<0x3EAAAAAB> : tensor<f32>
    %1 = stablehlo.constant dense<0x80000000> : tensor<f32>
    %2 = stablehlo.constant dense<0x7FC00000> : tensor<f32>
    %3 = stablehlo.constant dense<0x7F800000> : tensor<f32>
    %4 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %5 = stablehlo.constant dense<0x00000001> : tensor<f32>
    %6 = stablehlo.constant dense<0x7F7FFFFF> : tensor<f32>
    %7 = stablehlo.constant dense<0x3EAAAAAB> : tensor<2x3xf32>
    %8 = stablehlo.constant dense<"0xABAAAA3E000000800000C07F0000807F000080FF01000000FFFF7F7F"> : tensor<7x1xf32>
    %9 = stablehlo.constant dense<0x3FD5555555555555> : tensor<f64>
    %10 = stablehlo.constant dense<0x8000000000000000> : tensor<f64>
    %11 = stablehlo.constant dense<0x7FF8000000000000> : tensor<f64>
    %12 = stablehlo.constant dense<0x7FF0000000000000> : tensor<f64>
    %13 = stablehlo.constant dense<0xFFF0000000000000> : tensor<f64>
    %14 = stablehlo.constant dense<0x0000000000000001> : tensor<f64>
    %15 = stablehlo.constant dense<0x7FEFFFFFFFFFFFFF> : tensor<f64>
    %16 = stablehlo.constant dense<0x3FD5555555555555> : tensor<2x3xf64>
    %17 = stablehlo.constant dense<"0x555555555555D53F0000000000000080000000000000F87F000000000000F07F000000000000F0FF0100000000000000FFFFFFFFFFFFEF7F"> : tensor<7x1xf64>
    %18 = stablehlo.constant dense<1> : tensor<i32>
    %19 = stablehlo.constant dense<-2147483648> : tensor<i32>
    %20 = stablehlo.constant dense<2147483647> : tensor<i32>
    %21 = stablehlo.constant dense<1> : tensor<2x3xi32>
    %22 = stablehlo.constant dense<"0x0100000000000080FFFFFF7F"> : tensor<3x1xi32>
    %23 = stablehlo.constant dense<1> : tensor<i64>
    %24 = stablehlo.constant dense<-9223372036854775808> : tensor<i64>
    %25 = stablehlo.constant dense<9223372036854775807> : tensor<i64>
    %26 = stablehlo.constant dense<1> : tensor<2x3xi64>
    %27 = stablehlo.constant dense<"0x01000000000000000000000000000080FFFFFFFFFFFFFF7F"> : tensor<3x1xi64>
    %28 = stablehlo.constant dense<1> : tensor<ui8>
    %29 = stablehlo.constant dense<0> : tensor<ui8>
    %30 = stablehlo.constant dense<255> : tensor<ui8>
    %31 = stablehlo.constant dense<1> : tensor<2x3xui8>
    %32 = stablehlo.constant dense<"0x0100FF"> : tensor<3x1xui8>
    %33 = stablehlo.constant dense<1> : tensor<ui16>
    %34 = stablehlo.constant dense<0> : tensor<ui16>
    %35 = stablehlo.constant dense<65535> : tensor<ui16>
    %36 = stablehlo.constant dense<1> : tensor<2x3xui16>
    %37 = stablehlo.constant dense<"0x01000000FFFF"> : tensor<3x1xui16>
    %38 = stablehlo.constant dense<1> : tensor<ui32>
    %39 = stablehlo.constant dense<0> : tensor<ui32>
    %40 = stablehlo.constant dense<4294967295> : tensor<ui32>
    %41 = stablehlo.constant dense<1> : tensor<2x3xui32>
    %42 = stablehlo.constant dense<"0x0100000000000000FFFFFFFF"> : tensor<3x1xui32>
    %43 = stablehlo.constant dense<true> : tensor<i1>
    %44 = stablehlo.constant dense<false> : tensor<i1>
    %45 = stablehlo.constant dense<true> : tensor<2x3xi1>
    %46 = stablehlo.constant dense<"0x0100"> : tensor<2x1xui8>
    %47 = stablehlo.convert %46 : (tensor<2x1xui8>) -> tensor<2x1xi1>
    return %0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %47 : tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<2x3xf32>, tensor<7x1xf32>, tensor<f64>, tensor<f64>, tensor<f64>, tensor<f64>, tensor<f64>, tensor<f64>, tensor<f64>, tensor<2x3xf64>, tensor<7x1xf64>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<2x3xi32>, tensor<3x1xi32>, tensor<i64>, tensor<i64>, tensor<i64>, tensor<2x3xi64>, tensor<3x1xi64>, tensor<ui8>, tensor<ui8>, tensor<ui8>, tensor<2x3xui8>, tensor<3x1xui8>, tensor<ui16>, tensor<ui16>, tensor<ui16>, tensor<2x3xui16>, tensor<3x1xui16>, tensor<ui32>, tensor<ui32>, tensor<ui32>, tensor<2x3xui32>, tensor<3x1xui32>, tensor<i1>, tensor<i1>, tensor<2x3xi1>, tensor<2x1xi1>
  }
}
