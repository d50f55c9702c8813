// Each block becomes a function, and the microbatch's body a list of calls.
// RUN: galv-opt %s --galv-sequential-partition | FileCheck %s

// CHECK-DAG: #[[S:p[0-9]*]] = #galv.placement<#mesh, [{m, a}, {b}, {}]>
// CHECK-DAG: #[[P:p[0-9]*]] = #galv.placement<#mesh, [{m, a}, {}, {}], partial = {b}>
// CHECK-DAG: #[[LOSS:p[0-9]*]] = #galv.placement<#mesh, [], partial = {a, m}>

// Between the calls stand uses only.
// CHECK: galv.microbatches
// CHECK-NEXT: %[[T0:.*]] = galv.use @table
// CHECK-NEXT: %[[X:.*]] = galv.call @embedding(%[[T0]]) {block = 0 : i64} : {{.*}} -> tensor<8x64x128xf32, #[[S]]>
// CHECK-NEXT: %[[G:.*]] = galv.use @h.0.ln.weight
// CHECK-NEXT: %[[B:.*]] = galv.use @h.0.ln.bias
// CHECK-NEXT: %[[UP:.*]] = galv.use @h.0.up
// CHECK-NEXT: %[[DOWN:.*]] = galv.use @h.0.down
// CHECK-NEXT: %[[Y:.*]] = galv.call @layer(%[[X]], %[[G]], %[[B]], %[[UP]], %[[DOWN]]) {block = 1 : i64, layer = 0 : i64} : {{.*}} -> tensor<8x64x128xf32, #[[S]]>
// CHECK-NEXT: %[[T1:.*]] = galv.use @table
// CHECK-NEXT: %[[L:.*]] = galv.call @head(%[[Y]], %[[T1]]) {block = 2 : i64} : {{.*}} -> tensor<f32, #[[LOSS]]>
// CHECK-NEXT: galv.accumulate %[[L]]

// Tokens and labels are read inside; arguments are activations, then uses by
// their names; what leaves is in the boundary's placement.
// CHECK: func.func private @embedding(%{{.*}}: tensor<257x128xf32, #{{.*}}> {galv.parameter = "table"}) -> tensor<8x64x128xf32, #[[S]]> {
// CHECK-NEXT: galv.input {module = "table", name = "tokens"}
// CHECK: func.func private @layer(%[[X:.*]]: tensor<8x64x128xf32, #[[S]]>,
// CHECK-SAME: {galv.parameter = "h.{layer}.ln.weight"}
// CHECK-SAME: {galv.parameter = "h.{layer}.ln.bias"}
// CHECK-SAME: {galv.parameter = "h.{layer}.up"}
// CHECK-SAME: {galv.parameter = "h.{layer}.down"}) -> tensor<8x64x128xf32, #[[S]]> {
// CHECK: galv.linear {{.*}} {module = "h.{layer}.down"} : {{.*}} -> tensor<8x64x128xf32, #[[P]]>
// CHECK: galv.add %[[X]], {{.*}} {module = "h.{layer}.residual"}
// CHECK: func.func private @head(
// CHECK: galv.input {module = "loss", name = "labels"}

