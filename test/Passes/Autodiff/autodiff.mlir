// The backward of the design's layer: placements follow from the primal's, and
// what is partial is in the types of the gradients.
// RUN: galv-opt %s --galv-autodiff -o %t.mlir
// RUN: FileCheck %s --input-file=%t.mlir
// RUN: FileCheck %s --check-prefix=STEP --input-file=%t.mlir
// RUN: FileCheck %s --check-prefix=HEAD --input-file=%t.mlir

// CHECK-DAG: #[[S:p[0-9]*]] = #galv.placement<#mesh, [{m, a}, {b}, {}]>
// CHECK-DAG: #[[F:p[0-9]*]] = #galv.placement<#mesh, [{m, a}, {}, {}]>
// CHECK-DAG: #[[C:p[0-9]*]] = #galv.placement<#mesh, [{m, a}, {}, {b}]>
// CHECK-DAG: #[[P:p[0-9]*]] = #galv.placement<#mesh, [{m, a}, {}, {}], partial = {b}>
// CHECK-DAG: #[[DUP:p[0-9]*]] = #galv.placement<#mesh, [{b}, {}], partial = {a, m}>
// CHECK-DAG: #[[DDOWN:p[0-9]*]] = #galv.placement<#mesh, [{}, {b}], partial = {a, m}>
// A norm's rows are split over `b` too.
// CHECK-DAG: #[[DG:p[0-9]*]] = #galv.placement<#mesh, [{}], partial = {a, b, m}>
// CHECK-DAG: #[[ROWS:p[0-9]*]] = #galv.placement<#mesh, [{m, a}, {b}]>

// The backward gets the cotangent, what is kept, and the uses: of the norm's
// result the split value is kept, not the gathered copy, and no use.
// CHECK: func.func private @layer_backward(%[[DY:[a-z0-9]*]]: tensor<8x64x128xf32, #[[S]]>,
// CHECK-SAME: %[[H:[a-z0-9]*]]: tensor<8x64x512xf32, #[[C]]>, %[[U:[a-z0-9]*]]: tensor<8x64x512xf32, #[[C]]>,
// CHECK-SAME: %[[N:[a-z0-9]*]]: tensor<8x64x128xf32, #[[S]]>, %[[X:[a-z0-9]*]]: tensor<8x64x128xf32, #[[S]]>,
// CHECK-SAME: %[[MEAN:[a-z0-9]*]]: tensor<8x64xf32, #[[ROWS]]>, %[[RSTD:[a-z0-9]*]]: tensor<8x64xf32, #[[ROWS]]>,
// CHECK-SAME: {galv.parameter = "h.{layer}.ln.weight"}
// CHECK-SAME: {galv.parameter = "h.{layer}.down"})
// CHECK-SAME: -> (tensor<8x64x128xf32, #[[S]]>, tensor<128xf32, #[[DG]]>, tensor<128xf32, #[[DG]]>, tensor<512x128xf32, #[[DUP]]>, tensor<128x512xf32, #[[DDOWN]]>) {
// CHECK-NEXT: %[[DD:.*]] = galv.redistribute %[[DY]] : tensor<8x64x128xf32, #[[S]]> -> tensor<8x64x128xf32, #[[F]]>
// CHECK-NEXT: %[[DH:.*]] = galv.linear_input_gradient %[[DD]], {{.*}} -> tensor<8x64x512xf32, #[[C]]>
// CHECK-NEXT: %[[GDOWN:.*]] = galv.linear_weight_gradient %[[DD]], %[[H]] {{.*}} -> tensor<128x512xf32, #[[DDOWN]]>
// CHECK-NEXT: %[[DU:.*]] = galv.gelu_gradient %[[DH]], %[[U]] {{.*}} -> tensor<8x64x512xf32, #[[C]]>
// CHECK-NEXT: %[[DNP:.*]] = galv.linear_input_gradient %[[DU]], {{.*}} -> tensor<8x64x128xf32, #[[P]]>
// The gather is done again.
// CHECK-NEXT: %[[NF:.*]] = galv.redistribute %[[N]] {{.*}} : tensor<8x64x128xf32, #[[S]]> -> tensor<8x64x128xf32, #[[F]]>
// CHECK-NEXT: %[[GUP:.*]] = galv.linear_weight_gradient %[[DU]], %[[NF]] {{.*}} -> tensor<512x128xf32, #[[DUP]]>
// CHECK-NEXT: %[[DN:.*]] = galv.redistribute %[[DNP]] {{.*}} : tensor<8x64x128xf32, #[[P]]> -> tensor<8x64x128xf32, #[[S]]>
// CHECK-NEXT: %[[DX:.*]] = galv.layer_norm_input_gradient %[[DN]], %[[X]], %{{.*}}, %[[MEAN]], %[[RSTD]] {{.*}} -> tensor<8x64x128xf32, #[[S]]>
// CHECK-NEXT: %[[GG:.*]] = galv.layer_norm_weight_gradient %[[DN]], %[[X]], %[[MEAN]], %[[RSTD]] {{.*}} -> tensor<128xf32, #[[DG]]>
// CHECK-NEXT: %[[GB:.*]] = galv.sum_leading %[[DN]] {{.*}} -> tensor<128xf32, #[[DG]]>
// The residual.
// CHECK-NEXT: %[[SUM:.*]] = galv.add %[[DY]], %[[DX]]
// CHECK-NEXT: return %[[SUM]], %[[GG]], %[[GB]], %[[GUP]], %[[GDOWN]]

