// Every value has a place in the one arena of its stage, and functions write
// where they are told.
// RUN: galv-opt %s --galv-plan-memory -o %t.mlir
// RUN: FileCheck %s --input-file=%t.mlir

// No value is overwritten while it is needed, over two steps; values that share
// a place by mistake are found.
// RUN: /usr/bin/python3 %S/Inputs/memory.py %t.mlir | FileCheck %s --check-prefix=MEMORY
// MEMORY: stage0: 284 reads, 5440 bytes, 2 slots
// RUN: sed '/rank.buffer "slotted" {block = 2/s/offset = 4352/offset = 4224/' %t.mlir > %t.moved.mlir
// RUN: not /usr/bin/python3 %S/Inputs/memory.py %t.moved.mlir 2>&1 | FileCheck %s --check-prefix=MOVED
// MOVED: stage0: {{.*}} reads ({{.*}}), but finds ({{.*}})
// RUN: sed 's/slot_stride = 256/slot_stride = 0/' %t.mlir > %t.slots.mlir
// RUN: not /usr/bin/python3 %S/Inputs/memory.py %t.slots.mlir 2>&1 | FileCheck %s --check-prefix=SLOTS
// SLOTS: stage0: layer_backward{{.*}} reads ('%{{[0-9]+}}', 0), but finds ('%{{[0-9]+}}', 1)
// RUN: sed '/rank.local/s/offset = 128/offset = 64/' %t.mlir > %t.local.mlir
// RUN: not /usr/bin/python3 %S/Inputs/memory.py %t.local.mlir 2>&1 | FileCheck %s --check-prefix=LOCAL
// LOCAL: stage0: layer_forward, rank.run {{[0-9]+}} linear_input_gradient writes %1 where %0 is

// reports | kept, block by block | slots of microbatches | locals | scratch
//      64 |       2 * 2048 + 64  |             2 * 256   |    512 |     192
// CHECK-LABEL: rank.stage @stage0
// CHECK-SAME: arena = 5440 : i64
// CHECK-SAME: scratch = 5248 : i64, slot_stride = 256 : i64, slots = 2 : i64
// A scalar takes a cache line.
// CHECK: rank.buffer "kept" {block = 0 : i64, offset = 0 : i64, report = "loss"} : memref<f32>
// CHECK: rank.buffer "kept" {block = 3 : i64, offset = 4160 : i64} : memref<f32>
// Layers lie one after the other in the same order, whatever the order of the
// buffers here: one distance takes a row from each layer to the next.
// CHECK: rank.buffer "rest" {block = 1 : i64, offset = 64 : i64, parameter = @h.0.up}
// CHECK: rank.buffer "rest" {block = 2 : i64, offset = 2112 : i64, parameter = @h.1.up}
// CHECK: rank.buffer "gradient" {block = 1 : i64, offset = 576 : i64, parameter = @h.0.up}
// CHECK: rank.buffer "gradient" {block = 2 : i64, offset = 2624 : i64, parameter = @h.1.up}
// CHECK: rank.buffer "exp_avg" {block = 1 : i64, offset = 1088 : i64, parameter = @h.0.up}
// CHECK: rank.buffer "exp_avg" {block = 2 : i64, offset = 3136 : i64, parameter = @h.1.up}
// A layer's input is free once its output is there: the third takes its place.
// CHECK: rank.buffer "local" {block = 0 : i64, offset = 4736 : i64} : memref<2x1x8xf32>
// CHECK: rank.buffer "local" {block = 1 : i64, offset = 4800 : i64} : memref<2x1x8xf32>
// CHECK: rank.buffer "local" {block = 2 : i64, offset = 4736 : i64} : memref<2x1x8xf32>
// Offsets of the first slot.
// CHECK: rank.buffer "slotted" {block = 2 : i64, offset = 4352 : i64} : memref<2x1x16xf32>
// CHECK: rank.buffer "slotted" {block = 1 : i64, offset = 4224 : i64} : memref<2x1x16xf32>
// Another segment's locals have the same place.
// CHECK: rank.buffer "local" {block = 2 : i64, offset = 4736 : i64} : memref<16x8xf32>
// CHECK: rank.buffer "local" {block = 1 : i64, offset = 4736 : i64} : memref<16x8xf32>

