// What must not verify: local shapes and groups that do not fit each other.
// RUN: galv-opt %s --split-input-file --verify-diagnostics

func.func @f(%x: tensor<2x32xf32>) {
  // expected-error @+1 {{'comm.all_gather' op dimension 1 of 'tensor<2x32xf32>' times 2 does not give 'tensor<2x32xf32>'}}
  %0 = comm.all_gather %x {dimension = 1, over = #comm.group<[b = 2]>} : tensor<2x32xf32> -> tensor<2x32xf32>
  return
}

// -----

// Another element type.
func.func @f(%x: tensor<2x32xf32>) {
  // expected-error @+1 {{'comm.all_gather' op dimension 1 of 'tensor<2x32xf32>' times 2 does not give 'tensor<2x64xf64>'}}
  %0 = comm.all_gather %x {dimension = 1, over = #comm.group<[b = 2]>} : tensor<2x32xf32> -> tensor<2x64xf64>
  return
}

// -----

func.func @f(%x: tensor<2x32xf32>) {
  // expected-error @+1 {{'comm.all_gather' op dimension 2 is not one of the 2 dimensions of 'tensor<2x32xf32>'}}
  %0 = comm.all_gather %x {dimension = 2, over = #comm.group<[b = 2]>} : tensor<2x32xf32> -> tensor<2x64xf32>
  return
}

// -----

func.func @f(%x: tensor<2x32xf32>) {
  // expected-error @+1 {{'comm.all_gather' op dimension -1 is not one of the 2 dimensions of 'tensor<2x32xf32>'}}
  %0 = comm.all_gather %x {dimension = -1, over = #comm.group<[b = 2]>} : tensor<2x32xf32> -> tensor<2x64xf32>
  return
}

// -----

// Nothing is exchanged with oneself.
func.func @f(%x: tensor<2x32xf32>) {
  // expected-error @+1 {{'comm.all_gather' op group #comm.group<[]> has one rank only}}
  %0 = comm.all_gather %x {dimension = 1, over = #comm.group<[]>} : tensor<2x32xf32> -> tensor<2x32xf32>
  return
}

// -----

func.func @f(%x: tensor<2x32xf32>) {
  // expected-error @+1 {{'comm.reduce_scatter' op dimension 1 of 'tensor<2x8xf32>' times 2 does not give 'tensor<2x32xf32>'}}
  %0 = comm.reduce_scatter %x {dimension = 1, over = #comm.group<[b = 2]>} : tensor<2x32xf32> -> tensor<2x8xf32>
  return
}

// -----

func.func @f(%x: tensor<2x32xf32>) {
  // expected-error @+1 {{'comm.reduce_scatter' op group #comm.group<[]> has one rank only}}
  %0 = comm.reduce_scatter %x {dimension = 1, over = #comm.group<[]>} : tensor<2x32xf32> -> tensor<2x32xf32>
  return
}

// -----

func.func @f(%x: tensor<2x32xf32>) {
  // expected-error @+1 {{'comm.slice' op dimension 0 of 'tensor<2x32xf32>' times 2 does not give 'tensor<2x32xf32>'}}
  %0 = comm.slice %x {dimension = 0, over = #comm.group<[b = 2]>} : tensor<2x32xf32> -> tensor<2x32xf32>
  return
}

// -----

func.func @f(%x: tensor<2x32xf32>) {
  // expected-error @+1 {{'comm.all_reduce' op kind "mean" is not sum or max}}
  %0 = comm.all_reduce %x {kind = "mean", over = #comm.group<[b = 2]>} : tensor<2x32xf32> -> tensor<2x32xf32>
  return
}

// -----

func.func @f(%x: tensor<2x32xf32>) {
  // expected-error @+1 {{'comm.all_reduce' op operand 'tensor<2x32xf32>' and result 'tensor<2x16xf32>' differ}}
  %0 = comm.all_reduce %x {kind = "sum", over = #comm.group<[b = 2]>} : tensor<2x32xf32> -> tensor<2x16xf32>
  return
}

// -----

func.func @f(%x: tensor<2x32xf32>) {
  // expected-error @+1 {{'comm.all_reduce' op group #comm.group<[stages = 1], across> has one rank only}}
  %0 = comm.all_reduce %x {kind = "sum", over = #comm.group<[stages = 1], across>} : tensor<2x32xf32> -> tensor<2x32xf32>
  return
}

// -----

func.func @f(%x: tensor<2x32xf32>) {
  // expected-error @+1 {{'comm.all_to_all' op dimensions 1 and 1 do not fit 'tensor<2x32xf32>' and 'tensor<2x32xf32>'}}
  %0 = comm.all_to_all %x {splitDimension = 1, gatherDimension = 1, over = #comm.group<[b = 2]>} : tensor<2x32xf32> -> tensor<2x32xf32>
  return
}

// -----

func.func @f(%x: tensor<2x31xf32>) {
  // expected-error @+1 {{'comm.all_to_all' op dimension 1 of 'tensor<2x31xf32>' is not divisible by 2}}
  %0 = comm.all_to_all %x {splitDimension = 1, gatherDimension = 0, over = #comm.group<[b = 2]>} : tensor<2x31xf32> -> tensor<4x15xf32>
  return
}

// -----

func.func @f(%x: tensor<2x32xf32>) {
  // expected-error @+1 {{'comm.all_to_all' op operand 'tensor<2x32xf32>' does not give result 'tensor<2x16xf32>' over 2 ranks}}
  %0 = comm.all_to_all %x {splitDimension = 1, gatherDimension = 0, over = #comm.group<[b = 2]>} : tensor<2x32xf32> -> tensor<2x16xf32>
  return
}

// -----

func.func @f(%x: tensor<2x32xf32>) {
  // expected-error @+1 {{'comm.all_to_all' op group #comm.group<[]> has one rank only}}
  %0 = comm.all_to_all %x {splitDimension = 1, gatherDimension = 0, over = #comm.group<[]>} : tensor<2x32xf32> -> tensor<2x32xf32>
  return
}

// -----

func.func @f(%x: tensor<2x32xf32>) {
  // expected-error @+1 {{'comm.keep_first' op operand 'tensor<2x32xf32>' and result 'tensor<2x32xf64>' differ}}
  %0 = comm.keep_first %x {over = #comm.group<[b = 2]>} : tensor<2x32xf32> -> tensor<2x32xf64>
  return
}

// -----

func.func @f(%x: tensor<2x32xf32>) {
  // expected-error @+1 {{'comm.pad' op dimension 0 alone does not tell 'tensor<2x32xf32>' from 'tensor<3x33xf32>'}}
  %0 = comm.pad %x {dimension = 0} : tensor<2x32xf32> -> tensor<3x33xf32>
  return
}

// -----

// Padding does not cut.
func.func @f(%x: tensor<2x32xf32>) {
  // expected-error @+1 {{'comm.pad' op dimension 1 alone does not tell 'tensor<2x32xf32>' from 'tensor<2x31xf32>'}}
  %0 = comm.pad %x {dimension = 1} : tensor<2x32xf32> -> tensor<2x31xf32>
  return
}

// -----

// Nor does its inverse append.
func.func @f(%x: tensor<2x32xf32>) {
  // expected-error @+1 {{'comm.unpad' op dimension 1 alone does not tell 'tensor<2x33xf32>' from 'tensor<2x32xf32>'}}
  %0 = comm.unpad %x {dimension = 1} : tensor<2x32xf32> -> tensor<2x33xf32>
  return
}

// -----

func.func @f(%x: tensor<2x32xf32>) {
  // expected-error @+1 {{'comm.unpad' op dimension 2 alone does not tell 'tensor<2x31xf32>' from 'tensor<2x32xf32>'}}
  %0 = comm.unpad %x {dimension = 2} : tensor<2x32xf32> -> tensor<2x31xf32>
  return
}

// -----

func.func @f(%x: tensor<2x32xf32>) {
  // expected-error @+1 {{'comm.reshape' op operand 'tensor<2x32xf32>' and result 'tensor<63xf32>' hold different elements}}
  %0 = comm.reshape %x : tensor<2x32xf32> -> tensor<63xf32>
  return
}

// -----

func.func @f(%x: tensor<2x32xf32>) {
  // expected-error @+1 {{'comm.reshape' op operand 'tensor<2x32xf32>' and result 'tensor<64xf64>' hold different elements}}
  %0 = comm.reshape %x : tensor<2x32xf32> -> tensor<64xf64>
  return
}

// -----

// Groups: what is written of the axes is a list, and only `across` follows.
// expected-error @+1 {{expected '['}}
func.func private @f() attributes {test.g = #comm.group<b = 2>}

// -----

// expected-error @+1 {{expected 'across'}}
func.func private @f() attributes {test.g = #comm.group<[b = 2], along>}