// The forward gives what is kept besides its result.
// CHECK: func.func private @layer_forward(
// CHECK: %[[N:.*]], %[[MEAN:.*]], %[[RSTD:.*]] = galv.layer_norm
// CHECK: %[[U:.*]] = galv.linear
// CHECK: %[[H:.*]] = galv.gelu %[[U]]
// CHECK: %[[Y:.*]] = galv.add
// CHECK-NEXT: return %[[Y]], %[[H]], %[[U]], %[[N]], %[[MEAN]], %[[RSTD]]

// The step. In `begin` the labels are read without microbatches and counted
// over all data ranks; the seed is one over their number.
// STEP-DAG: #[[WHOLE:p[0-9]*]] = #galv.placement<#mesh, []>
// STEP-DAG: #[[A:p[0-9]*]] = #galv.placement<#mesh, [], partial = {a}>
// STEP-DAG: #[[AB:p[0-9]*]] = #galv.placement<#mesh, [], partial = {a, b}>
// STEP-DAG: #[[LABELS:p[0-9]*]] = #galv.placement<#mesh, [{a}, {}]>
// STEP-DAG: #[[UP:p[0-9]*]] = #galv.placement<#mesh, [{b}, {}]>
// STEP-DAG: #[[DUP:p[0-9]*]] = #galv.placement<#mesh, [{b}, {}], partial = {a, m}>
// STEP-DAG: #[[DUPM:p[0-9]*]] = #galv.placement<#mesh, [{b}, {}], flat = {a}, partial = {m}>
// STEP-DAG: #[[UPREST:p[0-9]*]] = #galv.placement<#mesh, [{b}, {}], flat = {a}>
// STEP-DAG: #[[DG:p[0-9]*]] = #galv.placement<#mesh, [{}], partial = {a, b, m}>
// STEP-DAG: #[[DGM:p[0-9]*]] = #galv.placement<#mesh, [{}], flat = {a}, partial = {b, m}>
// STEP-DAG: #[[DGB:p[0-9]*]] = #galv.placement<#mesh, [{}], flat = {a}, partial = {b}>
// STEP-DAG: #[[GREST:p[0-9]*]] = #galv.placement<#mesh, [{}], flat = {a}>
// STEP: galv.step
// STEP: %[[SEED:.*]] = galv.phase "begin" on @stage0() -> !galv.on<@stage0, tensor<f32, #[[WHOLE]]>> {
// STEP-NEXT: %[[IDS:.*]] = galv.input {{.*}}name = "labels"} : () -> tensor<8x64xi64, #[[LABELS]]>
// STEP-NEXT: %[[PART:.*]] = galv.count_valid %[[IDS]] {{.*}} -> tensor<f32, #[[A]]>
// STEP-NEXT: %[[COUNT:.*]] = galv.redistribute %[[PART]] {{.*}} -> tensor<f32, #[[WHOLE]]>
// STEP-NEXT: galv.reciprocal %[[COUNT]]
// With ZeRO-3 parameters are gathered in each forward and again in each backward.
// STEP: galv.microbatches
// STEP: galv.phase "forward" on @stage0()
// STEP: galv.materialize @table {action = "materialize", block = 0 : i64}
// STEP: galv.materialize @h.0.up {{.*}} : tensor<512x128xf32, #[[UP]]>
// STEP: galv.call @layer_forward(
// STEP: galv.phase "backward" on @stage0(%[[SEEDIN:.*]] = %[[SEED]] :
// STEP: galv.call @head_backward(%[[SEEDIN]],
// STEP: galv.materialize @h.0.up {{.*}} : tensor<512x128xf32, #[[UP]]>
// STEP: galv.call @layer_backward(
// Gradients are reduced over the data axis in each microbatch, to rest's
// placement; the microbatch's axis stays, and the norm's tensor axis.
// STEP: galv.reduce {{.*}} : tensor<128xf32, #[[DG]]> -> tensor<128xf32, #[[DGM]]>
// STEP: galv.reduce {{.*}} : tensor<512x128xf32, #[[DUP]]> -> tensor<512x128xf32, #[[DUPM]]>
// The table is used twice; the sum is reduced once.
// STEP: galv.call @embedding_backward(
// STEP: %[[BOTH:.*]] = galv.add {{.*}} : (tensor<257x128xf32,
// STEP-NEXT: galv.reduce %[[BOTH]]
// Only the microbatch's axis is left; accumulation takes it.
// STEP: galv.accumulate
// STEP: galv.phase "finish" on @stage0(
// STEP-SAME: %[[GUP:[a-z0-9]*]] = %{{[0-9#]*}} : !galv.on<@stage0, tensor<512x128xf32, #[[UPREST]]>>
// STEP: %[[SUM:.*]] = galv.redistribute {{.*}} -> tensor<f32, #[[WHOLE]]>
// STEP-NEXT: %[[LOSS:.*]] = galv.scale %[[SUM]],
// STEP-NEXT: galv.report "loss", %[[LOSS]]
// STEP-NEXT: galv.reduce {{.*}} : tensor<128xf32, #[[DGB]]> -> tensor<128xf32, #[[GREST]]>
// Every element counts once in the norm: a vector that all of `b` hold, too.
// STEP: galv.sum_of_squares {{.*}} : (tensor<128xf32, #[[GREST]]>) -> tensor<f32, #[[A]]>
// STEP-NEXT: galv.redistribute {{.*}} : tensor<f32, #[[A]]> -> tensor<f32, #[[AB]]>
// STEP: galv.sum_of_squares %[[GUP]] {{.*}} -> tensor<f32, #[[AB]]>
// STEP: galv.redistribute {{.*}} : tensor<f32, #[[AB]]> -> tensor<f32, #[[WHOLE]]>
// STEP: %[[CLIP:.*]], %[[NORM:.*]] = galv.clip_coefficient
// STEP-NEXT: galv.report "gradient_norm", %[[NORM]]
// Matrices decay, vectors do not.
// STEP: galv.update @h.0.ln.weight, {{.*}} decay = false
// STEP: galv.update @h.0.up, %[[GUP]], %[[CLIP]] {{.*}} decay = true} : tensor<512x128xf32, #[[UPREST]]>

