// There is no pattern yet: the pass stands in its place and changes nothing.
// RUN: galv-opt %s -o %t.mlir
// RUN: galv-opt %t.mlir --galv-fuse | diff %t.mlir -
// RUN: galv-opt %s --galv-autodiff -o %t.step.mlir
// RUN: galv-opt %t.step.mlir --galv-fuse | diff %t.step.mlir -

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
