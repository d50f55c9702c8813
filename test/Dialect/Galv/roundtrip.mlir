// Every operation, attribute and type of the dialect as it is read and written:
// the custom form, the generic form, and bytecode.
// RUN: galv-opt %s -o %t.mlir
// RUN: FileCheck %s --input-file=%t.mlir
// RUN: galv-opt %t.mlir | diff %t.mlir -
// RUN: galv-opt %s --mlir-print-op-generic | galv-opt | diff %t.mlir -
// RUN: galv-opt %s --emit-bytecode | galv-opt | diff %t.mlir -
// RUN: /usr/bin/python3 %S/../Inputs/all_ops.py galv %galv_src/dialects/Galv %s

// CHECK-DAG: #[[MESH:mesh[0-9]*]] = #galv.mesh<[a = 2, b = 2], time = [m = 4]>
// CHECK-DAG: #[[ONE:mesh[0-9]*]] = #galv.mesh<[]>
// CHECK-DAG: #[[S:p[0-9]*]] = #galv.placement<#[[MESH]], [{m, a}, {b}, {}]>
// CHECK-DAG: #[[P:p[0-9]*]] = #galv.placement<#[[MESH]], [{m, a}, {}, {}], partial = {b}>
// CHECK-DAG: #[[PAD:p[0-9]*]] = #galv.placement<#[[MESH]], [{b : pad}, {}]>
// CHECK-DAG: #[[MIXED:p[0-9]*]] = #galv.placement<#[[MESH]], [{a, b : pad}, {}]>
// CHECK-DAG: #[[FLAT:p[0-9]*]] = #galv.placement<#[[MESH]], [{b}, {}], flat = {a}>
// CHECK-DAG: #[[BOTH:p[0-9]*]] = #galv.placement<#[[MESH]], [{}, {}], flat = {a}, partial = {b}>
// CHECK-DAG: #[[MAX:p[0-9]*]] = #galv.placement<#[[MESH]], [{m, a}], partial = max {b}>
// CHECK-DAG: #[[WHOLE:p[0-9]*]] = #galv.placement<#[[ONE]], [{}, {}]>
#mesh = #galv.mesh<[a = 2, b = 2], time = [m = 4]>
#one = #galv.mesh<[]>
#S = #galv.placement<#mesh, [{m, a}, {b}, {}]>
#F = #galv.placement<#mesh, [{m, a}, {}, {}]>
#C = #galv.placement<#mesh, [{m, a}, {}, {b}]>
#P = #galv.placement<#mesh, [{m, a}, {}, {}], partial = {b}>
#pad = #galv.placement<#mesh, [{b : pad}, {}]>
#mixed = #galv.placement<#mesh, [{a, b : pad}, {}]>
#flat = #galv.placement<#mesh, [{b}, {}], flat = {a}>
#both = #galv.placement<#mesh, [{}, {}], partial = {b}, flat = {a}>
#max = #galv.placement<#mesh, [{m, a}], partial = max {b}>
#whole = #galv.placement<#one, [{}, {}]>