// The head: logits and log-sum-exp are kept, labels read again; the loss' seed
// is replicated.
// HEAD-DAG: #[[S:p[0-9]*]] = #galv.placement<#mesh, [{m, a}, {b}, {}]>
// HEAD-DAG: #[[F:p[0-9]*]] = #galv.placement<#mesh, [{m, a}, {}, {}]>
// HEAD-DAG: #[[P:p[0-9]*]] = #galv.placement<#mesh, [{m, a}, {}, {}], partial = {b}>
// HEAD-DAG: #[[L:p[0-9]*]] = #galv.placement<#mesh, [{m, a}, {}, {b : pad}]>
// HEAD-DAG: #[[WHOLE:p[0-9]*]] = #galv.placement<#mesh, []>
// HEAD-DAG: #[[DTABLE:p[0-9]*]] = #galv.placement<#mesh, [{b : pad}, {}], partial = {a, m}>
// HEAD: func.func private @head_backward(%[[SEED:[a-z0-9]*]]: tensor<f32, #[[WHOLE]]>, %[[LOGITS:[a-z0-9]*]]: tensor<8x64x257xf32, #[[L]]>,
// HEAD: galv.cross_entropy_gradient %[[SEED]], %[[LOGITS]], {{.*}} -> tensor<8x64x257xf32, #[[L]]>
// HEAD: galv.linear_input_gradient {{.*}} -> tensor<8x64x128xf32, #[[P]]>
// HEAD: galv.linear_weight_gradient {{.*}} -> tensor<257x128xf32, #[[DTABLE]]>
// HEAD: galv.redistribute {{.*}} : tensor<8x64x128xf32, #[[P]]> -> tensor<8x64x128xf32, #[[S]]>

