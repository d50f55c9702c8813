// Every operation and attribute of the dialect as it is read and written: the
// custom form, the generic form, and bytecode.
// RUN: galv-opt %s -o %t.mlir
// RUN: FileCheck %s --input-file=%t.mlir
// RUN: galv-opt %t.mlir | diff %t.mlir -
// RUN: galv-opt %s --mlir-print-op-generic | galv-opt | diff %t.mlir -
// RUN: galv-opt %s --emit-bytecode | galv-opt | diff %t.mlir -
// RUN: /usr/bin/python3 %S/../Inputs/all_ops.py comm %galv_src/dialects/Comm %s

// CHECK-LABEL: func.func @movement
func.func @movement(%x: tensor<2x32x128xf32>, %g: tensor<2x64x128xf32>) {
  // CHECK: comm.all_gather %{{.*}} {dimension = 1 : i64, over = #comm.group<[b = 2]>} : tensor<2x32x128xf32> -> tensor<2x64x128xf32>
  %0 = comm.all_gather %x {dimension = 1, over = #comm.group<[b = 2]>} : tensor<2x32x128xf32> -> tensor<2x64x128xf32>
  // CHECK: comm.reduce_scatter %{{.*}} {dimension = 1 : i64, over = #comm.group<[a = 2, b = 2]>} : tensor<2x64x128xf32> -> tensor<2x16x128xf32>
  %1 = comm.reduce_scatter %g {dimension = 1, over = #comm.group<[a = 2, b = 2]>} : tensor<2x64x128xf32> -> tensor<2x16x128xf32>
  // CHECK: comm.all_reduce %{{.*}} {kind = "sum", over = #comm.group<[b = 2]>} : tensor<2x64x128xf32> -> tensor<2x64x128xf32>
  %2 = comm.all_reduce %g {kind = "sum", over = #comm.group<[b = 2]>} : tensor<2x64x128xf32> -> tensor<2x64x128xf32>
  // CHECK: comm.all_reduce %{{.*}} {kind = "max", over = #comm.group<[stages = 4], across>}
  %3 = comm.all_reduce %g {kind = "max", over = #comm.group<[stages = 4], across>} : tensor<2x64x128xf32> -> tensor<2x64x128xf32>
  // CHECK: comm.all_to_all %{{.*}} {gatherDimension = 1 : i64, over = #comm.group<[b = 4]>, splitDimension = 2 : i64} : tensor<2x32x128xf32> -> tensor<2x128x32xf32>
  %4 = comm.all_to_all %x {splitDimension = 2, gatherDimension = 1, over = #comm.group<[b = 4]>} : tensor<2x32x128xf32> -> tensor<2x128x32xf32>
  // CHECK: comm.slice %{{.*}} {dimension = 0 : i64, over = #comm.group<[a = 2]>} : tensor<2x64x128xf32> -> tensor<1x64x128xf32>
  %5 = comm.slice %g {dimension = 0, over = #comm.group<[a = 2]>} : tensor<2x64x128xf32> -> tensor<1x64x128xf32>
  // The group of one rank.
  // CHECK: comm.keep_first %{{.*}} {over = #comm.group<[]>} : tensor<2x64x128xf32> -> tensor<2x64x128xf32>
  %6 = comm.keep_first %g {over = #comm.group<[]>} : tensor<2x64x128xf32> -> tensor<2x64x128xf32>
  // CHECK: comm.pad %{{.*}} {dimension = 0 : i64} : tensor<2x64x128xf32> -> tensor<3x64x128xf32>
  %7 = comm.pad %g {dimension = 0} : tensor<2x64x128xf32> -> tensor<3x64x128xf32>
  // CHECK: comm.unpad %{{.*}} {dimension = 2 : i64} : tensor<2x64x128xf32> -> tensor<2x64x125xf32>
  %8 = comm.unpad %g {dimension = 2} : tensor<2x64x128xf32> -> tensor<2x64x125xf32>
  // CHECK: comm.reshape %{{.*}} : tensor<2x64x128xf32> -> tensor<16384xf32>
  %9 = comm.reshape %g : tensor<2x64x128xf32> -> tensor<16384xf32>
  return
}
