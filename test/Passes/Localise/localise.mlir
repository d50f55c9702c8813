// Every value has the shape that lies on one rank, a redistribution is the
// cheapest sequence of collectives and local moves, and only an operation whose
// split factor is indexed or closed changes its form.
// RUN: galv-opt %s --galv-localise | FileCheck %s --implicit-check-not=galv.placement --implicit-check-not=galv.redistribute

// The rules are to be checked before shapes become local: afterwards a wrong
// split is only a wrong number.
// RUN: sed 's/module attributes {galv.placed}/module/' %s | not galv-opt --galv-localise 2>&1 | FileCheck %s --check-prefix=CLASH
// CLASH: error: operands may still clash: galv-insert-redistribution comes first

#mesh = #galv.mesh<[a = 2, b = 2], time = [m = 2]>
#whole = #galv.placement<#mesh, [{}, {}]>
#a = #galv.placement<#mesh, [{a}, {}]>
#b = #galv.placement<#mesh, [{b}, {}]>
#ab = #galv.placement<#mesh, [{a, b}, {}]>
#columns = #galv.placement<#mesh, [{}, {a}]>
#sum_a = #galv.placement<#mesh, [{}, {}], partial = {a}>
#sum_ab = #galv.placement<#mesh, [{}, {}], partial = {a, b}>
#b_sum_a = #galv.placement<#mesh, [{b}, {}], partial = {a}>
#b_flat_a = #galv.placement<#mesh, [{b}, {}], flat = {a}>
#b_pad = #galv.placement<#mesh, [{b : pad}, {}]>
#rows = #galv.placement<#mesh, [{m, a}, {}]>
#F = #galv.placement<#mesh, [{m, a}, {}, {}]>
#C = #galv.placement<#mesh, [{m, a}, {}, {b}]>
#P = #galv.placement<#mesh, [{m, a}, {}, {}], partial = {b}>
#S = #galv.placement<#mesh, [{m, a}, {b}, {}]>
#logits = #galv.placement<#mesh, [{m, a}, {}, {b : pad}]>
#scalar = #galv.placement<#mesh, []>
#loss = #galv.placement<#mesh, [], partial = {a, m}>
module attributes {galv.placed} {

//===-- Redistributions ---------------------------------------------------===//

// What is there already is cut, nothing is sent.
// CHECK-LABEL: func.func @slice(%arg0: tensor<8x6xf32>) -> tensor<2x6xf32> {
// CHECK-NEXT: comm.slice %arg0 {dimension = 0 : i64, over = #comm.group<[a = 2, b = 2]>} : tensor<8x6xf32> -> tensor<2x6xf32>
// CHECK-NEXT: return
func.func @slice(%x: tensor<8x6xf32, #whole>) -> tensor<8x6xf32, #ab> {
  %0 = galv.redistribute %x : tensor<8x6xf32, #whole> -> tensor<8x6xf32, #ab>
  return %0 : tensor<8x6xf32, #ab>
}

// Adjacent axes are one group: one gather, not two.
// CHECK-LABEL: func.func @gather(%arg0: tensor<2x6xf32>) -> tensor<8x6xf32> {
// CHECK-NEXT: comm.all_gather %arg0 {dimension = 0 : i64, over = #comm.group<[a = 2, b = 2]>} : tensor<2x6xf32> -> tensor<8x6xf32>
// CHECK-NEXT: return
func.func @gather(%x: tensor<8x6xf32, #ab>) -> tensor<8x6xf32, #whole> {
  %0 = galv.redistribute %x : tensor<8x6xf32, #ab> -> tensor<8x6xf32, #whole>
  return %0 : tensor<8x6xf32, #whole>
}

// CHECK-LABEL: func.func @gather_minor(%arg0: tensor<2x6xf32>) -> tensor<4x6xf32> {
// CHECK-NEXT: comm.all_gather %arg0 {dimension = 0 : i64, over = #comm.group<[b = 2]>} : tensor<2x6xf32> -> tensor<4x6xf32>
// CHECK-NEXT: return
func.func @gather_minor(%x: tensor<8x6xf32, #ab>) -> tensor<8x6xf32, #a> {
  %0 = galv.redistribute %x : tensor<8x6xf32, #ab> -> tensor<8x6xf32, #a>
  return %0 : tensor<8x6xf32, #a>
}

// From one dimension to another: no gather.
// CHECK-LABEL: func.func @all_to_all(%arg0: tensor<4x6xf32>) -> tensor<8x3xf32> {
// CHECK-NEXT: comm.all_to_all %arg0 {gatherDimension = 0 : i64, over = #comm.group<[a = 2]>, splitDimension = 1 : i64} : tensor<4x6xf32> -> tensor<8x3xf32>
// CHECK-NEXT: return
func.func @all_to_all(%x: tensor<8x6xf32, #a>) -> tensor<8x6xf32, #columns> {
  %0 = galv.redistribute %x : tensor<8x6xf32, #a> -> tensor<8x6xf32, #columns>
  return %0 : tensor<8x6xf32, #columns>
}

// A partial sum that is split afterwards is reduced and split at once.
// CHECK-LABEL: func.func @reduce_scatter(%arg0: tensor<8x6xf32>) -> tensor<8x3xf32> {
// CHECK-NEXT: comm.reduce_scatter %arg0 {dimension = 1 : i64, over = #comm.group<[a = 2]>} : tensor<8x6xf32> -> tensor<8x3xf32>
// CHECK-NEXT: return
func.func @reduce_scatter(%x: tensor<8x6xf32, #sum_a>) -> tensor<8x6xf32, #columns> {
  %0 = galv.redistribute %x : tensor<8x6xf32, #sum_a> -> tensor<8x6xf32, #columns>
  return %0 : tensor<8x6xf32, #columns>
}

// CHECK-LABEL: func.func @all_reduce(
// CHECK-NEXT: comm.all_reduce %arg0 {kind = "sum", over = #comm.group<[a = 2, b = 2]>} : tensor<8x6xf32> -> tensor<8x6xf32>
// CHECK-NEXT: return
func.func @all_reduce(%x: tensor<8x6xf32, #sum_ab>) -> tensor<8x6xf32, #whole> {
  %0 = galv.redistribute %x : tensor<8x6xf32, #sum_ab> -> tensor<8x6xf32, #whole>
  return %0 : tensor<8x6xf32, #whole>
}

// Only the axes that go away are reduced over.
// CHECK-LABEL: func.func @reduce_part(
// CHECK-NEXT: comm.all_reduce %arg0 {kind = "sum", over = #comm.group<[b = 2]>} : tensor<8x6xf32> -> tensor<8x6xf32>
// CHECK-NEXT: return
func.func @reduce_part(%x: tensor<8x6xf32, #sum_ab>) -> tensor<8x6xf32, #sum_a> {
  %0 = galv.redistribute %x : tensor<8x6xf32, #sum_ab> -> tensor<8x6xf32, #sum_a>
  return %0 : tensor<8x6xf32, #sum_a>
}

// A whole value as a partial sum: the first rank's, and zeros.
// CHECK-LABEL: func.func @keep_first(
// CHECK-NEXT: comm.keep_first %arg0 {over = #comm.group<[a = 2]>} : tensor<8x6xf32> -> tensor<8x6xf32>
// CHECK-NEXT: return
func.func @keep_first(%x: tensor<8x6xf32, #whole>) -> tensor<8x6xf32, #sum_a> {
  %0 = galv.redistribute %x : tensor<8x6xf32, #whole> -> tensor<8x6xf32, #sum_a>
  return %0 : tensor<8x6xf32, #sum_a>
}

// ZeRO: 3 x 5 elements of a rank's rows, over two ranks, are 16 with a zero.
// CHECK-LABEL: func.func @gather_flat(%arg0: tensor<8xf32>) -> tensor<3x5xf32> {
// CHECK-NEXT: comm.all_gather %arg0 {dimension = 0 : i64, over = #comm.group<[a = 2]>} : tensor<8xf32> -> tensor<16xf32>
// CHECK-NEXT: comm.unpad %0 {dimension = 0 : i64} : tensor<16xf32> -> tensor<15xf32>
// CHECK-NEXT: comm.reshape %1 : tensor<15xf32> -> tensor<3x5xf32>
// CHECK-NEXT: return
func.func @gather_flat(%x: tensor<6x5xf32, #b_flat_a>) -> tensor<6x5xf32, #b> {
  %0 = galv.redistribute %x : tensor<6x5xf32, #b_flat_a> -> tensor<6x5xf32, #b>
  return %0 : tensor<6x5xf32, #b>
}

// CHECK-LABEL: func.func @reduce_to_flat(%arg0: tensor<3x5xf32>) -> tensor<8xf32> {
// CHECK-NEXT: comm.reshape %arg0 : tensor<3x5xf32> -> tensor<15xf32>
// CHECK-NEXT: comm.pad %0 {dimension = 0 : i64} : tensor<15xf32> -> tensor<16xf32>
// CHECK-NEXT: comm.reduce_scatter %1 {dimension = 0 : i64, over = #comm.group<[a = 2]>} : tensor<16xf32> -> tensor<8xf32>
// CHECK-NEXT: return
func.func @reduce_to_flat(%x: tensor<6x5xf32, #b_sum_a>) -> tensor<6x5xf32, #b_flat_a> {
  %0 = galv.redistribute %x : tensor<6x5xf32, #b_sum_a> -> tensor<6x5xf32, #b_flat_a>
  return %0 : tensor<6x5xf32, #b_flat_a>
}

// Seven rows over two ranks are four each, the last of them zero.
// CHECK-LABEL: func.func @pad(%arg0: tensor<7x5xf32>) -> tensor<4x5xf32> {
// CHECK-NEXT: comm.pad %arg0 {dimension = 0 : i64} : tensor<7x5xf32> -> tensor<8x5xf32>
// CHECK-NEXT: comm.slice %0 {dimension = 0 : i64, over = #comm.group<[b = 2]>} : tensor<8x5xf32> -> tensor<4x5xf32>
// CHECK-NEXT: return
func.func @pad(%x: tensor<7x5xf32, #whole>) -> tensor<7x5xf32, #b_pad> {
  %0 = galv.redistribute %x : tensor<7x5xf32, #whole> -> tensor<7x5xf32, #b_pad>
  return %0 : tensor<7x5xf32, #b_pad>
}

// CHECK-LABEL: func.func @unpad(%arg0: tensor<4x5xf32>) -> tensor<7x5xf32> {
// CHECK-NEXT: comm.all_gather %arg0 {dimension = 0 : i64, over = #comm.group<[b = 2]>} : tensor<4x5xf32> -> tensor<8x5xf32>
// CHECK-NEXT: comm.unpad %0 {dimension = 0 : i64} : tensor<8x5xf32> -> tensor<7x5xf32>
// CHECK-NEXT: return
func.func @unpad(%x: tensor<7x5xf32, #b_pad>) -> tensor<7x5xf32, #whole> {
  %0 = galv.redistribute %x : tensor<7x5xf32, #b_pad> -> tensor<7x5xf32, #whole>
  return %0 : tensor<7x5xf32, #whole>
}

//===-- Operations --------------------------------------------------------===//

// The same operations on smaller shapes; the module path stays with what a
// redistribution became.
// CHECK-LABEL: func.func @feed_forward(%arg0: tensor<2x32x128xf32>, %arg1: tensor<256x128xf32>, %arg2: tensor<128x256xf32>) -> tensor<2x32x128xf32> {
// CHECK-NEXT: %[[N:.*]] = comm.all_gather %arg0 {dimension = 1 : i64, module = "h.0.ln", over = #comm.group<[b = 2]>} : tensor<2x32x128xf32> -> tensor<2x64x128xf32>
// CHECK-NEXT: %[[U:.*]] = galv.linear %[[N]], %arg1 {module = "h.0.up"} : (tensor<2x64x128xf32>, tensor<256x128xf32>) -> tensor<2x64x256xf32>
// CHECK-NEXT: %[[H:.*]] = galv.gelu %[[U]] : (tensor<2x64x256xf32>) -> tensor<2x64x256xf32>
// CHECK-NEXT: %[[D:.*]] = galv.linear %[[H]], %arg2 {module = "h.0.down"} : (tensor<2x64x256xf32>, tensor<128x256xf32>) -> tensor<2x64x128xf32>
// CHECK-NEXT: %[[Y:.*]] = comm.reduce_scatter %[[D]] {dimension = 1 : i64, module = "h.0.down", over = #comm.group<[b = 2]>} : tensor<2x64x128xf32> -> tensor<2x32x128xf32>
// CHECK-NEXT: return %[[Y]]
func.func @feed_forward(%n: tensor<8x64x128xf32, #S>, %up: tensor<512x128xf32, #b>, %down: tensor<128x512xf32, #galv.placement<#mesh, [{}, {b}]>>) -> tensor<8x64x128xf32, #S> {
  %whole = galv.redistribute %n {module = "h.0.ln"} : tensor<8x64x128xf32, #S> -> tensor<8x64x128xf32, #F>
  %u = galv.linear %whole, %up {module = "h.0.up"} : (tensor<8x64x128xf32, #F>, tensor<512x128xf32, #b>) -> tensor<8x64x512xf32, #C>
  %h = galv.gelu %u : (tensor<8x64x512xf32, #C>) -> tensor<8x64x512xf32, #C>
  %d = galv.linear %h, %down {module = "h.0.down"} : (tensor<8x64x512xf32, #C>, tensor<128x512xf32, #galv.placement<#mesh, [{}, {b}]>>) -> tensor<8x64x128xf32, #P>
  %y = galv.redistribute %d {module = "h.0.down"} : tensor<8x64x128xf32, #P> -> tensor<8x64x128xf32, #S>
  return %y : tensor<8x64x128xf32, #S>
}

// Indexed factors: an input is told which rows of the step are this rank's, a
// look-up which ranks share its table and how long that is without padding.
// CHECK-LABEL: func.func @embedding(%arg0: tensor<129x128xf32>) -> tensor<2x64x128xf32> {
// CHECK-NEXT: %[[IDS:.*]] = galv.input {batch = 8 : i64, columns = #comm.group<[]>, microbatched = true, name = "tokens", rows = #comm.group<[a = 2]>, sequence = 64 : i64} : () -> tensor<2x64xi64>
// CHECK-NEXT: galv.embedding %[[IDS]], %arg0 {over = #comm.group<[b = 2]>, vocabulary = 257 : i64} : (tensor<2x64xi64>, tensor<129x128xf32>) -> tensor<2x64x128xf32>
func.func @embedding(%table: tensor<257x128xf32, #b_pad>) -> tensor<8x64x128xf32, #P> {
  %ids = galv.input {name = "tokens"} : () -> tensor<8x64xi64, #rows>
  %x = galv.embedding %ids, %table : (tensor<8x64xi64, #rows>, tensor<257x128xf32, #b_pad>) -> tensor<8x64x128xf32, #P>
  return %x : tensor<8x64x128xf32, #P>
}

// Outside of the microbatches, the labels of the whole step.
// CHECK-LABEL: func.func @labels()
// CHECK-NEXT: galv.input {batch = 8 : i64, columns = #comm.group<[]>, microbatched = false, name = "labels", rows = #comm.group<[a = 2]>, sequence = 64 : i64} : () -> tensor<4x64xi64>
func.func @labels() -> tensor<8x64xi64, #a> {
  %labels = galv.input {name = "labels"} : () -> tensor<8x64xi64, #a>
  return %labels : tensor<8x64xi64, #a>
}

// CHECK-LABEL: func.func @positions()
// CHECK-NEXT: galv.positions {columns = #comm.group<[b = 2]>, sequence = 64 : i64} : () -> tensor<32xi64>
func.func @positions() -> tensor<64xi64, #galv.placement<#mesh, [{b}]>> {
  %at = galv.positions : () -> tensor<64xi64, #galv.placement<#mesh, [{b}]>>
  return %at : tensor<64xi64, #galv.placement<#mesh, [{b}]>>
}

// A closed factor: cross entropy finishes a split vocabulary itself, by the
// largest logit and one all-reduce of both sums.
// CHECK-LABEL: func.func @cross_entropy(%arg0: tensor<2x64x129xf32>, %arg1: tensor<2x64xi64>) -> tensor<f32> {
// CHECK-NEXT: %[[MINE:.*]] = galv.cross_entropy_maximum %arg0 {over = #comm.group<[b = 2]>, vocabulary = 257 : i64} : (tensor<2x64x129xf32>) -> tensor<2x64xf32>
// CHECK-NEXT: %[[MAX:.*]] = comm.all_reduce %[[MINE]] {kind = "max", over = #comm.group<[b = 2]>}
// CHECK-NEXT: %[[PARTS:.*]] = galv.cross_entropy_parts %arg0, %arg1, %[[MAX]] {over = #comm.group<[b = 2]>, vocabulary = 257 : i64} : (tensor<2x64x129xf32>, tensor<2x64xi64>, tensor<2x64xf32>) -> tensor<2x2x64xf32>
// CHECK-NEXT: %[[SUMS:.*]] = comm.all_reduce %[[PARTS]] {kind = "sum", over = #comm.group<[b = 2]>}
// CHECK-NEXT: galv.cross_entropy_finish %[[MAX]], %[[SUMS]], %arg1
// CHECK-NEXT: return
func.func @cross_entropy(%logits: tensor<8x64x257xf32, #logits>, %labels: tensor<8x64xi64, #rows>) -> tensor<f32, #loss> {
  %loss, %log_sum_exp = galv.cross_entropy %logits, %labels : (tensor<8x64x257xf32, #logits>, tensor<8x64xi64, #rows>) -> (tensor<f32, #loss>, tensor<8x64xf32, #rows>)
  return %loss : tensor<f32, #loss>
}

// Where nothing is split it stays one operation.
// CHECK-LABEL: func.func @whole_cross_entropy(
// CHECK-NEXT: galv.cross_entropy %arg0, %arg1 {over = #comm.group<[]>, vocabulary = 257 : i64}
// CHECK-NEXT: return
func.func @whole_cross_entropy(%logits: tensor<8x64x257xf32, #F>, %labels: tensor<8x64xi64, #rows>) -> tensor<f32, #loss> {
  %loss, %log_sum_exp = galv.cross_entropy %logits, %labels : (tensor<8x64x257xf32, #F>, tensor<8x64xi64, #rows>) -> (tensor<f32, #loss>, tensor<8x64xf32, #rows>)
  return %loss : tensor<f32, #loss>
}

// CHECK-LABEL: func.func @gradients(
// CHECK-NEXT: galv.cross_entropy_gradient %arg0, %arg1, %arg2, %arg3 {over = #comm.group<[b = 2]>, vocabulary = 257 : i64}
// CHECK-SAME: -> tensor<2x64x129xf32>
// CHECK-NEXT: galv.embedding_gradient %arg4, %arg2 {over = #comm.group<[b = 2]>, vocabulary = 257 : i64} : (tensor<2x64x128xf32>, tensor<2x64xi64>) -> tensor<129x128xf32>
func.func @gradients(%seed: tensor<f32, #scalar>, %logits: tensor<8x64x257xf32, #logits>, %labels: tensor<8x64xi64, #rows>, %log_sum_exp: tensor<8x64xf32, #rows>, %dx: tensor<8x64x128xf32, #F>) {
  %0 = galv.cross_entropy_gradient %seed, %logits, %labels, %log_sum_exp : (tensor<f32, #scalar>, tensor<8x64x257xf32, #logits>, tensor<8x64xi64, #rows>, tensor<8x64xf32, #rows>) -> tensor<8x64x257xf32, #logits>
  %1 = galv.embedding_gradient %dx, %labels {vocabulary = 257 : i64} : (tensor<8x64x128xf32, #F>, tensor<8x64xi64, #rows>) -> tensor<257x128xf32, #galv.placement<#mesh, [{b : pad}, {}], partial = {a, m}>>
  return
}
}
