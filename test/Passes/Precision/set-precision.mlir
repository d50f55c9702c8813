// The run's element type replaces the imported one, in values and parameters.
// RUN: galv-opt %s --galv-set-precision=precision=fp64 -o %t.fp64.mlir
// RUN: FileCheck %s --input-file=%t.fp64.mlir --implicit-check-not=f32
// RUN: galv-opt %s -o %t.mlir
// RUN: galv-opt %s --galv-set-precision | diff %t.mlir -
// RUN: galv-opt %t.fp64.mlir --galv-set-precision=precision=fp32 | diff %t.mlir -
// RUN: not galv-opt %s --galv-set-precision=precision=fp8 -o %t.none 2>&1 | FileCheck %s --check-prefix=WRONG
// RUN: not test -e %t.none

// CHECK: galv.parameter @table : tensor<257x128xf64>
// CHECK: galv.input {{.*}} -> tensor<8x64xi64>
// CHECK: galv.use @table {{.*}} : tensor<257x128xf64>
// CHECK: galv.embedding {{.*}} : (tensor<8x64xi64>, tensor<257x128xf64>) -> tensor<8x64x128xf64>
// The constants of an operation are not of the run's type.
// CHECK: galv.layer_norm {{.*}}epsilon = 1.000000e-05 : f64
// CHECK: galv.cross_entropy {{.*}} -> (tensor<f64>, tensor<8x64xf64>)
// CHECK: galv.yield %{{.*}} : tensor<f64>

// WRONG: error: precision 'fp8' is not fp32 or fp64

galv.parameter @table : tensor<257x128xf32> {dimensions = ["vocabulary", "embed"], checkpoint = #galv.checkpoint<"table", [257, 128], [0, 0], transposed = false>, initializer = #galv.initializer<"normal", 2.000000e-02 : f64>}
galv.parameter @h.0.ln.weight : tensor<128xf32> {dimensions = ["embed"], checkpoint = #galv.checkpoint<"h.0.ln.weight", [128], [0], transposed = false>, initializer = #galv.initializer<"ones", 0.000000e+00 : f64>}
galv.parameter @h.0.ln.bias : tensor<128xf32> {dimensions = ["embed"], checkpoint = #galv.checkpoint<"h.0.ln.bias", [128], [0], transposed = false>, initializer = #galv.initializer<"zeros", 0.000000e+00 : f64>}
galv.parameter @h.0.up : tensor<512x128xf32> {dimensions = ["hidden", "embed"], checkpoint = #galv.checkpoint<"h.0.up", [512, 128], [0, 0], transposed = false>, initializer = #galv.initializer<"normal", 2.000000e-02 : f64>}
galv.parameter @h.0.down : tensor<128x512xf32> {dimensions = ["embed", "hidden"], checkpoint = #galv.checkpoint<"h.0.down", [128, 512], [0, 0], transposed = false>, initializer = #galv.initializer<"normal", 2.000000e-02 : f64>}
galv.model @feed_forward attributes {batch = 8, sequence = 64, vocabulary = 257, layers = 1, layer_prefix = "h", configuration = "{}"} {
  %tokens = galv.input {name = "tokens", module = "table"} : () -> tensor<8x64xi64>
  %table = galv.use @table {module = "table"} : tensor<257x128xf32>
  %x = galv.embedding %tokens, %table {module = "table"} : (tensor<8x64xi64>, tensor<257x128xf32>) -> tensor<8x64x128xf32>
  %g = galv.use @h.0.ln.weight {module = "h.0.ln"} : tensor<128xf32>
  %b = galv.use @h.0.ln.bias {module = "h.0.ln"} : tensor<128xf32>
  %n, %mean, %rstd = galv.layer_norm %x, %g, %b {epsilon = 1.0e-05 : f64, module = "h.0.ln"} : (tensor<8x64x128xf32>, tensor<128xf32>, tensor<128xf32>) -> (tensor<8x64x128xf32>, tensor<8x64xf32>, tensor<8x64xf32>)
  %up = galv.use @h.0.up {module = "h.0.up"} : tensor<512x128xf32>
  %u = galv.linear %n, %up {module = "h.0.up"} : (tensor<8x64x128xf32>, tensor<512x128xf32>) -> tensor<8x64x512xf32>
  %h = galv.gelu %u {module = "h.0.act"} : (tensor<8x64x512xf32>) -> tensor<8x64x512xf32>
  %down = galv.use @h.0.down {module = "h.0.down"} : tensor<128x512xf32>
  %d = galv.linear %h, %down {module = "h.0.down"} : (tensor<8x64x512xf32>, tensor<128x512xf32>) -> tensor<8x64x128xf32>
  %y = galv.add %x, %d {module = "h.0.residual"} : (tensor<8x64x128xf32>, tensor<8x64x128xf32>) -> tensor<8x64x128xf32>
  %head = galv.use @table {module = "head"} : tensor<257x128xf32>
  %logits = galv.linear %y, %head {module = "head"} : (tensor<8x64x128xf32>, tensor<257x128xf32>) -> tensor<8x64x257xf32>
  %labels = galv.input {name = "labels", module = "loss"} : () -> tensor<8x64xi64>
  %loss, %sum = galv.cross_entropy %logits, %labels {module = "loss"} : (tensor<8x64x257xf32>, tensor<8x64xi64>) -> (tensor<f32>, tensor<8x64xf32>)
  galv.yield %loss : tensor<f32>
}