#mesh = #galv.mesh<[a = 2, b = 2], time = [m = 2]>
#sum_a = #galv.placement<#mesh, [], partial = {a}>
#rows_ab = #galv.placement<#mesh, [{m, a}, {b}]>
#table = #galv.placement<#mesh, [{b : pad}, {}]>
#P = #galv.placement<#mesh, [{m, a}, {}, {}], partial = {b}>
#S = #galv.placement<#mesh, [{m, a}, {b}, {}]>
#vector = #galv.placement<#mesh, [{}]>
#up = #galv.placement<#mesh, [{b}, {}]>
#C = #galv.placement<#mesh, [{m, a}, {}, {b}]>
#down = #galv.placement<#mesh, [{}, {b}]>
#logits = #galv.placement<#mesh, [{m, a}, {}, {b : pad}]>
#sum_am = #galv.placement<#mesh, [], partial = {a, m}>
#rows_a = #galv.placement<#mesh, [{m, a}, {}]>
module {
  galv.parameter @table : tensor<257x128xf32> {checkpoint = #galv.checkpoint<"table", [257, 128], [0, 0], transposed = false>, dimensions = ["vocabulary", "embed"], initializer = #galv.initializer<"normal", 2.000000e-02 : f64>}
  galv.parameter @h.0.ln.weight : tensor<128xf32> {checkpoint = #galv.checkpoint<"h.0.ln.weight", [128], [0], transposed = false>, dimensions = ["embed"], initializer = #galv.initializer<"ones", 0.000000e+00 : f64>}
  galv.parameter @h.0.ln.bias : tensor<128xf32> {checkpoint = #galv.checkpoint<"h.0.ln.bias", [128], [0], transposed = false>, dimensions = ["embed"], initializer = #galv.initializer<"zeros", 0.000000e+00 : f64>}
  galv.parameter @h.0.up : tensor<512x128xf32> {checkpoint = #galv.checkpoint<"h.0.up", [512, 128], [0, 0], transposed = false>, dimensions = ["hidden", "embed"], initializer = #galv.initializer<"normal", 2.000000e-02 : f64>}
  galv.parameter @h.0.down : tensor<128x512xf32> {checkpoint = #galv.checkpoint<"h.0.down", [128, 512], [0, 0], transposed = false>, dimensions = ["embed", "hidden"], initializer = #galv.initializer<"normal", 2.000000e-02 : f64>}
  galv.model @feed_forward attributes {batch = 8 : i64, blocks = [#galv.strategy<stage = 0, data = [0], tensor = [1], sequence = true, zero = 3, recompute = false>, #galv.strategy<stage = 0, data = [0], tensor = [1], sequence = true, zero = 3, recompute = false>, #galv.strategy<stage = 0, data = [0], tensor = [1], sequence = true, zero = 3, recompute = false>], configuration = "{}", layer_prefix = "h", layers = 1 : i64, mesh = #mesh, microbatches = 2 : i64, schedule = "1f1b", sequence = 64 : i64, stages = 1 : i64, vocabulary = 257 : i64} {
    %0 = galv.microbatches -> tensor<f32, #sum_a> {
      %1 = galv.input {block = 0 : i64, module = "table", name = "tokens"} : () -> tensor<8x64xi64, #rows_ab>
      %2 = galv.use @table {module = "table"} : tensor<257x128xf32, #table>
      %3 = galv.embedding %1, %2 {block = 0 : i64, module = "table"} : (tensor<8x64xi64, #rows_ab>, tensor<257x128xf32, #table>) -> tensor<8x64x128xf32, #P>
      %4 = galv.redistribute %3 {block = 0 : i64, module = "table"} : tensor<8x64x128xf32, #P> -> tensor<8x64x128xf32, #S>
      %5 = galv.use @h.0.ln.weight {module = "h.0.ln"} : tensor<128xf32, #vector>
      %6 = galv.use @h.0.ln.bias {module = "h.0.ln"} : tensor<128xf32, #vector>
      %result, %mean, %rstd = galv.layer_norm %4, %5, %6 {block = 1 : i64, epsilon = 1.000000e-05 : f64, module = "h.0.ln"} : (tensor<8x64x128xf32, #S>, tensor<128xf32, #vector>, tensor<128xf32, #vector>) -> (tensor<8x64x128xf32, #S>, tensor<8x64xf32, #rows_ab>, tensor<8x64xf32, #rows_ab>)
      %7 = galv.use @h.0.up {module = "h.0.up"} : tensor<512x128xf32, #up>
      %8 = galv.linear %result, %7 {block = 1 : i64, module = "h.0.up"} : (tensor<8x64x128xf32, #S>, tensor<512x128xf32, #up>) -> tensor<8x64x512xf32, #C>
      %9 = galv.gelu %8 {block = 1 : i64, module = "h.0.act"} : (tensor<8x64x512xf32, #C>) -> tensor<8x64x512xf32, #C>
      %10 = galv.use @h.0.down {module = "h.0.down"} : tensor<128x512xf32, #down>
      %11 = galv.linear %9, %10 {block = 1 : i64, module = "h.0.down"} : (tensor<8x64x512xf32, #C>, tensor<128x512xf32, #down>) -> tensor<8x64x128xf32, #P>
      %12 = galv.add %4, %11 {block = 1 : i64, module = "h.0.residual"} : (tensor<8x64x128xf32, #S>, tensor<8x64x128xf32, #P>) -> tensor<8x64x128xf32, #S>
      %13 = galv.use @table {module = "head"} : tensor<257x128xf32, #table>
      %14 = galv.linear %12, %13 {block = 2 : i64, module = "head"} : (tensor<8x64x128xf32, #S>, tensor<257x128xf32, #table>) -> tensor<8x64x257xf32, #logits>
      %15 = galv.input {block = 2 : i64, module = "loss", name = "labels"} : () -> tensor<8x64xi64, #rows_ab>
      %loss, %log_sum_exp = galv.cross_entropy %14, %15 {block = 2 : i64, module = "loss"} : (tensor<8x64x257xf32, #logits>, tensor<8x64xi64, #rows_ab>) -> (tensor<f32, #sum_am>, tensor<8x64xf32, #rows_a>)
      galv.accumulate %loss : tensor<f32, #sum_am>
    }
    galv.yield %0 : tensor<f32, #sum_a>
  }
}
