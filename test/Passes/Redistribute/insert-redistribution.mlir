// Operands become what their rules want. The tensor axis cannot split both rows
// and hidden dimension of one linear, so the sequence is gathered before it;
// the partial sum behind the second linear is scattered along the sequence.
// RUN: galv-opt %s --galv-insert-redistribution | FileCheck %s

// CHECK-DAG: #[[S:p[0-9]*]] = #galv.placement<#mesh, [{m, a}, {b}, {}]>
// CHECK-DAG: #[[F:p[0-9]*]] = #galv.placement<#mesh, [{m, a}, {}, {}]>
// CHECK-DAG: #[[C:p[0-9]*]] = #galv.placement<#mesh, [{m, a}, {}, {b}]>
// CHECK-DAG: #[[P:p[0-9]*]] = #galv.placement<#mesh, [{m, a}, {}, {}], partial = {b}>
// CHECK-DAG: #[[UP:p[0-9]*]] = #galv.placement<#mesh, [{b}, {}]>
// CHECK-DAG: #[[DOWN:p[0-9]*]] = #galv.placement<#mesh, [{}, {b}]>
// CHECK-DAG: #[[ROWS:p[0-9]*]] = #galv.placement<#mesh, [{m, a}, {}]>
// CHECK-DAG: #[[TABLE:p[0-9]*]] = #galv.placement<#mesh, [{b : pad}, {}]>

// From here on every operation's verifier checks its rule.
// CHECK: module attributes {galv.placed}

// Tokens are read where they are used, as the look-up wants them: not moved.
// CHECK: func.func private @embedding(
// CHECK-NEXT: %[[IDS:.*]] = galv.input {module = "table", name = "tokens"} : () -> tensor<8x64xi64, #[[ROWS]]>
// CHECK-NEXT: %[[E:.*]] = galv.embedding %[[IDS]], {{.*}} : (tensor<8x64xi64, #[[ROWS]]>, tensor<257x128xf32, #[[TABLE]]>) -> tensor<8x64x128xf32, #[[P]]>
// CHECK-NEXT: galv.redistribute %[[E]] {{.*}} : tensor<8x64x128xf32, #[[P]]> -> tensor<8x64x128xf32, #[[S]]>
// CHECK-NEXT: return

// CHECK: func.func private @layer(%[[X:.*]]: tensor<8x64x128xf32, #[[S]]>,
// CHECK: %[[N:.*]], %{{.*}}, %{{.*}} = galv.layer_norm
// CHECK-NEXT: %[[NF:.*]] = galv.redistribute %[[N]] {module = "h.{layer}.ln"} : tensor<8x64x128xf32, #[[S]]> -> tensor<8x64x128xf32, #[[F]]>
// CHECK-NEXT: %[[U:.*]] = galv.linear %[[NF]], {{.*}} : (tensor<8x64x128xf32, #[[F]]>, tensor<512x128xf32, #[[UP]]>) -> tensor<8x64x512xf32, #[[C]]>
// CHECK-NEXT: %[[H:.*]] = galv.gelu %[[U]]
// CHECK-NEXT: %[[D:.*]] = galv.linear %[[H]], {{.*}} : (tensor<8x64x512xf32, #[[C]]>, tensor<128x512xf32, #[[DOWN]]>) -> tensor<8x64x128xf32, #[[P]]>
// CHECK-NEXT: %[[DS:.*]] = galv.redistribute %[[D]] {module = "h.{layer}.down"} : tensor<8x64x128xf32, #[[P]]> -> tensor<8x64x128xf32, #[[S]]>
// CHECK-NEXT: galv.add %[[X]], %[[DS]] {{.*}} : (tensor<8x64x128xf32, #[[S]]>, tensor<8x64x128xf32, #[[S]]>) -> tensor<8x64x128xf32, #[[S]]>
// CHECK-NEXT: return

// CHECK: func.func private @head(%[[Y:.*]]: tensor<8x64x128xf32, #[[S]]>,
// CHECK-NEXT: %[[YF:.*]] = galv.redistribute %[[Y]] : tensor<8x64x128xf32, #[[S]]> -> tensor<8x64x128xf32, #[[F]]>
// CHECK-NEXT: galv.linear %[[YF]],
// CHECK-NEXT: galv.input {module = "loss", name = "labels"} : () -> tensor<8x64xi64, #[[ROWS]]>
// CHECK-NEXT: galv.cross_entropy
// CHECK-NEXT: return

