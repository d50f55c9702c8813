// A step becomes two tables a stage: what each segment calls, and in which order
// segments, microbatches and transfers come.
// RUN: galv-opt %s --galv-schedule | FileCheck %s
// RUN: sed 's/schedule = "1f1b"/schedule = "gpipe"/' %s | galv-opt --galv-schedule | FileCheck %s --check-prefix=GPIPE

// 1F1B: the first stage runs one forward ahead, then a forward and a backward in
// turn. A send starts together with the receive that follows it.
//   stage0   F0    F1     B0 F2     B1 F3     B2   B3
//   stage1      F0 B0  F1 B1 F2 B2     F3 B3
// CHECK-LABEL: rank.stage @stage0
// CHECK-SAME: order = [#rank.action<run 0 microbatch -1>, #rank.action<run 1 microbatch -1>,
// CHECK-SAME: #rank.action<run 2 microbatch 0>, #rank.action<transfers 0 microbatch 0>,
// CHECK-SAME: #rank.action<run 2 microbatch 1>, #rank.action<transfers 0 microbatch 1, 1 microbatch 0>, #rank.action<run 3 microbatch 0>,
// CHECK-SAME: #rank.action<run 2 microbatch 2>, #rank.action<transfers 0 microbatch 2, 1 microbatch 1>, #rank.action<run 3 microbatch 1>,
// CHECK-SAME: #rank.action<run 2 microbatch 3>, #rank.action<transfers 0 microbatch 3, 1 microbatch 2>, #rank.action<run 3 microbatch 2>,
// CHECK-SAME: #rank.action<transfers 1 microbatch 3>, #rank.action<run 3 microbatch 3>, #rank.action<run 4 microbatch -1>], slots = 2 : i64}

// What lives on for the backward has a slot for each microbatch in flight, what
// a segment needs for itself is local to it.
// CHECK: %[[UP:.*]] = rank.buffer "rest" {block = 1 : i64, parameter = @up} : memref<16x8xf32>
// CHECK: %[[GRAD:.*]] = rank.buffer "gradient" {block = 1 : i64, parameter = @up} : memref<16x8xf32>
// CHECK: %[[X:.*]] = rank.buffer "slotted" {block = 1 : i64} : memref<2x16xf32>
// CHECK: %[[KEPT:.*]] = rank.buffer "slotted" {block = 1 : i64} : memref<2x8xf32>
// CHECK: %[[DX:.*]] = rank.buffer "slotted" {block = 0 : i64} : memref<2x16xf32>
// CHECK: %[[PART:.*]] = rank.buffer "local" {block = 1 : i64} : memref<16x8xf32>

// Accumulators are zeroed before anything else.
// CHECK: rank.segment "prepare" {
// CHECK-NEXT: rank.call @[[ZERO:.*]](%[[GRAD]]) {action = "zero",
// CHECK-NEXT: {{^ *}$}}
// A parameter whose use is its rest is that buffer: there is nothing to do.
// CHECK-NEXT: rank.segment "begin" {
// CHECK-NEXT: {{^ *}$}}
// CHECK-NEXT: rank.segment "forward" {
// CHECK-NEXT: rank.call @layer_forward(%[[UP]], %[[X]], %[[KEPT]]) {action = "forward", block = 1 : i64, layer = 0 : i64, results = 2 : i64}
// CHECK-NEXT: {{^ *}$}}
// A microbatch's gradient is added where it is made.
// CHECK-NEXT: rank.segment "backward" {
// CHECK-NEXT: rank.call @layer_backward(%[[DX]], %[[KEPT]], %[[PART]]) {action = "backward",
// CHECK-NEXT: rank.call @[[ADD:.*]](%[[GRAD]], %[[PART]]) {action = "accumulate",
// CHECK-NEXT: {{^ *}$}}
// CHECK-NEXT: rank.segment "finish" {
// CHECK: rank.call @update_layer(%[[GRAD]],
// CHECK-NEXT: {{^ *}$}}
// CHECK-NEXT: rank.transfer %[[X]] {peer = 1 : i64, send, tag = 0 : i64}
// CHECK-NEXT: rank.transfer %[[DX]] {peer = 1 : i64, tag = 1 : i64}