// CHECK-LABEL: func.func private @types(
// CHECK-SAME: tensor<8x64x128xf32, #[[S]]>, tensor<8x64x128xf32, #[[P]]>, tensor<257x128xf32, #[[PAD]]>, tensor<257x128xf32, #[[MIXED]]>,
// CHECK-SAME: tensor<512x128xf32, #[[FLAT]]>, tensor<512x128xf32, #[[BOTH]]>, tensor<8xf32, #[[MAX]]>, tensor<3x5xf64, #[[WHOLE]]>,
// CHECK-SAME: !galv.on<@first, tensor<512x128xf32, #[[FLAT]]>>)
func.func private @types(
    tensor<8x64x128xf32, #S>, tensor<8x64x128xf32, #P>,
    tensor<257x128xf32, #pad>, tensor<257x128xf32, #mixed>,
    tensor<512x128xf32, #flat>, tensor<512x128xf32, #both>,
    tensor<8xf32, #max>, tensor<3x5xf64, #whole>,
    !galv.on<@first, tensor<512x128xf32, #flat>>)

// A strategy may name no axes.
// CHECK: module attributes {galv.test = [#galv.strategy<stage = 0, data = [0], tensor = [1], sequence = true, zero = 3, recompute = true>, #galv.strategy<stage = 1, data = [], tensor = [], sequence = false, zero = 0, recompute = false>]}
module attributes {galv.test = [
    #galv.strategy<stage = 0, data = [0], tensor = [1], sequence = true, zero = 3, recompute = true>,
    #galv.strategy<stage = 1, data = [], tensor = [], sequence = false, zero = 0, recompute = false>]} {}

//===----------------------------------------------------------------------===//
// What models compute, as it is imported: no placement
//===----------------------------------------------------------------------===//

// CHECK: galv.parameter @table : tensor<257x128xf32> {checkpoint = #galv.checkpoint<"wte.weight", [257, 128], [0, 0], transposed = false>, dimensions = ["vocabulary", "embed"], initializer = #galv.initializer<"normal", 2.000000e-02 : f64>}
galv.parameter @table : tensor<257x128xf32> {
  dimensions = ["vocabulary", "embed"],
  checkpoint = #galv.checkpoint<"wte.weight", [257, 128], [0, 0], transposed = false>,
  initializer = #galv.initializer<"normal", 2.000000e-02 : f64>}
// A slice of a fused tensor, transposed.
// CHECK: galv.parameter @key : tensor<128x128xf32> {checkpoint = #galv.checkpoint<"c_attn.weight", [128, 384], [0, 128], transposed = true>
galv.parameter @key : tensor<128x128xf32> {
  dimensions = ["heads", "embed"],
  checkpoint = #galv.checkpoint<"c_attn.weight", [128, 384], [0, 128], transposed = true>,
  initializer = #galv.initializer<"zeros", 0.0 : f64>}
// CHECK: galv.parameter @gain : tensor<128xf32>
// CHECK-SAME: initializer = #galv.initializer<"ones", 0.000000e+00 : f64>
galv.parameter @gain : tensor<128xf32> {
  dimensions = ["embed"],
  checkpoint = #galv.checkpoint<"ln.weight", [128], [0], transposed = false>,
  initializer = #galv.initializer<"ones", 0.0 : f64>}

// CHECK: galv.model @small attributes {batch = 8 : i64, configuration = "{}", layer_prefix = "h", layers = 1 : i64, sequence = 64 : i64, vocabulary = 257 : i64} {
galv.model @small attributes {batch = 8, sequence = 64, vocabulary = 257, layers = 1,
                              layer_prefix = "h", configuration = "{}"} {
  // CHECK: %[[IDS:.*]] = galv.input {module = "wte", name = "tokens"} : () -> tensor<8x64xi64>
  %ids = galv.input {name = "tokens", module = "wte"} : () -> tensor<8x64xi64>
  // CHECK: %[[TABLE:.*]] = galv.use @table {module = "wte"} : tensor<257x128xf32>
  %table = galv.use @table {module = "wte"} : tensor<257x128xf32>
  // CHECK: %[[X:.*]] = galv.embedding %[[IDS]], %[[TABLE]] {module = "wte"} : (tensor<8x64xi64>, tensor<257x128xf32>) -> tensor<8x64x128xf32>
  %x = galv.embedding %ids, %table {module = "wte"} : (tensor<8x64xi64>, tensor<257x128xf32>) -> tensor<8x64x128xf32>
  // A table looked up by positions, added to every sequence.
  // CHECK: %[[AT:.*]] = galv.positions : () -> tensor<64xi64>
  %at = galv.positions : () -> tensor<64xi64>
  // CHECK: galv.embedding %[[AT]], %[[TABLE]] : (tensor<64xi64>, tensor<257x128xf32>) -> tensor<64x128xf32>
  %where = galv.embedding %at, %table : (tensor<64xi64>, tensor<257x128xf32>) -> tensor<64x128xf32>
  // CHECK: galv.add %{{.*}}, %{{.*}} : (tensor<8x64x128xf32>, tensor<64x128xf32>) -> tensor<8x64x128xf32>
  %y = galv.add %x, %where : (tensor<8x64x128xf32>, tensor<64x128xf32>) -> tensor<8x64x128xf32>
  %gain = galv.use @gain : tensor<128xf32>
  // CHECK: galv.layer_norm %{{.*}}, %{{.*}}, %{{.*}} {epsilon = 1.000000e-05 : f64} : (tensor<8x64x128xf32>, tensor<128xf32>, tensor<128xf32>) -> (tensor<8x64x128xf32>, tensor<8x64xf32>, tensor<8x64xf32>)
  %n, %mean, %rstd = galv.layer_norm %y, %gain, %gain {epsilon = 1.0e-05 : f64} : (tensor<8x64x128xf32>, tensor<128xf32>, tensor<128xf32>) -> (tensor<8x64x128xf32>, tensor<8x64xf32>, tensor<8x64xf32>)
  %key = galv.use @key : tensor<128x128xf32>
  // CHECK: galv.linear %{{.*}}, %{{.*}}, %{{.*}} : (tensor<8x64x128xf32>, tensor<128x128xf32>, tensor<128xf32>) -> tensor<8x64x128xf32>
  %k = galv.linear %n, %key, %gain : (tensor<8x64x128xf32>, tensor<128x128xf32>, tensor<128xf32>) -> tensor<8x64x128xf32>
  // CHECK: galv.attention %{{.*}}, %{{.*}}, %{{.*}} {head_dimension = 32 : i64} : (tensor<8x64x128xf32>, tensor<8x64x128xf32>, tensor<8x64x128xf32>) -> (tensor<8x64x128xf32>, tensor<8x4x64xf32>)
  %a, %lse = galv.attention %k, %k, %k {head_dimension = 32} : (tensor<8x64x128xf32>, tensor<8x64x128xf32>, tensor<8x64x128xf32>) -> (tensor<8x64x128xf32>, tensor<8x4x64xf32>)
  // CHECK: galv.gelu %{{.*}} : (tensor<8x64x128xf32>) -> tensor<8x64x128xf32>
  %g = galv.gelu %a : (tensor<8x64x128xf32>) -> tensor<8x64x128xf32>
  // CHECK: galv.linear %{{.*}}, %{{.*}} : (tensor<8x64x128xf32>, tensor<257x128xf32>) -> tensor<8x64x257xf32>
  %logits = galv.linear %g, %table : (tensor<8x64x128xf32>, tensor<257x128xf32>) -> tensor<8x64x257xf32>
  // CHECK: galv.cross_entropy %{{.*}}, %{{.*}} : (tensor<8x64x257xf32>, tensor<8x64xi64>) -> (tensor<f32>, tensor<8x64xf32>)
  %loss, %sum = galv.cross_entropy %logits, %ids : (tensor<8x64x257xf32>, tensor<8x64xi64>) -> (tensor<f32>, tensor<8x64xf32>)
  // CHECK: galv.yield %{{.*}} : tensor<f32>
  galv.yield %loss : tensor<f32>
}

// Several query heads share a key head.
// CHECK-LABEL: func.func @shared_keys
func.func @shared_keys(%q: tensor<2x8x64xf32>, %k: tensor<2x8x16xf32>) -> tensor<2x8x64xf32> {
  // CHECK: galv.attention {{.*}} : (tensor<2x8x64xf32>, tensor<2x8x16xf32>, tensor<2x8x16xf32>) -> (tensor<2x8x64xf32>, tensor<2x8x8xf32>)
  %a, %lse = galv.attention %q, %k, %k {head_dimension = 8} : (tensor<2x8x64xf32>, tensor<2x8x16xf32>, tensor<2x8x16xf32>) -> (tensor<2x8x64xf32>, tensor<2x8x8xf32>)
  return %a : tensor<2x8x64xf32>
}

//===----------------------------------------------------------------------===//
// Derivatives, and the optimizer's sums
//===----------------------------------------------------------------------===//

// CHECK-LABEL: func.func @derivatives
func.func @derivatives(%ids: tensor<8x64xi64>, %h: tensor<8x64x128xf32>,
                       %w: tensor<128x128xf32>, %gain: tensor<128xf32>,
                       %row: tensor<8x64xf32>, %lse: tensor<8x4x64xf32>,
                       %logits: tensor<8x64x257xf32>, %seed: tensor<f32>) {
  // CHECK: galv.embedding_gradient %{{.*}}, %{{.*}} {vocabulary = 257 : i64} : (tensor<8x64x128xf32>, tensor<8x64xi64>) -> tensor<257x128xf32>
  %0 = galv.embedding_gradient %h, %ids {vocabulary = 257} : (tensor<8x64x128xf32>, tensor<8x64xi64>) -> tensor<257x128xf32>
  // CHECK: galv.linear_input_gradient %{{.*}}, %{{.*}} : (tensor<8x64x128xf32>, tensor<128x128xf32>) -> tensor<8x64x128xf32>
  %1 = galv.linear_input_gradient %h, %w : (tensor<8x64x128xf32>, tensor<128x128xf32>) -> tensor<8x64x128xf32>
  // CHECK: galv.linear_weight_gradient %{{.*}}, %{{.*}} : (tensor<8x64x128xf32>, tensor<8x64x128xf32>) -> tensor<128x128xf32>
  %2 = galv.linear_weight_gradient %h, %h : (tensor<8x64x128xf32>, tensor<8x64x128xf32>) -> tensor<128x128xf32>
  // CHECK: galv.sum_leading %{{.*}} {leading = 2 : i64} : (tensor<8x64x128xf32>) -> tensor<128xf32>
  %3 = galv.sum_leading %h {leading = 2} : (tensor<8x64x128xf32>) -> tensor<128xf32>
  // CHECK: galv.layer_norm_input_gradient %{{.*}} : (tensor<8x64x128xf32>, tensor<8x64x128xf32>, tensor<128xf32>, tensor<8x64xf32>, tensor<8x64xf32>) -> tensor<8x64x128xf32>
  %4 = galv.layer_norm_input_gradient %h, %h, %gain, %row, %row : (tensor<8x64x128xf32>, tensor<8x64x128xf32>, tensor<128xf32>, tensor<8x64xf32>, tensor<8x64xf32>) -> tensor<8x64x128xf32>
  // CHECK: galv.layer_norm_weight_gradient %{{.*}} : (tensor<8x64x128xf32>, tensor<8x64x128xf32>, tensor<8x64xf32>, tensor<8x64xf32>) -> tensor<128xf32>
  %5 = galv.layer_norm_weight_gradient %h, %h, %row, %row : (tensor<8x64x128xf32>, tensor<8x64x128xf32>, tensor<8x64xf32>, tensor<8x64xf32>) -> tensor<128xf32>
  // CHECK: galv.gelu_gradient %{{.*}}, %{{.*}} : (tensor<8x64x128xf32>, tensor<8x64x128xf32>) -> tensor<8x64x128xf32>
  %6 = galv.gelu_gradient %h, %h : (tensor<8x64x128xf32>, tensor<8x64x128xf32>) -> tensor<8x64x128xf32>
  // CHECK: galv.attention_gradient %{{.*}} {head_dimension = 32 : i64} : ({{.*}}, tensor<8x4x64xf32>) -> (tensor<8x64x128xf32>, tensor<8x64x128xf32>, tensor<8x64x128xf32>)
  %dq, %dk, %dv = galv.attention_gradient %h, %h, %h, %h, %h, %lse {head_dimension = 32} : (tensor<8x64x128xf32>, tensor<8x64x128xf32>, tensor<8x64x128xf32>, tensor<8x64x128xf32>, tensor<8x64x128xf32>, tensor<8x4x64xf32>) -> (tensor<8x64x128xf32>, tensor<8x64x128xf32>, tensor<8x64x128xf32>)
  // CHECK: galv.cross_entropy_gradient %{{.*}} : (tensor<f32>, tensor<8x64x257xf32>, tensor<8x64xi64>, tensor<8x64xf32>) -> tensor<8x64x257xf32>
  %7 = galv.cross_entropy_gradient %seed, %logits, %ids, %row : (tensor<f32>, tensor<8x64x257xf32>, tensor<8x64xi64>, tensor<8x64xf32>) -> tensor<8x64x257xf32>
  // CHECK: galv.sum_of_squares %{{.*}} : (tensor<128x128xf32>) -> tensor<f32>
  %8 = galv.sum_of_squares %w : (tensor<128x128xf32>) -> tensor<f32>
  // CHECK: galv.clip_coefficient %{{.*}} : (tensor<f32>) -> (tensor<f32>, tensor<f32>)
  %c, %norm = galv.clip_coefficient %8 : (tensor<f32>) -> (tensor<f32>, tensor<f32>)
  // CHECK: galv.scale %{{.*}}, %{{.*}} : (tensor<128x128xf32>, tensor<f32>) -> tensor<128x128xf32>
  %9 = galv.scale %w, %c : (tensor<128x128xf32>, tensor<f32>) -> tensor<128x128xf32>
  // CHECK: galv.count_valid %{{.*}} : (tensor<8x64xi64>) -> tensor<f32>
  %count = galv.count_valid %ids : (tensor<8x64xi64>) -> tensor<f32>
  // CHECK: galv.reciprocal %{{.*}} : (tensor<f32>) -> tensor<f32>
  %10 = galv.reciprocal %count : (tensor<f32>) -> tensor<f32>
  // CHECK: galv.zero : () -> tensor<f32>
  %zero = galv.zero : () -> tensor<f32>
  return
}

// On local shapes: the rows of one rank, and the parts of a cross entropy whose
// vocabulary of 257 is split over four ranks.
// CHECK-LABEL: func.func @local
func.func @local(%logits: tensor<1x64x65xf32>, %table: tensor<65x128xf32>, %other: tensor<1x64x128xf32>, %row: tensor<1x64xf32>, %seed: tensor<f32>) {
  // CHECK: galv.input {batch = 8 : i64, columns = #comm.group<[b = 2]>, microbatched = true, name = "labels", rows = #comm.group<[a = 2]>, sequence = 128 : i64} : () -> tensor<1x64xi64>
  %ids = galv.input {name = "labels", batch = 8, sequence = 128, microbatched = true, rows = #comm.group<[a = 2]>, columns = #comm.group<[b = 2]>} : () -> tensor<1x64xi64>
  // CHECK: galv.positions {columns = #comm.group<[b = 2]>, sequence = 128 : i64} : () -> tensor<64xi64>
  %at = galv.positions {sequence = 128, columns = #comm.group<[b = 2]>} : () -> tensor<64xi64>
  // CHECK: galv.embedding %{{.*}} {over = #comm.group<[a = 2, b = 2]>, vocabulary = 257 : i64}
  %x = galv.embedding %ids, %table {vocabulary = 257, over = #comm.group<[a = 2, b = 2]>} : (tensor<1x64xi64>, tensor<65x128xf32>) -> tensor<1x64x128xf32>
  // CHECK: galv.embedding_gradient %{{.*}} {over = #comm.group<[a = 2, b = 2]>, vocabulary = 257 : i64} : {{.*}} -> tensor<65x128xf32>
  %dt = galv.embedding_gradient %other, %ids {vocabulary = 257, over = #comm.group<[a = 2, b = 2]>} : (tensor<1x64x128xf32>, tensor<1x64xi64>) -> tensor<65x128xf32>
  // CHECK: galv.cross_entropy_maximum %{{.*}} {over = #comm.group<[a = 2, b = 2]>, vocabulary = 257 : i64} : (tensor<1x64x65xf32>) -> tensor<1x64xf32>
  %max = galv.cross_entropy_maximum %logits {vocabulary = 257, over = #comm.group<[a = 2, b = 2]>} : (tensor<1x64x65xf32>) -> tensor<1x64xf32>
  // CHECK: galv.cross_entropy_parts %{{.*}} {over = #comm.group<[a = 2, b = 2]>, vocabulary = 257 : i64} : {{.*}} -> tensor<2x1x64xf32>
  %parts = galv.cross_entropy_parts %logits, %ids, %max {vocabulary = 257, over = #comm.group<[a = 2, b = 2]>} : (tensor<1x64x65xf32>, tensor<1x64xi64>, tensor<1x64xf32>) -> tensor<2x1x64xf32>
  // CHECK: galv.cross_entropy_finish %{{.*}} : {{.*}} -> (tensor<f32>, tensor<1x64xf32>)
  %loss, %lse = galv.cross_entropy_finish %max, %parts, %ids : (tensor<1x64xf32>, tensor<2x1x64xf32>, tensor<1x64xi64>) -> (tensor<f32>, tensor<1x64xf32>)
  // CHECK: galv.cross_entropy %{{.*}} {over = #comm.group<[a = 2, b = 2]>, vocabulary = 257 : i64}
  %loss2, %lse2 = galv.cross_entropy %logits, %ids {vocabulary = 257, over = #comm.group<[a = 2, b = 2]>} : (tensor<1x64x65xf32>, tensor<1x64xi64>) -> (tensor<f32>, tensor<1x64xf32>)
  // CHECK: galv.cross_entropy_gradient %{{.*}} {over = #comm.group<[a = 2, b = 2]>, vocabulary = 257 : i64}
  %d = galv.cross_entropy_gradient %seed, %logits, %ids, %row {vocabulary = 257, over = #comm.group<[a = 2, b = 2]>} : (tensor<f32>, tensor<1x64x65xf32>, tensor<1x64xi64>, tensor<1x64xf32>) -> tensor<1x64x65xf32>
  return
}

//===----------------------------------------------------------------------===//
// A placed program: one layer of the design's example, on two stages
//===----------------------------------------------------------------------===//

// CHECK: module attributes {galv.placed}
module attributes {galv.placed} {
  // CHECK: galv.stage @first #[[MESH]] {first_rank = 0 : i64, index = 0 : i64}
  galv.stage @first #mesh {first_rank = 0, index = 0}
  galv.stage @second #mesh {first_rank = 4, index = 1}

  // CHECK: galv.parameter @up : tensor<512x128xf32>
  // CHECK-SAME: home = @first
  // CHECK-SAME: rest = tensor<512x128xf32, #[[FLAT]]>, zero = 3 : i64}
  galv.parameter @up : tensor<512x128xf32> {
    dimensions = ["hidden", "embed"],
    checkpoint = #galv.checkpoint<"up.weight", [512, 128], [0, 0], transposed = false>,
    initializer = #galv.initializer<"normal", 2.000000e-02 : f64>,
    rest = tensor<512x128xf32, #flat>, home = @first, zero = 3}
  // CHECK: galv.parameter @"up@second" : tensor<512x128xf32>
  // CHECK-SAME: copy_of = @up
  galv.parameter @"up@second" : tensor<512x128xf32> {
    dimensions = ["hidden", "embed"],
    checkpoint = #galv.checkpoint<"up.weight", [512, 128], [0, 0], transposed = false>,
    initializer = #galv.initializer<"normal", 2.000000e-02 : f64>,
    rest = tensor<512x128xf32, #flat>, home = @second, copy_of = @up}

  // CHECK-LABEL: func.func private @layer
  func.func private @layer(%n: tensor<8x64x128xf32, #S>, %up: tensor<512x128xf32, #galv.placement<#mesh, [{b}, {}]>>) -> tensor<8x64x512xf32, #C> {
    // CHECK: galv.redistribute %{{.*}} : tensor<8x64x128xf32, #[[S]]> -> tensor<8x64x128xf32, #[[F:.*]]>
    %f = galv.redistribute %n : tensor<8x64x128xf32, #S> -> tensor<8x64x128xf32, #F>
    // CHECK: galv.linear %{{.*}}, %{{.*}} : (tensor<8x64x128xf32, #[[F]]>, tensor<512x128xf32, #{{.*}}>) -> tensor<8x64x512xf32, #[[C:.*]]>
    %u = galv.linear %f, %up : (tensor<8x64x128xf32, #F>, tensor<512x128xf32, #galv.placement<#mesh, [{b}, {}]>>) -> tensor<8x64x512xf32, #C>
    return %u : tensor<8x64x512xf32, #C>
  }

  // CHECK: galv.step @train attributes {batch = 8 : i64, blocks = [#galv.strategy<
  // CHECK-SAME: mesh = #[[MESH]], microbatches = 4 : i64, schedule = "1f1b", sequence = 64 : i64, stages = 2 : i64, vocabulary = 257 : i64} {
  galv.step @train attributes {
      batch = 8, sequence = 64, vocabulary = 257, layers = 1, layer_prefix = "h",
      configuration = "{}", mesh = #mesh, stages = 2, microbatches = 4, schedule = "1f1b",
      blocks = [#galv.strategy<stage = 0, data = [0], tensor = [1], sequence = true, zero = 3, recompute = false>,
                #galv.strategy<stage = 0, data = [0], tensor = [1], sequence = true, zero = 3, recompute = false>,
                #galv.strategy<stage = 0, data = [0], tensor = [1], sequence = true, zero = 3, recompute = false>]} {
    // CHECK: %[[REST:.*]] = galv.phase "begin" on @first() -> !galv.on<@first, tensor<512x128xf32, #[[FLAT]]>> {
    %rest = galv.phase "begin" on @first() -> !galv.on<@first, tensor<512x128xf32, #flat>> {
      // CHECK: galv.materialize @up : tensor<512x128xf32, #[[FLAT]]>
      %0 = galv.materialize @up : tensor<512x128xf32, #flat>
      galv.yield %0 : tensor<512x128xf32, #flat>
    }
    // CHECK: %[[SENT:.*]] = galv.transfer %[[REST]] : <@first, tensor<512x128xf32, #[[FLAT]]>> -> <@second, tensor<512x128xf32, #[[FLAT]]>>
    %sent = galv.transfer %rest : !galv.on<@first, tensor<512x128xf32, #flat>> -> !galv.on<@second, tensor<512x128xf32, #flat>>
    // CHECK: galv.phase "begin" on @second(%[[INSIDE:.*]] = %[[SENT]] : !galv.on<@second, tensor<512x128xf32, #[[FLAT]]>>) {
    galv.phase "begin" on @second(%inside = %sent : !galv.on<@second, tensor<512x128xf32, #flat>>) {
      // CHECK: galv.refresh @"up@second", %[[INSIDE]] : tensor<512x128xf32, #[[FLAT]]>
      galv.refresh @"up@second", %inside : tensor<512x128xf32, #flat>
      galv.yield
    }
    // CHECK: %{{.*}} = galv.microbatches -> !galv.on<@first, tensor<512x128xf32, #{{.*}}>> {
    %gradient = galv.microbatches -> !galv.on<@first, tensor<512x128xf32, #galv.placement<#mesh, [{b}, {}], partial = {a}>>> {
      // CHECK: galv.phase "forward" on @first() -> (!galv.on<@first, {{.*}}>, !galv.on<@first, {{.*}}>) {
      %u, %n = galv.phase "forward" on @first() -> (!galv.on<@first, tensor<8x64x512xf32, #C>>, !galv.on<@first, tensor<8x64x128xf32, #S>>) {
        // CHECK: galv.use @up : tensor<512x128xf32, #{{.*}}>
        %up = galv.use @up : tensor<512x128xf32, #galv.placement<#mesh, [{b}, {}]>>
        %ids = galv.input {name = "tokens"} : () -> tensor<8x64xi64, #galv.placement<#mesh, [{m, a}, {b}]>>
        %table = galv.materialize @table2 : tensor<257x128xf32, #galv.placement<#mesh, [{}, {}]>>
        %n = galv.embedding %ids, %table : (tensor<8x64xi64, #galv.placement<#mesh, [{m, a}, {b}]>>, tensor<257x128xf32, #galv.placement<#mesh, [{}, {}]>>) -> tensor<8x64x128xf32, #S>
        // CHECK: galv.call @layer(%{{.*}}, %{{.*}}) {block = 1 : i64, layer = 0 : i64, recompute} : (tensor<8x64x128xf32, #[[S]]>, tensor<512x128xf32, #{{.*}}>) -> tensor<8x64x512xf32, #[[C]]>
        %u = galv.call @layer(%n, %up) {block = 1, layer = 0, recompute} : (tensor<8x64x128xf32, #S>, tensor<512x128xf32, #galv.placement<#mesh, [{b}, {}]>>) -> tensor<8x64x512xf32, #C>
        galv.yield %u, %n : tensor<8x64x512xf32, #C>, tensor<8x64x128xf32, #S>
      }
      // CHECK: galv.phase "backward" on @first(
      %g = galv.phase "backward" on @first(%du = %u : !galv.on<@first, tensor<8x64x512xf32, #C>>, %x = %n : !galv.on<@first, tensor<8x64x128xf32, #S>>) -> !galv.on<@first, tensor<512x128xf32, #galv.placement<#mesh, [{b}, {}], partial = {a, m}>>> {
        %f = galv.redistribute %x : tensor<8x64x128xf32, #S> -> tensor<8x64x128xf32, #F>
        %g = galv.linear_weight_gradient %du, %f : (tensor<8x64x512xf32, #C>, tensor<8x64x128xf32, #F>) -> tensor<512x128xf32, #galv.placement<#mesh, [{b}, {}], partial = {a, m}>>
        galv.yield %g : tensor<512x128xf32, #galv.placement<#mesh, [{b}, {}], partial = {a, m}>>
      }
      // CHECK: galv.accumulate %{{.*}} : !galv.on<@first, tensor<512x128xf32, #{{.*}}>>
      galv.accumulate %g : !galv.on<@first, tensor<512x128xf32, #galv.placement<#mesh, [{b}, {}], partial = {a, m}>>>
    }
    // CHECK: galv.phase "finish" on @first(
    galv.phase "finish" on @first(%g = %gradient : !galv.on<@first, tensor<512x128xf32, #galv.placement<#mesh, [{b}, {}], partial = {a}>>>) {
      // CHECK: galv.reduce %{{.*}} : tensor<512x128xf32, #{{.*}}> -> tensor<512x128xf32, #[[FLAT]]>
      %r = galv.reduce %g : tensor<512x128xf32, #galv.placement<#mesh, [{b}, {}], partial = {a}>> -> tensor<512x128xf32, #flat>
      %s = galv.sum_of_squares %r : (tensor<512x128xf32, #flat>) -> tensor<f32, #galv.placement<#mesh, [], partial = {a, b}>>
      %t = galv.redistribute %s : tensor<f32, #galv.placement<#mesh, [], partial = {a, b}>> -> tensor<f32, #galv.placement<#mesh, []>>
      // CHECK: galv.sum_over_stages %{{.*}} : tensor<f32, #[[SCALAR:.*]]>
      %all = galv.sum_over_stages %t : tensor<f32, #galv.placement<#mesh, []>>
      %c, %norm = galv.clip_coefficient %all : (tensor<f32, #galv.placement<#mesh, []>>) -> (tensor<f32, #galv.placement<#mesh, []>>, tensor<f32, #galv.placement<#mesh, []>>)
      // CHECK: galv.report "gradient_norm", %{{.*}} : tensor<f32, #[[SCALAR]]>
      galv.report "gradient_norm", %norm : tensor<f32, #galv.placement<#mesh, []>>
      // CHECK: galv.update @up, %{{.*}}, %{{.*}} {decay = true} : tensor<512x128xf32, #[[FLAT]]>, tensor<f32, #[[SCALAR]]>
      galv.update @up, %r, %c {decay = true} : tensor<512x128xf32, #flat>, tensor<f32, #galv.placement<#mesh, []>>
      galv.yield
    }
  }
  galv.parameter @table2 : tensor<257x128xf32> {
    dimensions = ["vocabulary", "embed"],
    checkpoint = #galv.checkpoint<"wte.weight", [257, 128], [0, 0], transposed = false>,
    initializer = #galv.initializer<"normal", 2.000000e-02 : f64>}
}