#mesh = #galv.mesh<[a = 2, b = 2], time = [m = 2]>
#sum_a = #galv.placement<#mesh, [], partial = {a}>
#table = #galv.placement<#mesh, [{b : pad}, {}]>
#S = #galv.placement<#mesh, [{m, a}, {b}, {}]>
#vector = #galv.placement<#mesh, [{}]>
#up = #galv.placement<#mesh, [{b}, {}]>
#down = #galv.placement<#mesh, [{}, {b}]>
#sum_am = #galv.placement<#mesh, [], partial = {a, m}>
#rows_ab = #galv.placement<#mesh, [{m, a}, {b}]>
#P = #galv.placement<#mesh, [{m, a}, {}, {}], partial = {b}>
#C = #galv.placement<#mesh, [{m, a}, {}, {b}]>
#logits = #galv.placement<#mesh, [{m, a}, {}, {b : pad}]>
#rows_a = #galv.placement<#mesh, [{m, a}, {}]>
module {
  galv.parameter @table : tensor<257x128xf32> {checkpoint = #galv.checkpoint<"table", [257, 128], [0, 0], transposed = false>, dimensions = ["vocabulary", "embed"], initializer = #galv.initializer<"normal", 2.000000e-02 : f64>}
  galv.parameter @h.0.ln.weight : tensor<128xf32> {checkpoint = #galv.checkpoint<"h.0.ln.weight", [128], [0], transposed = false>, dimensions = ["embed"], initializer = #galv.initializer<"ones", 0.000000e+00 : f64>}
  galv.parameter @h.0.ln.bias : tensor<128xf32> {checkpoint = #galv.checkpoint<"h.0.ln.bias", [128], [0], transposed = false>, dimensions = ["embed"], initializer = #galv.initializer<"zeros", 0.000000e+00 : f64>}
  galv.parameter @h.0.up : tensor<512x128xf32> {checkpoint = #galv.checkpoint<"h.0.up", [512, 128], [0, 0], transposed = false>, dimensions = ["hidden", "embed"], initializer = #galv.initializer<"normal", 2.000000e-02 : f64>}
  galv.parameter @h.0.down : tensor<128x512xf32> {checkpoint = #galv.checkpoint<"h.0.down", [128, 512], [0, 0], transposed = false>, dimensions = ["embed", "hidden"], initializer = #galv.initializer<"normal", 2.000000e-02 : f64>}
  galv.model @feed_forward attributes {batch = 8 : i64, blocks = [#galv.strategy<stage = 0, data = [0], tensor = [1], sequence = true, zero = 3, recompute = false>, #galv.strategy<stage = 0, data = [0], tensor = [1], sequence = true, zero = 3, recompute = false>, #galv.strategy<stage = 0, data = [0], tensor = [1], sequence = true, zero = 3, recompute = false>], configuration = "{}", layer_prefix = "h", layers = 1 : i64, mesh = #mesh, microbatches = 2 : i64, schedule = "1f1b", sequence = 64 : i64, stages = 1 : i64, vocabulary = 257 : i64} {
    %0 = galv.microbatches -> tensor<f32, #sum_a> {
      %1 = galv.use @table {module = "table"} : tensor<257x128xf32, #table>
      %2 = galv.call @embedding(%1) {block = 0 : i64} : (tensor<257x128xf32, #table>) -> tensor<8x64x128xf32, #S>
      %3 = galv.use @h.0.ln.weight {module = "h.0.ln"} : tensor<128xf32, #vector>
      %4 = galv.use @h.0.ln.bias {module = "h.0.ln"} : tensor<128xf32, #vector>
      %5 = galv.use @h.0.up {module = "h.0.up"} : tensor<512x128xf32, #up>
      %6 = galv.use @h.0.down {module = "h.0.down"} : tensor<128x512xf32, #down>
      %7 = galv.call @layer(%2, %3, %4, %5, %6) {block = 1 : i64, layer = 0 : i64} : (tensor<8x64x128xf32, #S>, tensor<128xf32, #vector>, tensor<128xf32, #vector>, tensor<512x128xf32, #up>, tensor<128x512xf32, #down>) -> tensor<8x64x128xf32, #S>
      %8 = galv.use @table {module = "head"} : tensor<257x128xf32, #table>
      %9 = galv.call @head(%7, %8) {block = 2 : i64} : (tensor<8x64x128xf32, #S>, tensor<257x128xf32, #table>) -> tensor<f32, #sum_am>
      galv.accumulate %9 : tensor<f32, #sum_am>
    }
    galv.yield %0 : tensor<f32, #sum_a>
  }
  func.func private @embedding(%arg0: tensor<257x128xf32, #table> {galv.parameter = "table"}) -> tensor<8x64x128xf32, #S> {
    %0 = galv.input {module = "table", name = "tokens"} : () -> tensor<8x64xi64, #rows_ab>
    %1 = galv.embedding %0, %arg0 {module = "table"} : (tensor<8x64xi64, #rows_ab>, tensor<257x128xf32, #table>) -> tensor<8x64x128xf32, #P>
    %2 = galv.redistribute %1 {module = "table"} : tensor<8x64x128xf32, #P> -> tensor<8x64x128xf32, #S>
    return %2 : tensor<8x64x128xf32, #S>
  }
  func.func private @layer(%arg0: tensor<8x64x128xf32, #S>, %arg1: tensor<128xf32, #vector> {galv.parameter = "h.{layer}.ln.weight"}, %arg2: tensor<128xf32, #vector> {galv.parameter = "h.{layer}.ln.bias"}, %arg3: tensor<512x128xf32, #up> {galv.parameter = "h.{layer}.up"}, %arg4: tensor<128x512xf32, #down> {galv.parameter = "h.{layer}.down"}) -> tensor<8x64x128xf32, #S> {
    %result, %mean, %rstd = galv.layer_norm %arg0, %arg1, %arg2 {epsilon = 1.000000e-05 : f64, module = "h.{layer}.ln"} : (tensor<8x64x128xf32, #S>, tensor<128xf32, #vector>, tensor<128xf32, #vector>) -> (tensor<8x64x128xf32, #S>, tensor<8x64xf32, #rows_ab>, tensor<8x64xf32, #rows_ab>)
    %0 = galv.linear %result, %arg3 {module = "h.{layer}.up"} : (tensor<8x64x128xf32, #S>, tensor<512x128xf32, #up>) -> tensor<8x64x512xf32, #C>
    %1 = galv.gelu %0 {module = "h.{layer}.act"} : (tensor<8x64x512xf32, #C>) -> tensor<8x64x512xf32, #C>
    %2 = galv.linear %1, %arg4 {module = "h.{layer}.down"} : (tensor<8x64x512xf32, #C>, tensor<128x512xf32, #down>) -> tensor<8x64x128xf32, #P>
    %3 = galv.add %arg0, %2 {module = "h.{layer}.residual"} : (tensor<8x64x128xf32, #S>, tensor<8x64x128xf32, #P>) -> tensor<8x64x128xf32, #S>
    return %3 : tensor<8x64x128xf32, #S>
  }
  func.func private @head(%arg0: tensor<8x64x128xf32, #S>, %arg1: tensor<257x128xf32, #table> {galv.parameter = "table"}) -> tensor<f32, #sum_am> {
    %0 = galv.linear %arg0, %arg1 {module = "head"} : (tensor<8x64x128xf32, #S>, tensor<257x128xf32, #table>) -> tensor<8x64x257xf32, #logits>
    %1 = galv.input {module = "loss", name = "labels"} : () -> tensor<8x64xi64, #rows_ab>
    %loss, %log_sum_exp = galv.cross_entropy %0, %1 {module = "loss"} : (tensor<8x64x257xf32, #logits>, tensor<8x64xi64, #rows_ab>) -> (tensor<f32, #sum_am>, tensor<8x64xf32, #rows_a>)
    return %loss : tensor<f32, #sum_am>
  }
}