// The last stage runs none ahead. Each send of a backward starts together with
// the receive of the next forward.
// CHECK-LABEL: rank.stage @stage1
// CHECK-SAME: #rank.action<transfers 0 microbatch 0>, #rank.action<run 2 microbatch 0>, #rank.action<run 3 microbatch 0>,
// CHECK-SAME: #rank.action<transfers 1 microbatch 0, 0 microbatch 1>, #rank.action<run 2 microbatch 1>, #rank.action<run 3 microbatch 1>,
// CHECK-SAME: #rank.action<transfers 1 microbatch 3>, #rank.action<run 4 microbatch -1>], slots = 2 : i64}
// The loss is accumulated after the forward, the gradient after the backward.
// CHECK: rank.segment "forward" {
// CHECK-NEXT: rank.call @head_forward(
// CHECK-NEXT: rank.call @{{.*}} {action = "accumulate",
// CHECK: rank.segment "backward" {
// CHECK-NEXT: rank.call @head_backward(
// CHECK-NEXT: rank.call @{{.*}} {action = "accumulate",
// CHECK: rank.transfer %{{.*}} {peer = 0 : i64, tag = 0 : i64}
// CHECK-NEXT: rank.transfer %{{.*}} {peer = 0 : i64, send, tag = 1 : i64}

// An accumulating function reads what was made and writes the sum; an update has
// the parameter's storage as arguments.
// CHECK: func.func private @[[ADD]](%[[SUM:.*]]: tensor<16x8xf32>, %[[MADE:.*]]: tensor<16x8xf32>)
// CHECK-NEXT: rank.run "accumulate" into(%[[SUM]]) from(%[[MADE]]) []
// CHECK: func.func private @[[ZERO]](
// CHECK-NEXT: rank.run "fill_zero"
// CHECK: func.func private @update_layer(%[[G:.*]]: tensor<16x8xf32>, %[[C:.*]]: tensor<f32>, %[[REST:.*]]: tensor<16x8xf32>, %[[AVG:.*]]: tensor<16x8xf32>, %[[SQ:.*]]: tensor<16x8xf32>)
// CHECK-NEXT: rank.run "adamw" into(%[[REST]], %[[AVG]], %[[SQ]]) from(%[[G]], %[[C]]) [true]

// GPipe: all forwards, then all backwards; every microbatch is in flight.
// GPIPE-LABEL: rank.stage @stage0
// GPIPE-SAME: #rank.action<run 2 microbatch 0>, #rank.action<transfers 0 microbatch 0>, #rank.action<run 2 microbatch 1>, #rank.action<transfers 0 microbatch 1>,
// GPIPE-SAME: #rank.action<run 2 microbatch 3>, #rank.action<transfers 0 microbatch 3>, #rank.action<transfers 1 microbatch 0>, #rank.action<run 3 microbatch 0>,
// GPIPE-SAME: slots = 4 : i64}
// GPIPE-LABEL: rank.stage @stage1
// GPIPE-SAME: #rank.action<run 2 microbatch 3>, #rank.action<run 3 microbatch 0>, #rank.action<transfers 1 microbatch 0>, #rank.action<run 3 microbatch 1>,
// GPIPE-SAME: slots = 4 : i64}

// With one microbatch nothing is accumulated: what is made is the sum.
// RUN: sed 's/, time = \[m = 4\]//;s/microbatches = 4/microbatches = 1/' %s | galv-opt --galv-schedule | FileCheck %s --check-prefix=ONE --implicit-check-not='action = "accumulate"' --implicit-check-not='action = "zero"'
// ONE-LABEL: rank.stage @stage0
// ONE-SAME: order = [#rank.action<run 0 microbatch -1>, #rank.action<run 1 microbatch -1>, #rank.action<run 2 microbatch 0>, #rank.action<transfers 0 microbatch 0>, #rank.action<transfers 1 microbatch 0>, #rank.action<run 3 microbatch 0>, #rank.action<run 4 microbatch -1>], slots = 1 : i64}

// All stages are simulated together. Here the first of the pipeline stands
// second: in 1F1B's order it waits for the backward of a microbatch whose next
// forward the other one waits for. GPipe's order of the same stages ends.
// RUN: sed '/galv.stage @stage0/{h;d};/galv.stage @stage1/{G}' %s | sed '/galv.stage @stage0/s/= 0/= 1/g;/galv.stage @stage1/s/= 1/= 0/g' > %t.turned.mlir
// RUN: not galv-opt %t.turned.mlir --galv-schedule 2>&1 | FileCheck %s --check-prefix=DEADLOCK
// DEADLOCK: turned.mlir:[[#]]:3: error: the order deadlocks: stage1 receives value 0 of microbatch 1 at action 4, but stage0 waits at action 3
// RUN: sed 's/schedule = "1f1b"/schedule = "gpipe"/' %t.turned.mlir | galv-opt --galv-schedule | FileCheck %s --check-prefix=ENDS
// ENDS: slots = 4