// Arguments first, then what is written. What is returned is made in place; what
// is returned a second time is copied.
// CHECK-LABEL: func.func private @count(%arg0: memref<16x8xf32>, %arg1: memref<f32>, %arg2: memref<f32>, %arg3: memref<16x8xf32>, %arg4: memref<16x8xf32>) {
// CHECK-NEXT: %[[IDS:.*]] = rank.local {offset = 0 : i64} : memref<8x1xi64>
// Attributes come in the alphabetical order of their names.
// CHECK-NEXT: rank.run "input" into(%[[IDS]]) from() [8, #comm.group<[]>, false, "tokens", #comm.group<[]>, 1]
// CHECK-NEXT: rank.run "count_valid" into(%arg1) from(%[[IDS]]) []
// CHECK-NEXT: rank.run "gelu" into(%arg3) from(%arg0) []
// CHECK-NEXT: rank.run "copy" into(%arg2) from(%arg1) []
// CHECK-NEXT: rank.run "copy" into(%arg4) from(%arg3) []
// CHECK-NEXT: return

// Values inside lie in the scratch area, each from its first to its last use.
// CHECK-LABEL: func.func private @layer_forward(%arg0: memref<2x1x8xf32>, %arg1: memref<16x8xf32>, %arg2: memref<2x1x8xf32>, %arg3: memref<2x1x16xf32>) {
// CHECK-NEXT: rank.run "linear" into(%arg3) from(%arg0, %arg1) [] {module = "h.{layer}.up"}
// CHECK-NEXT: %[[H:.*]] = rank.local {offset = 0 : i64} : memref<2x1x16xf32>
// CHECK-NEXT: rank.run "gelu" into(%[[H]]) from(%arg3) []
// CHECK-NEXT: %[[D:.*]] = rank.local {offset = 128 : i64} : memref<2x1x8xf32>
// CHECK-NEXT: rank.run "linear_input_gradient" into(%[[D]]) from(%[[H]], %arg1) []
// CHECK-NEXT: %[[E:.*]] = rank.local {offset = 0 : i64} : memref<2x1x8xf32>
// CHECK-NEXT: rank.run "gelu" into(%[[E]]) from(%[[D]]) []
// CHECK-NEXT: rank.run "add" into(%arg2) from(%arg0, %[[E]]) []
// CHECK-NEXT: return