#mesh = #galv.mesh<[a = 2, b = 2], time = [m = 2]>
#table_rest = #galv.placement<#mesh, [{b : pad}, {}], flat = {a}>
#vector_rest = #galv.placement<#mesh, [{}], flat = {a}>
#up_rest = #galv.placement<#mesh, [{b}, {}], flat = {a}>
#down_rest = #galv.placement<#mesh, [{}, {b}], flat = {a}>
#sum_a = #galv.placement<#mesh, [], partial = {a}>
#sum_am = #galv.placement<#mesh, [], partial = {a, m}>
#table = #galv.placement<#mesh, [{b : pad}, {}]>
#S = #galv.placement<#mesh, [{m, a}, {b}, {}]>
#vector = #galv.placement<#mesh, [{}]>
#up = #galv.placement<#mesh, [{b}, {}]>
#down = #galv.placement<#mesh, [{}, {b}]>
#rows_a = #galv.placement<#mesh, [{m, a}, {}]>
#P = #galv.placement<#mesh, [{m, a}, {}, {}], partial = {b}>
#rows_ab = #galv.placement<#mesh, [{m, a}, {b}]>
#F = #galv.placement<#mesh, [{m, a}, {}, {}]>
#C = #galv.placement<#mesh, [{m, a}, {}, {b}]>
#logits = #galv.placement<#mesh, [{m, a}, {}, {b : pad}]>
module attributes {galv.placed} {
  galv.parameter @table : tensor<257x128xf32> {checkpoint = #galv.checkpoint<"table", [257, 128], [0, 0], transposed = false>, dimensions = ["vocabulary", "embed"], home = @stage0, initializer = #galv.initializer<"normal", 2.000000e-02 : f64>, rest = tensor<257x128xf32, #table_rest>, zero = 3 : i64}
  galv.parameter @h.0.ln.weight : tensor<128xf32> {checkpoint = #galv.checkpoint<"h.0.ln.weight", [128], [0], transposed = false>, dimensions = ["embed"], home = @stage0, initializer = #galv.initializer<"ones", 0.000000e+00 : f64>, rest = tensor<128xf32, #vector_rest>, zero = 3 : i64}
  galv.parameter @h.0.ln.bias : tensor<128xf32> {checkpoint = #galv.checkpoint<"h.0.ln.bias", [128], [0], transposed = false>, dimensions = ["embed"], home = @stage0, initializer = #galv.initializer<"zeros", 0.000000e+00 : f64>, rest = tensor<128xf32, #vector_rest>, zero = 3 : i64}
  galv.parameter @h.0.up : tensor<512x128xf32> {checkpoint = #galv.checkpoint<"h.0.up", [512, 128], [0, 0], transposed = false>, dimensions = ["hidden", "embed"], home = @stage0, initializer = #galv.initializer<"normal", 2.000000e-02 : f64>, rest = tensor<512x128xf32, #up_rest>, zero = 3 : i64}
  galv.parameter @h.0.down : tensor<128x512xf32> {checkpoint = #galv.checkpoint<"h.0.down", [128, 512], [0, 0], transposed = false>, dimensions = ["embed", "hidden"], home = @stage0, initializer = #galv.initializer<"normal", 2.000000e-02 : f64>, rest = tensor<128x512xf32, #down_rest>, zero = 3 : i64}
  galv.stage @stage0 #mesh {first_rank = 0 : i64, index = 0 : i64}
  galv.step @feed_forward attributes {batch = 8 : i64, blocks = [#galv.strategy<stage = 0, data = [0], tensor = [1], sequence = true, zero = 3, recompute = false>, #galv.strategy<stage = 0, data = [0], tensor = [1], sequence = true, zero = 3, recompute = false>, #galv.strategy<stage = 0, data = [0], tensor = [1], sequence = true, zero = 3, recompute = false>], configuration = "{}", layer_prefix = "h", layers = 1 : i64, mesh = #mesh, microbatches = 2 : i64, schedule = "1f1b", sequence = 64 : i64, stages = 1 : i64, vocabulary = 257 : i64} {
    %0 = galv.microbatches -> !galv.on<@stage0, tensor<f32, #sum_a>> {
      %1 = galv.phase "forward" on @stage0() -> !galv.on<@stage0, tensor<f32, #sum_am>> {
        %2 = galv.use @table {module = "table"} : tensor<257x128xf32, #table>
        %3 = galv.call @embedding(%2) {block = 0 : i64} : (tensor<257x128xf32, #table>) -> tensor<8x64x128xf32, #S>
        %4 = galv.use @h.0.ln.weight {module = "h.0.ln"} : tensor<128xf32, #vector>
        %5 = galv.use @h.0.ln.bias {module = "h.0.ln"} : tensor<128xf32, #vector>
        %6 = galv.use @h.0.up {module = "h.0.up"} : tensor<512x128xf32, #up>
        %7 = galv.use @h.0.down {module = "h.0.down"} : tensor<128x512xf32, #down>
        %8 = galv.call @layer(%3, %4, %5, %6, %7) {block = 1 : i64, layer = 0 : i64} : (tensor<8x64x128xf32, #S>, tensor<128xf32, #vector>, tensor<128xf32, #vector>, tensor<512x128xf32, #up>, tensor<128x512xf32, #down>) -> tensor<8x64x128xf32, #S>
        %9 = galv.use @table {module = "head"} : tensor<257x128xf32, #table>
        %10 = galv.call @head(%8, %9) {block = 2 : i64} : (tensor<8x64x128xf32, #S>, tensor<257x128xf32, #table>) -> tensor<f32, #sum_am>
        galv.yield %10 : tensor<f32, #sum_am>
      }
      galv.accumulate %1 : !galv.on<@stage0, tensor<f32, #sum_am>>
    }
  }
  func.func private @embedding(%arg0: tensor<257x128xf32, #table> {galv.parameter = "table"}) -> tensor<8x64x128xf32, #S> {
    %0 = galv.input {module = "table", name = "tokens"} : () -> tensor<8x64xi64, #rows_a>
    %1 = galv.embedding %0, %arg0 {module = "table"} : (tensor<8x64xi64, #rows_a>, tensor<257x128xf32, #table>) -> tensor<8x64x128xf32, #P>
    %2 = galv.redistribute %1 {module = "table"} : tensor<8x64x128xf32, #P> -> tensor<8x64x128xf32, #S>
    return %2 : tensor<8x64x128xf32, #S>
  }
  func.func private @layer(%arg0: tensor<8x64x128xf32, #S>, %arg1: tensor<128xf32, #vector> {galv.parameter = "h.{layer}.ln.weight"}, %arg2: tensor<128xf32, #vector> {galv.parameter = "h.{layer}.ln.bias"}, %arg3: tensor<512x128xf32, #up> {galv.parameter = "h.{layer}.up"}, %arg4: tensor<128x512xf32, #down> {galv.parameter = "h.{layer}.down"}) -> tensor<8x64x128xf32, #S> {
    %result, %mean, %rstd = galv.layer_norm %arg0, %arg1, %arg2 {epsilon = 1.000000e-05 : f64, module = "h.{layer}.ln"} : (tensor<8x64x128xf32, #S>, tensor<128xf32, #vector>, tensor<128xf32, #vector>) -> (tensor<8x64x128xf32, #S>, tensor<8x64xf32, #rows_ab>, tensor<8x64xf32, #rows_ab>)
    %0 = galv.redistribute %result {module = "h.{layer}.ln"} : tensor<8x64x128xf32, #S> -> tensor<8x64x128xf32, #F>
    %1 = galv.linear %0, %arg3 {module = "h.{layer}.up"} : (tensor<8x64x128xf32, #F>, tensor<512x128xf32, #up>) -> tensor<8x64x512xf32, #C>
    %2 = galv.gelu %1 {module = "h.{layer}.act"} : (tensor<8x64x512xf32, #C>) -> tensor<8x64x512xf32, #C>
    %3 = galv.linear %2, %arg4 {module = "h.{layer}.down"} : (tensor<8x64x512xf32, #C>, tensor<128x512xf32, #down>) -> tensor<8x64x128xf32, #P>
    %4 = galv.redistribute %3 {module = "h.{layer}.down"} : tensor<8x64x128xf32, #P> -> tensor<8x64x128xf32, #S>
    %5 = galv.add %arg0, %4 {module = "h.{layer}.residual"} : (tensor<8x64x128xf32, #S>, tensor<8x64x128xf32, #S>) -> tensor<8x64x128xf32, #S>
    return %5 : tensor<8x64x128xf32, #S>
  }
  func.func private @head(%arg0: tensor<8x64x128xf32, #S>, %arg1: tensor<257x128xf32, #table> {galv.parameter = "table"}) -> tensor<f32, #sum_am> {
    %0 = galv.redistribute %arg0 : tensor<8x64x128xf32, #S> -> tensor<8x64x128xf32, #F>
    %1 = galv.linear %0, %arg1 {module = "head"} : (tensor<8x64x128xf32, #F>, tensor<257x128xf32, #table>) -> tensor<8x64x257xf32, #logits>
    %2 = galv.input {module = "loss", name = "labels"} : () -> tensor<8x64xi64, #rows_a>
    %loss, %log_sum_exp = galv.cross_entropy %1, %2 {module = "loss"} : (tensor<8x64x257xf32, #logits>, tensor<8x64xi64, #rows_a>) -> (tensor<f32, #sum_am>, tensor<8x64xf32, #rows_a>)
    return %loss : tensor<f32, #sum_am>
  }
}