#mesh = #galv.mesh<[], time = [m = 4]>
#whole = #galv.placement<#mesh, [{}, {}]>
module {
  galv.parameter @up : tensor<16x8xf32> {checkpoint = #galv.checkpoint<"h.0.up", [16, 8], [0, 0], transposed = false>, dimensions = ["hidden", "embed"], home = @stage0, initializer = #galv.initializer<"normal", 2.000000e-02 : f64>, rest = tensor<16x8xf32, #whole>}
  galv.parameter @down : tensor<16x8xf32> {checkpoint = #galv.checkpoint<"h.1.down", [16, 8], [0, 0], transposed = false>, dimensions = ["hidden", "embed"], home = @stage1, initializer = #galv.initializer<"normal", 2.000000e-02 : f64>, rest = tensor<16x8xf32, #whole>}
  galv.stage @stage0 #mesh {first_rank = 0 : i64, index = 0 : i64}
  galv.stage @stage1 #mesh {first_rank = 1 : i64, index = 1 : i64}
  galv.step @example attributes {batch = 8 : i64, blocks = [#galv.strategy<stage = 0, data = [], tensor = [], sequence = false, zero = 0, recompute = false>, #galv.strategy<stage = 0, data = [], tensor = [], sequence = false, zero = 0, recompute = false>, #galv.strategy<stage = 1, data = [], tensor = [], sequence = false, zero = 0, recompute = false>, #galv.strategy<stage = 1, data = [], tensor = [], sequence = false, zero = 0, recompute = false>], configuration = "{}", layer_prefix = "h", layers = 2 : i64, mesh = #mesh, microbatches = 4 : i64, schedule = "1f1b", sequence = 8 : i64, stages = 2 : i64, vocabulary = 16 : i64} {
    %up = galv.phase "begin" on @stage0() -> !galv.on<@stage0, tensor<16x8xf32>> {
      %0 = galv.materialize @up {action = "materialize", block = 1 : i64} : tensor<16x8xf32>
      galv.yield %0 : tensor<16x8xf32>
    }
    %last:2 = galv.phase "begin" on @stage1() -> (!galv.on<@stage1, tensor<f32>>, !galv.on<@stage1, tensor<16x8xf32>>) {
      %0 = galv.input {action = "count", batch = 8 : i64, block = 3 : i64, columns = #comm.group<[]>, microbatched = false, name = "labels", rows = #comm.group<[]>, sequence = 8 : i64} : () -> tensor<8x8xi64>
      %1 = galv.count_valid %0 {action = "count", block = 3 : i64} : (tensor<8x8xi64>) -> tensor<f32>
      %2 = galv.reciprocal %1 {action = "count", block = 3 : i64} : (tensor<f32>) -> tensor<f32>
      %3 = galv.materialize @down {action = "materialize", block = 2 : i64} : tensor<16x8xf32>
      galv.yield %2, %3 : tensor<f32>, tensor<16x8xf32>
    }
    %sums:3 = galv.microbatches -> !galv.on<@stage1, tensor<f32>>, !galv.on<@stage0, tensor<16x8xf32>>, !galv.on<@stage1, tensor<16x8xf32>> {
      %0:2 = galv.phase "forward" on @stage0(%w = %up : !galv.on<@stage0, tensor<16x8xf32>>) -> (!galv.on<@stage0, tensor<2x16xf32>>, !galv.on<@stage0, tensor<2x8xf32>>) {
        %7:2 = galv.call @layer_forward(%w) {block = 1 : i64, layer = 0 : i64} : (tensor<16x8xf32>) -> (tensor<2x16xf32>, tensor<2x8xf32>)
        galv.yield %7#0, %7#1 : tensor<2x16xf32>, tensor<2x8xf32>
      }
      %1 = galv.transfer %0#0 : <@stage0, tensor<2x16xf32>> -> <@stage1, tensor<2x16xf32>>
      %2:2 = galv.phase "forward" on @stage1(%x = %1 : !galv.on<@stage1, tensor<2x16xf32>>, %w = %last#1 : !galv.on<@stage1, tensor<16x8xf32>>) -> (!galv.on<@stage1, tensor<f32>>, !galv.on<@stage1, tensor<2x8xf32>>) {
        %7:2 = galv.call @head_forward(%x, %w) {block = 3 : i64} : (tensor<2x16xf32>, tensor<16x8xf32>) -> (tensor<f32>, tensor<2x8xf32>)
        galv.yield %7#0, %7#1 : tensor<f32>, tensor<2x8xf32>
      }
      %3:2 = galv.phase "backward" on @stage1(%seed = %last#0 : !galv.on<@stage1, tensor<f32>>, %kept = %2#1 : !galv.on<@stage1, tensor<2x8xf32>>, %w = %last#1 : !galv.on<@stage1, tensor<16x8xf32>>) -> (!galv.on<@stage1, tensor<2x16xf32>>, !galv.on<@stage1, tensor<16x8xf32>>) {
        %7:2 = galv.call @head_backward(%seed, %kept, %w) {block = 3 : i64} : (tensor<f32>, tensor<2x8xf32>, tensor<16x8xf32>) -> (tensor<2x16xf32>, tensor<16x8xf32>)
        galv.yield %7#0, %7#1 : tensor<2x16xf32>, tensor<16x8xf32>
      }
      %4 = galv.transfer %3#0 : <@stage1, tensor<2x16xf32>> -> <@stage0, tensor<2x16xf32>>
      %5 = galv.phase "backward" on @stage0(%dx = %4 : !galv.on<@stage0, tensor<2x16xf32>>, %kept = %0#1 : !galv.on<@stage0, tensor<2x8xf32>>) -> !galv.on<@stage0, tensor<16x8xf32>> {
        %7 = galv.call @layer_backward(%dx, %kept) {block = 1 : i64, layer = 0 : i64} : (tensor<2x16xf32>, tensor<2x8xf32>) -> tensor<16x8xf32>
        galv.yield %7 : tensor<16x8xf32>
      }
      galv.accumulate %2#0, %5, %3#1 : !galv.on<@stage1, tensor<f32>>, !galv.on<@stage0, tensor<16x8xf32>>, !galv.on<@stage1, tensor<16x8xf32>>
    }
    galv.phase "finish" on @stage0(%g = %sums#1 : !galv.on<@stage0, tensor<16x8xf32>>) {
      %0 = galv.sum_of_squares %g {action = "norm", block = 1 : i64} : (tensor<16x8xf32>) -> tensor<f32>
      %1 = comm.all_reduce %0 {action = "clip", block = 3 : i64, kind = "sum", over = #comm.group<[stages = 2], across>} : tensor<f32> -> tensor<f32>
      %c, %norm = galv.clip_coefficient %1 {action = "clip", block = 3 : i64} : (tensor<f32>) -> (tensor<f32>, tensor<f32>)
      galv.update @up, %g, %c {action = "update", block = 1 : i64, decay = true} : tensor<16x8xf32>, tensor<f32>
      galv.yield
    }
    galv.phase "finish" on @stage1(%g = %sums#2 : !galv.on<@stage1, tensor<16x8xf32>>) {
      %0 = galv.sum_of_squares %g {action = "norm", block = 2 : i64} : (tensor<16x8xf32>) -> tensor<f32>
      %1 = comm.all_reduce %0 {action = "clip", block = 3 : i64, kind = "sum", over = #comm.group<[stages = 2], across>} : tensor<f32> -> tensor<f32>
      %c, %norm = galv.clip_coefficient %1 {action = "clip", block = 3 : i64} : (tensor<f32>) -> (tensor<f32>, tensor<f32>)
      galv.update @down, %g, %c {action = "update", block = 2 : i64, decay = true} : tensor<16x8xf32>, tensor<f32>
      galv.yield
    }
  }
  func.func private @layer_forward(tensor<16x8xf32>) -> (tensor<2x16xf32>, tensor<2x8xf32>)
  func.func private @head_forward(tensor<2x16xf32>, tensor<16x8xf32>) -> (tensor<f32>, tensor<2x8xf32>)
  func.func private @head_backward(tensor<f32>, tensor<2x8xf32>, tensor<16x8xf32>) -> (tensor<2x16xf32>, tensor<16x8xf32>)
  func.func private @layer_backward(tensor<2x16xf32>, tensor<2x8xf32>) -> tensor<16x8xf32>
}
