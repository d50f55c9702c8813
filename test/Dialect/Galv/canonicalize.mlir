// What folds: a redistribution that changes nothing, and no other.
// RUN: galv-opt %s --canonicalize | FileCheck %s
// CHECK-DAG: #[[S:p[0-9]*]] = #galv.placement<#mesh, [{a}, {b}]>
// CHECK-DAG: #[[F:p[0-9]*]] = #galv.placement<#mesh, [{a}, {}]>
#mesh = #galv.mesh<[a = 2, b = 2]>
#S = #galv.placement<#mesh, [{a}, {b}]>
#F = #galv.placement<#mesh, [{a}, {}]>

// CHECK-LABEL: func.func @nothing_changes(
// CHECK-SAME: %[[X:.*]]: tensor<8x4xf32, #[[S]]>)
// CHECK-NEXT: return %[[X]]
func.func @nothing_changes(%x: tensor<8x4xf32, #S>) -> tensor<8x4xf32, #S> {
  %0 = galv.redistribute %x : tensor<8x4xf32, #S> -> tensor<8x4xf32, #S>
  return %0 : tensor<8x4xf32, #S>
}

// There and back is a gather and a slice: it stays as it is written.
// CHECK-LABEL: func.func @there_and_back(
// CHECK: galv.redistribute {{.*}} : tensor<8x4xf32, #[[S]]> -> tensor<8x4xf32, #[[F]]>
// CHECK: galv.redistribute {{.*}} : tensor<8x4xf32, #[[F]]> -> tensor<8x4xf32, #[[S]]>
func.func @there_and_back(%x: tensor<8x4xf32, #S>) -> tensor<8x4xf32, #S> {
  %0 = galv.redistribute %x : tensor<8x4xf32, #S> -> tensor<8x4xf32, #F>
  %1 = galv.redistribute %0 : tensor<8x4xf32, #F> -> tensor<8x4xf32, #S>
  return %1 : tensor<8x4xf32, #S>
}

// What nobody reads goes; a collective stays, its peers wait for it.
// CHECK-LABEL: func.func @unused(
// CHECK-NOT: galv.
// CHECK: comm.all_gather
// CHECK-NOT: comm.slice
// CHECK: return
func.func @unused(%x: tensor<8x4xf32, #S>, %local: tensor<4x2xf32>) {
  %0 = galv.redistribute %x : tensor<8x4xf32, #S> -> tensor<8x4xf32, #F>
  %1 = galv.gelu %x : (tensor<8x4xf32, #S>) -> tensor<8x4xf32, #S>
  %2 = comm.all_gather %local {dimension = 1, over = #comm.group<[b = 2]>} : tensor<4x2xf32> -> tensor<4x4xf32>
  %3 = comm.slice %local {dimension = 1, over = #comm.group<[b = 2]>} : tensor<4x2xf32> -> tensor<4x1xf32>
  return
}
