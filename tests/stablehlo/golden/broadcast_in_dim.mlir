module @broadcast_in_dim__scalar {
  func.func public @main(%arg0: tensor<f32>) -> (tensor<3x5xf32>) {
    %0 = stablehlo.broadcast_in_dim %arg0, dims = [] : (tensor<f32>) -> tensor<3x5xf32>
    return %0 : tensor<3x5xf32>
  }
}