#mesh = #galv.mesh<[], time = [m = 4]>
#whole = #galv.placement<#mesh, [{}, {}]>
module {
  galv.parameter @h.0.up : tensor<16x8xf32> {checkpoint = #galv.checkpoint<"h.0.up", [16, 8], [0, 0], transposed = false>, dimensions = ["hidden", "embed"], home = @stage0, initializer = #galv.initializer<"normal", 2.000000e-02 : f64>, rest = tensor<16x8xf32, #whole>}
  galv.parameter @h.1.up : tensor<16x8xf32> {checkpoint = #galv.checkpoint<"h.1.up", [16, 8], [0, 0], transposed = false>, dimensions = ["hidden", "embed"], home = @stage0, initializer = #galv.initializer<"normal", 2.000000e-02 : f64>, rest = tensor<16x8xf32, #whole>}
  rank.program @example attributes {batch = 8 : i64, configuration = "{}", layer_prefix = "h", layers = 2 : i64, mesh = #mesh, microbatches = 4 : i64, schedule = "1f1b", sequence = 1 : i64, vocabulary = 16 : i64} {
    rank.stage @stage0 attributes {first_rank = 0 : i64, index = 0 : i64, order = [
        #rank.action<run 0 microbatch -1>,
        #rank.action<run 1 microbatch 0>, #rank.action<run 1 microbatch 1>,
        #rank.action<run 2 microbatch 0>, #rank.action<run 1 microbatch 2>,
        #rank.action<run 2 microbatch 1>, #rank.action<run 1 microbatch 3>,
        #rank.action<run 2 microbatch 2>, #rank.action<run 2 microbatch 3>,
        #rank.action<run 3 microbatch -1>], slots = 2 : i64} {
      %loss = rank.buffer "kept" {block = 0 : i64, report = "loss"} : memref<f32>
      %c = rank.buffer "kept" {block = 3 : i64} : memref<f32>
      %w0 = rank.buffer "rest" {block = 1 : i64, parameter = @h.0.up} : memref<16x8xf32>
      %w1 = rank.buffer "rest" {block = 2 : i64, parameter = @h.1.up} : memref<16x8xf32>
      %g0 = rank.buffer "gradient" {block = 1 : i64, parameter = @h.0.up} : memref<16x8xf32>
      %g1 = rank.buffer "gradient" {block = 2 : i64, parameter = @h.1.up} : memref<16x8xf32>
      %a0 = rank.buffer "exp_avg" {block = 1 : i64, parameter = @h.0.up} : memref<16x8xf32>
      %a1 = rank.buffer "exp_avg" {block = 2 : i64, parameter = @h.1.up} : memref<16x8xf32>
      %s0 = rank.buffer "exp_avg_sq" {block = 1 : i64, parameter = @h.0.up} : memref<16x8xf32>
      %s1 = rank.buffer "exp_avg_sq" {block = 2 : i64, parameter = @h.1.up} : memref<16x8xf32>
      %x = rank.buffer "local" {block = 0 : i64} : memref<2x1x8xf32>
      %y = rank.buffer "local" {block = 1 : i64} : memref<2x1x8xf32>
      %z = rank.buffer "local" {block = 2 : i64} : memref<2x1x8xf32>
      %u1 = rank.buffer "slotted" {block = 2 : i64} : memref<2x1x16xf32>
      %u0 = rank.buffer "slotted" {block = 1 : i64} : memref<2x1x16xf32>
      %d1 = rank.buffer "local" {block = 2 : i64} : memref<16x8xf32>
      %d0 = rank.buffer "local" {block = 1 : i64} : memref<16x8xf32>
      rank.segment "begin" {
        rank.call @count(%w0, %c, %loss, %g0, %g1) {action = "count", block = 3 : i64, results = 4 : i64} : memref<16x8xf32>, memref<f32>, memref<f32>, memref<16x8xf32>, memref<16x8xf32>
      }
      rank.segment "forward" {
        rank.call @embedding(%w0, %x) {action = "forward", block = 0 : i64, results = 1 : i64} : memref<16x8xf32>, memref<2x1x8xf32>
        rank.call @layer_forward(%x, %w0, %y, %u0) {action = "forward", block = 1 : i64, layer = 0 : i64, results = 2 : i64} : memref<2x1x8xf32>, memref<16x8xf32>, memref<2x1x8xf32>, memref<2x1x16xf32>
        rank.call @layer_forward(%y, %w1, %z, %u1) {action = "forward", block = 2 : i64, layer = 1 : i64, results = 2 : i64} : memref<2x1x8xf32>, memref<16x8xf32>, memref<2x1x8xf32>, memref<2x1x16xf32>
      }
      rank.segment "backward" {
        rank.call @layer_backward(%u1, %w1, %d1) {action = "backward", block = 2 : i64, layer = 1 : i64, results = 1 : i64} : memref<2x1x16xf32>, memref<16x8xf32>, memref<16x8xf32>
        rank.call @accumulate_layer(%g1, %d1) {action = "accumulate", block = 2 : i64, layer = 1 : i64, results = 0 : i64} : memref<16x8xf32>, memref<16x8xf32>
        rank.call @layer_backward(%u0, %w0, %d0) {action = "backward", block = 1 : i64, layer = 0 : i64, results = 1 : i64} : memref<2x1x16xf32>, memref<16x8xf32>, memref<16x8xf32>
        rank.call @accumulate_layer(%g0, %d0) {action = "accumulate", block = 1 : i64, layer = 0 : i64, results = 0 : i64} : memref<16x8xf32>, memref<16x8xf32>
      }
      rank.segment "finish" {
        rank.call @update_layer(%g0, %c, %w0, %a0, %s0) {action = "update", block = 1 : i64, layer = 0 : i64, results = 0 : i64} : memref<16x8xf32>, memref<f32>, memref<16x8xf32>, memref<16x8xf32>, memref<16x8xf32>
        rank.call @update_layer(%g1, %c, %w1, %a1, %s1) {action = "update", block = 2 : i64, layer = 1 : i64, results = 0 : i64} : memref<16x8xf32>, memref<f32>, memref<16x8xf32>, memref<16x8xf32>, memref<16x8xf32>
      }
    }
  }
  func.func private @count(%w: tensor<16x8xf32>) -> (tensor<f32>, tensor<f32>, tensor<16x8xf32>, tensor<16x8xf32>) {
    %0 = galv.input {batch = 8 : i64, columns = #comm.group<[]>, microbatched = false, name = "tokens", rows = #comm.group<[]>, sequence = 1 : i64} : () -> tensor<8x1xi64>
    %1 = galv.count_valid %0 : (tensor<8x1xi64>) -> tensor<f32>
    %3 = galv.gelu %w : (tensor<16x8xf32>) -> tensor<16x8xf32>
    return %1, %1, %3, %3 : tensor<f32>, tensor<f32>, tensor<16x8xf32>, tensor<16x8xf32>
  }
  func.func private @embedding(%table: tensor<16x8xf32> {galv.parameter = "h.0.up"}) -> tensor<2x1x8xf32> {
    %0 = galv.input {batch = 8 : i64, columns = #comm.group<[]>, microbatched = true, name = "tokens", rows = #comm.group<[]>, sequence = 1 : i64} : () -> tensor<2x1xi64>
    %1 = galv.embedding %0, %table {module = "table", over = #comm.group<[]>, vocabulary = 16 : i64} : (tensor<2x1xi64>, tensor<16x8xf32>) -> tensor<2x1x8xf32>
    return %1 : tensor<2x1x8xf32>
  }
  func.func private @layer_forward(%x: tensor<2x1x8xf32>, %w: tensor<16x8xf32>) -> (tensor<2x1x8xf32>, tensor<2x1x16xf32>) {
    %u = galv.linear %x, %w {module = "h.{layer}.up"} : (tensor<2x1x8xf32>, tensor<16x8xf32>) -> tensor<2x1x16xf32>
    %h = galv.gelu %u : (tensor<2x1x16xf32>) -> tensor<2x1x16xf32>
    %d = galv.linear_input_gradient %h, %w : (tensor<2x1x16xf32>, tensor<16x8xf32>) -> tensor<2x1x8xf32>
    %e = galv.gelu %d : (tensor<2x1x8xf32>) -> tensor<2x1x8xf32>
    %y = galv.add %x, %e : (tensor<2x1x8xf32>, tensor<2x1x8xf32>) -> tensor<2x1x8xf32>
    return %y, %u : tensor<2x1x8xf32>, tensor<2x1x16xf32>
  }
  func.func private @layer_backward(%u: tensor<2x1x16xf32>, %w: tensor<16x8xf32>) -> tensor<16x8xf32> {
    %d = galv.linear_input_gradient %u, %w : (tensor<2x1x16xf32>, tensor<16x8xf32>) -> tensor<2x1x8xf32>
    %g = galv.linear_weight_gradient %u, %d : (tensor<2x1x16xf32>, tensor<2x1x8xf32>) -> tensor<16x8xf32>
    return %g : tensor<16x8xf32>
  }
  func.func private @accumulate_layer(%sum: tensor<16x8xf32>, %part: tensor<16x8xf32>) {
    rank.run "accumulate" into(%sum) from(%part) [] : (tensor<16x8xf32>), (tensor<16x8xf32>)
    return
  }
  func.func private @update_layer(%g: tensor<16x8xf32>, %c: tensor<f32>, %w: tensor<16x8xf32>, %a: tensor<16x8xf32>, %s: tensor<16x8xf32>) {
    rank.run "adamw" into(%w, %a, %s) from(%g, %c) [true] : (tensor<16x8xf32>, tensor<16x8xf32>, tensor<16x8xf32>), (tensor<16x8xf32>, tensor<f32>)
    return
  }
}
