// What must not verify: the constraints of meshes and placements, the four rules
// of an operation, and those of the operations of the program. Each once or more.
// RUN: galv-opt %s --split-input-file --verify-diagnostics

//===----------------------------------------------------------------------===//
// Meshes and placements (they are checked where they are read)
//===----------------------------------------------------------------------===//

// An axis of a mesh twice.
// expected-error @+1 {{axis 'a' stands twice in the mesh}}
func.func private @f(tensor<8xf32, #galv.placement<#galv.mesh<[a = 2, a = 2]>, [{}]>>)

// -----

// In space and in time.
// expected-error @+1 {{axis 'a' stands twice in the mesh}}
func.func private @f(tensor<8xf32, #galv.placement<#galv.mesh<[a = 2], time = [a = 2]>, [{}]>>)

// -----

// An axis of one coordinate is no axis.
// expected-error @+1 {{axis 'b' has size 1, which is less than 2}}
func.func private @f(tensor<8xf32, #galv.placement<#galv.mesh<[a = 2, b = 1]>, [{}]>>)

// -----

// An axis that the mesh lacks.
// expected-error @+1 {{'c' is not an axis of mesh #galv.mesh<[a = 2, b = 2], time = [m = 2]>}}
func.func private @f(tensor<8x8xf32, #galv.placement<#galv.mesh<[a = 2, b = 2], time = [m = 2]>, [{c}, {}]>>)

// -----

// In `partial`.
// expected-error @+1 {{'c' is not an axis of mesh #galv.mesh<[a = 2, b = 2], time = [m = 2]>}}
func.func private @f(tensor<8x8xf32, #galv.placement<#galv.mesh<[a = 2, b = 2], time = [m = 2]>, [{}, {}], partial = {c}>>)

// -----

// There is no mean: scale first.
// expected-error @+1 {{expected flat or partial, not 'mean'}}
func.func private @f(tensor<8x8xf32, #galv.placement<#galv.mesh<[a = 2, b = 2], time = [m = 2]>, [{}, {}], mean = {a}>>)

// -----

// An axis in two places of a value: two dimensions,
// expected-error @+1 {{axis 'a' stands in dimension 0 and in dimension 1}}
func.func private @f(tensor<8x8xf32, #galv.placement<#galv.mesh<[a = 2, b = 2], time = [m = 2]>, [{a}, {b, a}]>>)

// -----

// one dimension twice,
// expected-error @+1 {{axis 'a' stands in dimension 0 and in dimension 0}}
func.func private @f(tensor<8x8xf32, #galv.placement<#galv.mesh<[a = 2, b = 2], time = [m = 2]>, [{a, a}, {}]>>)

// -----

// split and partial,
// expected-error @+1 {{axis 'm' stands in dimension 0 and in partial}}
func.func private @f(tensor<8x8xf32, #galv.placement<#galv.mesh<[a = 2, b = 2], time = [m = 2]>, [{m, a}, {}], partial = {b, m}>>)

// -----

// split and flat,
// expected-error @+1 {{axis 'a' stands in dimension 1 and in flat}}
func.func private @f(tensor<8x8xf32, #galv.placement<#galv.mesh<[a = 2, b = 2], time = [m = 2]>, [{}, {a}], flat = {b, a}>>)

// -----

// flat and partial,
// expected-error @+1 {{axis 'a' stands in flat and in partial}}
func.func private @f(tensor<8x8xf32, #galv.placement<#galv.mesh<[a = 2, b = 2], time = [m = 2]>, [{}, {}], flat = {a}, partial = {a, b}>>)

// -----

// partial twice.
// expected-error @+1 {{axis 'a' stands in partial and in partial}}
func.func private @f(tensor<8x8xf32, #galv.placement<#galv.mesh<[a = 2, b = 2], time = [m = 2]>, [{}, {}], partial = {a, a}>>)

// -----

// `partial` is in mesh order.
// expected-error @+1 {{partial lists 'b' before 'a', which is not the order of mesh #galv.mesh<[a = 2, b = 2], time = [m = 2]>}}
func.func private @f(tensor<8x8xf32, #galv.placement<#galv.mesh<[a = 2, b = 2], time = [m = 2]>, [{}, {}], partial = {b, a}>>)

// -----

// A largest value over nothing.
// expected-error @+1 {{a partial maximum over no axis}}
func.func private @f(tensor<8x8xf32, #galv.placement<#galv.mesh<[a = 2, b = 2], time = [m = 2]>, [{}, {}], partial = max {}>>)

// -----

// Microbatches do not share out a flattened value.
// expected-error @+1 {{time axis 'm' stands in flat}}
func.func private @f(tensor<8x8xf32, #galv.placement<#galv.mesh<[a = 2, b = 2], time = [m = 2]>, [{}, {}], flat = {m}>>)

// -----

// A split for each dimension.
// expected-error @+1 {{placement [{a}] has 1 dimensions, the tensor has 2}}
func.func private @f(tensor<8x8xf32, #galv.placement<#galv.mesh<[a = 2, b = 2], time = [m = 2]>, [{a}]>>)

// -----

// What does not divide.
// expected-error @+1 {{dimension 1 of size 6 is not divisible by 4, its splits in [{}, {a, b}]}}
func.func private @f(tensor<8x6xf32, #galv.placement<#galv.mesh<[a = 2, b = 2], time = [m = 2]>, [{}, {a, b}]>>)

// -----

// A batch by microbatches and data axis together.
// expected-error @+1 {{dimension 0 of size 6 is not divisible by 4, its splits in [{m, a}, {}]}}
func.func private @f(tensor<6x8xf32, #galv.placement<#galv.mesh<[a = 2, b = 2], time = [m = 2]>, [{m, a}, {}]>>)

// -----

// No pad mark where the axes divide.
// expected-error @+1 {{dimension 1 of size 6 is divisible by 2: it takes no pad mark}}
func.func private @f(tensor<8x6xf32, #galv.placement<#galv.mesh<[a = 2, b = 2], time = [m = 2]>, [{}, {a : pad}]>>)

// -----

// Nor on a dimension that is not split.
// expected-error @+1 {{dimension 1 of size 5 is divisible by 1: it takes no pad mark}}
func.func private @f(tensor<8x5xf32, #galv.placement<#galv.mesh<[a = 2, b = 2], time = [m = 2]>, [{}, { : pad}]>>)

// -----

//===----------------------------------------------------------------------===//
// Shapes: checked in every phase
//===----------------------------------------------------------------------===//

func.func @f(%x: tensor<8x64x128xf32>, %w: tensor<512x64xf32>) {
  // expected-error @+1 {{'galv.linear' op dimension 1 of operand 1 has size 64, where the other shapes ask for 128}}
  %0 = galv.linear %x, %w : (tensor<8x64x128xf32>, tensor<512x64xf32>) -> tensor<8x64x512xf32>
  return
}

// -----

func.func @f(%x: tensor<8x64x128xf32>, %w: tensor<512x128xf32>) {
  // expected-error @+1 {{'galv.linear' op dimension 2 of result 0 has size 256, its operands give 512}}
  %0 = galv.linear %x, %w : (tensor<8x64x128xf32>, tensor<512x128xf32>) -> tensor<8x64x256xf32>
  return
}

// -----

func.func @f(%x: tensor<8x64x128xf32>, %w: tensor<512x128xf32>) {
  // expected-error @+1 {{'galv.linear' op result 0 has 2 dimensions, its rule gives 3}}
  %0 = galv.linear %x, %w : (tensor<8x64x128xf32>, tensor<512x128xf32>) -> tensor<8x512xf32>
  return
}

// -----

func.func @f(%x: tensor<8x64x128xf32>) {
  // expected-error @+1 {{'galv.sum_leading' op operand 0 has 3 dimensions, its rule asks for 5}}
  %0 = galv.sum_leading %x {leading = 5} : (tensor<8x64x128xf32>) -> tensor<128xf32>
  return
}

// -----

// A dimension that is not a number of whole heads.
func.func @f(%x: tensor<8x64x100xf32>, %w: tensor<8x64x100xf32>, %b: tensor<8x64x100xf32>) {
  // expected-error @+1 {{'galv.attention' op dimension 2 of operand 0 has size 100, where the other shapes ask for a multiple of 32}}
  %0:2 = galv.attention %x, %w, %b {head_dimension = 32} : (tensor<8x64x100xf32>, tensor<8x64x100xf32>, tensor<8x64x100xf32>) -> (tensor<8x64x100xf32>, tensor<8x3x64xf32>)
  return
}

// -----

//===----------------------------------------------------------------------===//
// Once a module is placed, every tensor has a placement, on one mesh
//===----------------------------------------------------------------------===//

#mesh = #galv.mesh<[a = 2, b = 2], time = [m = 2]>
#p = #galv.placement<#mesh, [{b}, {}]>
#C = #galv.placement<#mesh, [{m, a}, {}, {b}]>
module attributes {galv.placed} {
func.func @f(%x: tensor<8x64x128xf32>, %w: tensor<512x128xf32, #p>) {
  // expected-error @+1 {{'galv.linear' op operand 0 has no placement: 'tensor<8x64x128xf32>'}}
  %0 = galv.linear %x, %w : (tensor<8x64x128xf32>, tensor<512x128xf32, #p>) -> tensor<8x64x512xf32, #C>
  return
}
}

// -----

#mesh = #galv.mesh<[a = 2, b = 2], time = [m = 2]>
#F = #galv.placement<#mesh, [{m, a}, {}, {}]>
#p = #galv.placement<#mesh, [{b}, {}]>
module attributes {galv.placed} {
func.func @f(%x: tensor<8x64x128xf32, #F>, %w: tensor<512x128xf32, #p>) {
  // expected-error @+1 {{'galv.linear' op result 0 has no placement: 'tensor<8x64x512xf32>'}}
  %0 = galv.linear %x, %w : (tensor<8x64x128xf32, #F>, tensor<512x128xf32, #p>) -> tensor<8x64x512xf32>
  return
}
}

// -----

#mesh = #galv.mesh<[a = 2, b = 2], time = [m = 2]>
#mesh1 = #galv.mesh<[a = 2, b = 2]>
#F = #galv.placement<#mesh, [{m, a}, {}, {}]>
#p = #galv.placement<#mesh1, [{b}, {}]>
#C = #galv.placement<#mesh, [{m, a}, {}, {b}]>
module attributes {galv.placed} {
func.func @f(%x: tensor<8x64x128xf32, #F>, %w: tensor<512x128xf32, #p>) {
  // expected-error @+1 {{'galv.linear' op operand 1 lies on mesh #galv.mesh<[a = 2, b = 2]>, another on #galv.mesh<[a = 2, b = 2], time = [m = 2]>}}
  %0 = galv.linear %x, %w : (tensor<8x64x128xf32, #F>, tensor<512x128xf32, #p>) -> tensor<8x64x512xf32, #C>
  return
}
}

// -----

//===----------------------------------------------------------------------===//
// Rule 1: a dimension has the axes of its factors
//===----------------------------------------------------------------------===//

#mesh = #galv.mesh<[a = 2, b = 2], time = [m = 2]>
#F = #galv.placement<#mesh, [{m, a}, {}, {}]>
#p = #galv.placement<#mesh, [{b}, {}]>
#q = #galv.placement<#mesh, [{m}, {}, {b}]>
module attributes {galv.placed} {
func.func @f(%x: tensor<8x64x128xf32, #F>, %w: tensor<512x128xf32, #p>) {
  // expected-error @+1 {{'galv.linear' op dimension 0 of result 0 is split over {m}, dimension 0 of operand 0 over {m, a}}}
  %0 = galv.linear %x, %w : (tensor<8x64x128xf32, #F>, tensor<512x128xf32, #p>) -> tensor<8x64x512xf32, #q>
  return
}
}

// -----

// The order of axes counts: it says which rows are where.
#mesh = #galv.mesh<[a = 2, b = 2], time = [m = 2]>
#F = #galv.placement<#mesh, [{m, a}, {}, {}]>
#p = #galv.placement<#mesh, [{a, m}, {}, {}]>
module attributes {galv.placed} {
func.func @f(%x: tensor<8x64x128xf32, #F>) {
  // expected-error @+1 {{'galv.gelu' op dimension 0 of result 0 is split over {a, m}, dimension 0 of operand 0 over {m, a}}}
  %0 = galv.gelu %x : (tensor<8x64x128xf32, #F>) -> tensor<8x64x128xf32, #p>
  return
}
}

// -----

// The inside of a linear, split on one side only.
#mesh = #galv.mesh<[a = 2, b = 2], time = [m = 2]>
#C = #galv.placement<#mesh, [{m, a}, {}, {b}]>
#p = #galv.placement<#mesh, [{}, {}]>
#F = #galv.placement<#mesh, [{m, a}, {}, {}]>
module attributes {galv.placed} {
func.func @f(%x: tensor<8x64x512xf32, #C>, %w: tensor<128x512xf32, #p>) {
  // expected-error @+1 {{'galv.linear' op dimension 1 of operand 1 is split over {}, dimension 2 of operand 0 over {b}}}
  %0 = galv.linear %x, %w : (tensor<8x64x512xf32, #C>, tensor<128x512xf32, #p>) -> tensor<8x64x128xf32, #F>
  return
}
}

// -----

// A split weight, a result that is not.
#mesh = #galv.mesh<[a = 2, b = 2], time = [m = 2]>
#F = #galv.placement<#mesh, [{m, a}, {}, {}]>
#p = #galv.placement<#mesh, [{b}, {}]>
module attributes {galv.placed} {
func.func @f(%x: tensor<8x64x128xf32, #F>, %w: tensor<512x128xf32, #p>) {
  // expected-error @+1 {{'galv.linear' op dimension 2 of result 0 is split over {}, dimension 0 of operand 1 over {b}}}
  %0 = galv.linear %x, %w : (tensor<8x64x128xf32, #F>, tensor<512x128xf32, #p>) -> tensor<8x64x512xf32, #F>
  return
}
}

// -----

// A compound dimension: three heads over two ranks would cut one in two.
#mesh = #galv.mesh<[a = 2, b = 2], time = [m = 2]>
#C = #galv.placement<#mesh, [{m, a}, {}, {b}]>
#F = #galv.placement<#mesh, [{m, a}, {}, {}]>
module attributes {galv.placed} {
func.func @f(%x: tensor<8x64x96xf32, #C>, %w: tensor<8x64x96xf32, #C>, %b: tensor<8x64x96xf32, #C>) {
  // expected-error @+1 {{'galv.attention' op dimension 2 of operand 0: axis 'b' of size 2 does not divide the 3 left of factor 'g'}}
  %0:2 = galv.attention %x, %w, %b {head_dimension = 32} : (tensor<8x64x96xf32, #C>, tensor<8x64x96xf32, #C>, tensor<8x64x96xf32, #C>) -> (tensor<8x64x96xf32, #C>, tensor<8x3x64xf32, #F>)
  return
}
}

// -----

// Axes fill the major factor first: with two key heads that four query heads
// share, `b` splits the groups, not the heads inside one.
#mesh = #galv.mesh<[a = 2, b = 2], time = [m = 2]>
#C = #galv.placement<#mesh, [{m, a}, {}, {b}]>
#F = #galv.placement<#mesh, [{m, a}, {}, {}]>
#S = #galv.placement<#mesh, [{m, a}, {b}, {}]>
module attributes {galv.placed} {
func.func @f(%x: tensor<8x64x128xf32, #C>, %w: tensor<8x64x64xf32, #F>, %b: tensor<8x64x64xf32, #F>) {
  // expected-error @+1 {{'galv.attention' op dimension 2 of operand 1 is split over {}, dimension 2 of operand 0 over {b}}}
  %0:2 = galv.attention %x, %w, %b {head_dimension = 32} : (tensor<8x64x128xf32, #C>, tensor<8x64x64xf32, #F>, tensor<8x64x64xf32, #F>) -> (tensor<8x64x128xf32, #C>, tensor<8x4x64xf32, #S>)
  return
}
}

// -----

// The statistics are of the heads that the rank has.
#mesh = #galv.mesh<[a = 2, b = 2], time = [m = 2]>
#C = #galv.placement<#mesh, [{m, a}, {}, {b}]>
#F = #galv.placement<#mesh, [{m, a}, {}, {}]>
module attributes {galv.placed} {
func.func @f(%x: tensor<8x64x128xf32, #C>, %w: tensor<8x64x128xf32, #C>, %b: tensor<8x64x128xf32, #C>) {
  // expected-error @+1 {{'galv.attention' op dimension 1 of result 1 is split over {}, dimension 2 of operand 0 over {b}}}
  %0:2 = galv.attention %x, %w, %b {head_dimension = 32} : (tensor<8x64x128xf32, #C>, tensor<8x64x128xf32, #C>, tensor<8x64x128xf32, #C>) -> (tensor<8x64x128xf32, #C>, tensor<8x4x64xf32, #F>)
  return
}
}

// -----

//===----------------------------------------------------------------------===//
// Rule 2: an axis belongs to one factor
//===----------------------------------------------------------------------===//

// Rows of the table and tokens over the same ranks: no tensor has both.
#mesh = #galv.mesh<[a = 2, b = 2], time = [m = 2]>
#p = #galv.placement<#mesh, [{m, a}, {b}]>
#q = #galv.placement<#mesh, [{b}, {}]>
#S = #galv.placement<#mesh, [{m, a}, {b}, {}]>
module attributes {galv.placed} {
func.func @f(%x: tensor<8x64xi64, #p>, %w: tensor<258x128xf32, #q>) {
  // expected-error @+1 {{'galv.embedding' op axis 'b' splits dimension 1 of operand 0 and dimension 0 of operand 1, which do not correspond}}
  %0 = galv.embedding %x, %w : (tensor<8x64xi64, #p>, tensor<258x128xf32, #q>) -> tensor<8x64x128xf32, #S>
  return
}
}

// -----

#mesh = #galv.mesh<[a = 2, b = 2], time = [m = 2]>
#S = #galv.placement<#mesh, [{m, a}, {b}, {}]>
#p = #galv.placement<#mesh, [{m, a}, {b}]>
#q = #galv.placement<#mesh, [{b}, {}], partial = {a, m}>
module attributes {galv.placed} {
func.func @f(%x: tensor<8x64x128xf32, #S>, %w: tensor<8x64xi64, #p>) {
  // expected-error @+1 {{'galv.embedding_gradient' op axis 'b' splits dimension 1 of operand 0 and dimension 0 of result 0, which do not correspond}}
  %0 = galv.embedding_gradient %x, %w {vocabulary = 258} : (tensor<8x64x128xf32, #S>, tensor<8x64xi64, #p>) -> tensor<258x128xf32, #q>
  return
}
}

// -----

//===----------------------------------------------------------------------===//
// Rule 3: whole factors
//===----------------------------------------------------------------------===//

// A norm over the whole dimension.
#mesh = #galv.mesh<[a = 2, b = 2], time = [m = 2]>
#C = #galv.placement<#mesh, [{m, a}, {}, {b}]>
#p = #galv.placement<#mesh, [{b}]>
#q = #galv.placement<#mesh, [{m, a}, {}]>
module attributes {galv.placed} {
func.func @f(%x: tensor<8x64x128xf32, #C>, %w: tensor<128xf32, #p>, %b: tensor<128xf32, #p>) {
  // expected-error @+1 {{'galv.layer_norm' op dimension 2 of operand 0 is split over {b}, but factor 'k' must stay whole}}
  %0:3 = galv.layer_norm %x, %w, %b {epsilon = 1.0e-05 : f64} : (tensor<8x64x128xf32, #C>, tensor<128xf32, #p>, tensor<128xf32, #p>) -> (tensor<8x64x128xf32, #C>, tensor<8x64xf32, #q>, tensor<8x64xf32, #q>)
  return
}
}

// -----

// Attention: queries,
#mesh = #galv.mesh<[a = 2, b = 2], time = [m = 2]>
#S = #galv.placement<#mesh, [{m, a}, {b}, {}]>
#F = #galv.placement<#mesh, [{m, a}, {}, {}]>
#C = #galv.placement<#mesh, [{m, a}, {}, {b}]>
module attributes {galv.placed} {
func.func @f(%x: tensor<8x64x128xf32, #S>, %w: tensor<8x64x128xf32, #F>, %b: tensor<8x64x128xf32, #F>) {
  // expected-error @+1 {{'galv.attention' op dimension 1 of operand 0 is split over {b}, but factor 's' must stay whole}}
  %0:2 = galv.attention %x, %w, %b {head_dimension = 32} : (tensor<8x64x128xf32, #S>, tensor<8x64x128xf32, #F>, tensor<8x64x128xf32, #F>) -> (tensor<8x64x128xf32, #S>, tensor<8x4x64xf32, #C>)
  return
}
}

// -----

// keys,
#mesh = #galv.mesh<[a = 2, b = 2], time = [m = 2]>
#F = #galv.placement<#mesh, [{m, a}, {}, {}]>
#S = #galv.placement<#mesh, [{m, a}, {b}, {}]>
module attributes {galv.placed} {
func.func @f(%x: tensor<8x64x128xf32, #F>, %w: tensor<8x64x128xf32, #S>, %b: tensor<8x64x128xf32, #S>) {
  // expected-error @+1 {{'galv.attention' op dimension 1 of operand 1 is split over {b}, but factor 't' must stay whole}}
  %0:2 = galv.attention %x, %w, %b {head_dimension = 32} : (tensor<8x64x128xf32, #F>, tensor<8x64x128xf32, #S>, tensor<8x64x128xf32, #S>) -> (tensor<8x64x128xf32, #F>, tensor<8x4x64xf32, #F>)
  return
}
}

// -----

// the elements of a head.
#mesh = #galv.mesh<[a = 2, b = 2], time = [m = 2]>
#p = #galv.placement<#mesh, [{m}, {}, {a, b}]>
#q = #galv.placement<#mesh, [{m}, {a}, {}]>
module attributes {galv.placed} {
func.func @f(%x: tensor<8x64x64xf32, #p>, %w: tensor<8x64x64xf32, #p>, %b: tensor<8x64x64xf32, #p>) {
  // expected-error @+1 {{'galv.attention' op dimension 2 of operand 0 is split over {b}, but factor 'd' must stay whole}}
  %0:2 = galv.attention %x, %w, %b {head_dimension = 32} : (tensor<8x64x64xf32, #p>, tensor<8x64x64xf32, #p>, tensor<8x64x64xf32, #p>) -> (tensor<8x64x64xf32, #p>, tensor<8x2x64xf32, #q>)
  return
}
}

// -----

//===----------------------------------------------------------------------===//
// Rule 4: partial sums
//===----------------------------------------------------------------------===//

// Only what is linear takes one.
#mesh = #galv.mesh<[a = 2, b = 2], time = [m = 2]>
#P = #galv.placement<#mesh, [{m, a}, {}, {}], partial = {b}>
module attributes {galv.placed} {
func.func @f(%x: tensor<8x64x128xf32, #P>) {
  // expected-error @+1 {{'galv.gelu' op operand 0 is a partial sum over 'b' ([{m, a}, {}, {}] partial {b}), but result 0 is not linear in it}}
  %0 = galv.gelu %x : (tensor<8x64x128xf32, #P>) -> tensor<8x64x128xf32, #P>
  return
}
}

// -----

#mesh = #galv.mesh<[a = 2, b = 2], time = [m = 2]>
#P = #galv.placement<#mesh, [{m, a}, {}, {}], partial = {b}>
#p = #galv.placement<#mesh, [{}]>
#q = #galv.placement<#mesh, [{m, a}, {}]>
module attributes {galv.placed} {
func.func @f(%x: tensor<8x64x128xf32, #P>, %w: tensor<128xf32, #p>, %b: tensor<128xf32, #p>) {
  // expected-error @+1 {{'galv.layer_norm' op operand 0 is a partial sum over 'b' ([{m, a}, {}, {}] partial {b}), but result 0 is not linear in it}}
  %0:3 = galv.layer_norm %x, %w, %b {epsilon = 1.0e-05 : f64} : (tensor<8x64x128xf32, #P>, tensor<128xf32, #p>, tensor<128xf32, #p>) -> (tensor<8x64x128xf32, #P>, tensor<8x64xf32, #q>, tensor<8x64xf32, #q>)
  return
}
}

// -----

// The norm of a sum is not the sum of the norms.
#mesh = #galv.mesh<[a = 2, b = 2], time = [m = 2]>
#p = #galv.placement<#mesh, [{}, {}], partial = {a}>
#q = #galv.placement<#mesh, [], partial = {a}>
module attributes {galv.placed} {
func.func @f(%x: tensor<512x128xf32, #p>) {
  // expected-error @+1 {{'galv.sum_of_squares' op operand 0 is a partial sum over 'a' ([{}, {}] partial {a}), but result 0 is not linear in it}}
  %0 = galv.sum_of_squares %x : (tensor<512x128xf32, #p>) -> tensor<f32, #q>
  return
}
}

// -----

#mesh = #galv.mesh<[a = 2, b = 2], time = [m = 2]>
#P = #galv.placement<#mesh, [{m, a}, {}, {}], partial = {b}>
#p = #galv.placement<#mesh, [{m, a}, {}]>
#q = #galv.placement<#mesh, [], partial = {a, b, m}>
module attributes {galv.placed} {
func.func @f(%x: tensor<8x64x258xf32, #P>, %w: tensor<8x64xi64, #p>) {
  // expected-error @+1 {{'galv.cross_entropy' op operand 0 is a partial sum over 'b' ([{m, a}, {}, {}] partial {b}), but result 0 is not linear in it}}
  %0:2 = galv.cross_entropy %x, %w : (tensor<8x64x258xf32, #P>, tensor<8x64xi64, #p>) -> (tensor<f32, #q>, tensor<8x64xf32, #p>)
  return
}
}

// -----

// A derivative is linear in its cotangent, not in its primal.
#mesh = #galv.mesh<[a = 2, b = 2], time = [m = 2]>
#F = #galv.placement<#mesh, [{m, a}, {}, {}]>
#P = #galv.placement<#mesh, [{m, a}, {}, {}], partial = {b}>
module attributes {galv.placed} {
func.func @f(%x: tensor<8x64x128xf32, #F>, %w: tensor<8x64x128xf32, #P>) {
  // expected-error @+1 {{'galv.gelu_gradient' op operand 1 is a partial sum over 'b' ([{m, a}, {}, {}] partial {b}), but result 0 is not linear in it}}
  %0 = galv.gelu_gradient %x, %w : (tensor<8x64x128xf32, #F>, tensor<8x64x128xf32, #P>) -> tensor<8x64x128xf32, #P>
  return
}
}

// -----

// A largest value is no sum.
#mesh = #galv.mesh<[a = 2, b = 2], time = [m = 2]>
#p = #galv.placement<#mesh, [{m, a}, {}], partial = max {b}>
module attributes {galv.placed} {
func.func @f(%x: tensor<8x64xf32, #p>, %w: tensor<8x64xf32, #p>) {
  // expected-error @+1 {{'galv.add' op result 0 is [{m, a}, {}] partial max {b}, but an operation's results are sums}}
  %0 = galv.add %x, %w : (tensor<8x64xf32, #p>, tensor<8x64xf32, #p>) -> tensor<8x64xf32, #p>
  return
}
}

// -----

// A bias that each rank of `b` would add.
#mesh = #galv.mesh<[a = 2, b = 2], time = [m = 2]>
#C = #galv.placement<#mesh, [{m, a}, {}, {b}]>
#p = #galv.placement<#mesh, [{}, {b}]>
#q = #galv.placement<#mesh, [{}]>
#P = #galv.placement<#mesh, [{m, a}, {}, {}], partial = {b}>
module attributes {galv.placed} {
func.func @f(%x: tensor<8x64x512xf32, #C>, %w: tensor<128x512xf32, #p>, %b: tensor<128xf32, #q>) {
  // expected-error @+1 {{'galv.linear' op result 0 is [{m, a}, {}, {}] partial {b}, but its operands make it [{m, a}, {}, {}]}}
  %0 = galv.linear %x, %w, %b : (tensor<8x64x512xf32, #C>, tensor<128x512xf32, #p>, tensor<128xf32, #q>) -> tensor<8x64x128xf32, #P>
  return
}
}

// -----

// It does not help to call the result whole.
#mesh = #galv.mesh<[a = 2, b = 2], time = [m = 2]>
#C = #galv.placement<#mesh, [{m, a}, {}, {b}]>
#p = #galv.placement<#mesh, [{}, {b}]>
#q = #galv.placement<#mesh, [{}]>
#F = #galv.placement<#mesh, [{m, a}, {}, {}]>
module attributes {galv.placed} {
func.func @f(%x: tensor<8x64x512xf32, #C>, %w: tensor<128x512xf32, #p>, %b: tensor<128xf32, #q>) {
  // expected-error @+1 {{'galv.linear' op result 0 is [{m, a}, {}, {}], but its operands make it [{m, a}, {}, {}] partial {b}}}
  %0 = galv.linear %x, %w, %b : (tensor<8x64x512xf32, #C>, tensor<128x512xf32, #p>, tensor<128xf32, #q>) -> tensor<8x64x128xf32, #F>
  return
}
}

// -----

// A residual that each rank of `b` would add.
#mesh = #galv.mesh<[a = 2, b = 2], time = [m = 2]>
#F = #galv.placement<#mesh, [{m, a}, {}, {}]>
#P = #galv.placement<#mesh, [{m, a}, {}, {}], partial = {b}>
module attributes {galv.placed} {
func.func @f(%x: tensor<8x64x128xf32, #F>, %w: tensor<8x64x128xf32, #P>) {
  // expected-error @+1 {{'galv.add' op result 0 is [{m, a}, {}, {}] partial {b}, but its operands make it [{m, a}, {}, {}]}}
  %0 = galv.add %x, %w : (tensor<8x64x128xf32, #F>, tensor<8x64x128xf32, #P>) -> tensor<8x64x128xf32, #P>
  return
}
}

// -----

#mesh = #galv.mesh<[a = 2, b = 2], time = [m = 2]>
#P = #galv.placement<#mesh, [{m, a}, {}, {}], partial = {b}>
#F = #galv.placement<#mesh, [{m, a}, {}, {}]>
module attributes {galv.placed} {
func.func @f(%x: tensor<8x64x128xf32, #P>, %w: tensor<8x64x128xf32, #F>) {
  // expected-error @+1 {{'galv.add' op result 0 is [{m, a}, {}, {}], but its operands make it [{m, a}, {}, {}] partial {b}}}
  %0 = galv.add %x, %w : (tensor<8x64x128xf32, #P>, tensor<8x64x128xf32, #F>) -> tensor<8x64x128xf32, #F>
  return
}
}

// -----

// A product of two partial sums.
#mesh = #galv.mesh<[a = 2, b = 2], time = [m = 2]>
#P = #galv.placement<#mesh, [{m, a}, {}, {}], partial = {b}>
#p = #galv.placement<#mesh, [{}, {}], partial = {b}>
module attributes {galv.placed} {
func.func @f(%x: tensor<8x64x128xf32, #P>, %w: tensor<512x128xf32, #p>) {
  // expected-error @+1 {{'galv.linear' op operand 0 is a partial sum over 'b' ([{m, a}, {}, {}] partial {b}), and operand 1, which it is multiplied with, is split or partial over it too ([{}, {}] partial {b})}}
  %0 = galv.linear %x, %w : (tensor<8x64x128xf32, #P>, tensor<512x128xf32, #p>) -> tensor<8x64x512xf32, #P>
  return
}
}

// -----

#mesh = #galv.mesh<[a = 2, b = 2], time = [m = 2]>
#P = #galv.placement<#mesh, [{m, a}, {}, {}], partial = {b}>
#p = #galv.placement<#mesh, [], partial = {b}>
module attributes {galv.placed} {
func.func @f(%x: tensor<8x64x128xf32, #P>, %w: tensor<f32, #p>) {
  // expected-error @+1 {{'galv.scale' op operand 0 is a partial sum over 'b' ([{m, a}, {}, {}] partial {b}), and operand 1, which it is multiplied with, is split or partial over it too ([] partial {b})}}
  %0 = galv.scale %x, %w : (tensor<8x64x128xf32, #P>, tensor<f32, #p>) -> tensor<8x64x128xf32, #P>
  return
}
}

// -----

// A partial sum times something split over the same ranks.
#mesh = #galv.mesh<[a = 2, b = 2], time = [m = 2]>
#P = #galv.placement<#mesh, [{m, a}, {}, {}], partial = {b}>
#p = #galv.placement<#mesh, [{b}, {}]>
#C = #galv.placement<#mesh, [{m, a}, {}, {b}]>
module attributes {galv.placed} {
func.func @f(%x: tensor<8x64x128xf32, #P>, %w: tensor<512x128xf32, #p>) {
  // expected-error @+1 {{'galv.linear' op operand 0 is a partial sum over 'b' ([{m, a}, {}, {}] partial {b}), and operand 1, which it is multiplied with, is split or partial over it too ([{b}, {}])}}
  %0 = galv.linear %x, %w : (tensor<8x64x128xf32, #P>, tensor<512x128xf32, #p>) -> tensor<8x64x512xf32, #C>
  return
}
}

// -----

// A missing reduction: of a matmul split on the inside,
#mesh = #galv.mesh<[a = 2, b = 2], time = [m = 2]>
#C = #galv.placement<#mesh, [{m, a}, {}, {b}]>
#p = #galv.placement<#mesh, [{}, {b}]>
#F = #galv.placement<#mesh, [{m, a}, {}, {}]>
module attributes {galv.placed} {
func.func @f(%x: tensor<8x64x512xf32, #C>, %w: tensor<128x512xf32, #p>) {
  // expected-error @+1 {{'galv.linear' op result 0 is [{m, a}, {}, {}], but its operands make it [{m, a}, {}, {}] partial {b}}}
  %0 = galv.linear %x, %w : (tensor<8x64x512xf32, #C>, tensor<128x512xf32, #p>) -> tensor<8x64x128xf32, #F>
  return
}
}

// -----

// of a split table,
#mesh = #galv.mesh<[a = 2, b = 2], time = [m = 2]>
#p = #galv.placement<#mesh, [{m, a}, {}]>
#q = #galv.placement<#mesh, [{b}, {}]>
#F = #galv.placement<#mesh, [{m, a}, {}, {}]>
module attributes {galv.placed} {
func.func @f(%x: tensor<8x64xi64, #p>, %w: tensor<258x128xf32, #q>) {
  // expected-error @+1 {{'galv.embedding' op result 0 is [{m, a}, {}, {}], but its operands make it [{m, a}, {}, {}] partial {b}}}
  %0 = galv.embedding %x, %w : (tensor<8x64xi64, #p>, tensor<258x128xf32, #q>) -> tensor<8x64x128xf32, #F>
  return
}
}

// -----

// of a norm's gradient, whose rows are split over `b` too,
#mesh = #galv.mesh<[a = 2, b = 2], time = [m = 2]>
#S = #galv.placement<#mesh, [{m, a}, {b}, {}]>
#p = #galv.placement<#mesh, [{m, a}, {b}]>
#q = #galv.placement<#mesh, [{}], partial = {a, m}>
module attributes {galv.placed} {
func.func @f(%x: tensor<8x64x128xf32, #S>, %w: tensor<8x64x128xf32, #S>, %b: tensor<8x64xf32, #p>, %c: tensor<8x64xf32, #p>) {
  // expected-error @+1 {{'galv.layer_norm_weight_gradient' op result 0 is [{}] partial {a, m}, but its operands make it [{}] partial {a, b, m}}}
  %0 = galv.layer_norm_weight_gradient %x, %w, %b, %c : (tensor<8x64x128xf32, #S>, tensor<8x64x128xf32, #S>, tensor<8x64xf32, #p>, tensor<8x64xf32, #p>) -> tensor<128xf32, #q>
  return
}
}

// -----

// of a bias' gradient that follows a partial cotangent,
#mesh = #galv.mesh<[a = 2, b = 2], time = [m = 2]>
#P = #galv.placement<#mesh, [{m, a}, {}, {}], partial = {b}>
#p = #galv.placement<#mesh, [{}], partial = {a, m}>
module attributes {galv.placed} {
func.func @f(%x: tensor<8x64x128xf32, #P>) {
  // expected-error @+1 {{'galv.sum_leading' op result 0 is [{}] partial {a, m}, but its operands make it [{}] partial {a, b, m}}}
  %0 = galv.sum_leading %x {leading = 2} : (tensor<8x64x128xf32, #P>) -> tensor<128xf32, #p>
  return
}
}

// -----

// of query heads that share a key head,
#mesh = #galv.mesh<[a = 2, b = 2], time = [m = 2]>
#p = #galv.placement<#mesh, [{m}, {}, {a, b}]>
#q = #galv.placement<#mesh, [{m}, {}, {a}]>
#r = #galv.placement<#mesh, [{m}, {a, b}, {}]>
#s = #galv.placement<#mesh, [{m}, {}, {a}], partial = {b}>
module attributes {galv.placed} {
func.func @f(%x: tensor<8x64x128xf32, #p>, %w: tensor<8x64x128xf32, #p>, %b: tensor<8x64x64xf32, #q>, %c: tensor<8x64x64xf32, #q>, %d: tensor<8x64x128xf32, #p>, %e: tensor<8x4x64xf32, #r>) {
  // expected-error @+1 {{'galv.attention_gradient' op result 1 is [{m}, {}, {a}], but its operands make it [{m}, {}, {a}] partial {b}}}
  %0:3 = galv.attention_gradient %x, %w, %b, %c, %d, %e {head_dimension = 32} : (tensor<8x64x128xf32, #p>, tensor<8x64x128xf32, #p>, tensor<8x64x64xf32, #q>, tensor<8x64x64xf32, #q>, tensor<8x64x128xf32, #p>, tensor<8x4x64xf32, #r>) -> (tensor<8x64x128xf32, #p>, tensor<8x64x64xf32, #q>, tensor<8x64x64xf32, #s>)
  return
}
}

// -----

// of the loss,
#mesh = #galv.mesh<[a = 2, b = 2], time = [m = 2]>
#C = #galv.placement<#mesh, [{m, a}, {}, {b}]>
#p = #galv.placement<#mesh, [{m, a}, {}]>
#q = #galv.placement<#mesh, []>
module attributes {galv.placed} {
func.func @f(%x: tensor<8x64x258xf32, #C>, %w: tensor<8x64xi64, #p>) {
  // expected-error @+1 {{'galv.cross_entropy' op result 0 is [], but its operands make it [] partial {a, m}}}
  %0:2 = galv.cross_entropy %x, %w : (tensor<8x64x258xf32, #C>, tensor<8x64xi64, #p>) -> (tensor<f32, #q>, tensor<8x64xf32, #p>)
  return
}
}

// -----

// of the labels' number.
#mesh = #galv.mesh<[a = 2, b = 2], time = [m = 2]>
#p = #galv.placement<#mesh, [{a}, {b}]>
#q = #galv.placement<#mesh, [], partial = {a}>
module attributes {galv.placed} {
func.func @f(%x: tensor<8x64xi64, #p>) {
  // expected-error @+1 {{'galv.count_valid' op result 0 is [] partial {a}, but its operands make it [] partial {a, b}}}
  %0 = galv.count_valid %x : (tensor<8x64xi64, #p>) -> tensor<f32, #q>
  return
}
}

// -----

// A reduction too many: a closed factor gives no partial sum.
#mesh = #galv.mesh<[a = 2, b = 2], time = [m = 2]>
#C = #galv.placement<#mesh, [{m, a}, {}, {b}]>
#p = #galv.placement<#mesh, [{m, a}, {}]>
#q = #galv.placement<#mesh, [], partial = {a, b, m}>
module attributes {galv.placed} {
func.func @f(%x: tensor<8x64x258xf32, #C>, %w: tensor<8x64xi64, #p>) {
  // expected-error @+1 {{'galv.cross_entropy' op result 0 is [] partial {a, b, m}, but its operands make it [] partial {a, m}}}
  %0:2 = galv.cross_entropy %x, %w : (tensor<8x64x258xf32, #C>, tensor<8x64xi64, #p>) -> (tensor<f32, #q>, tensor<8x64xf32, #p>)
  return
}
}

// -----

// Nothing is split on the inside.
#mesh = #galv.mesh<[a = 2, b = 2], time = [m = 2]>
#F = #galv.placement<#mesh, [{m, a}, {}, {}]>
#p = #galv.placement<#mesh, [{}, {}]>
#P = #galv.placement<#mesh, [{m, a}, {}, {}], partial = {b}>
module attributes {galv.placed} {
func.func @f(%x: tensor<8x64x128xf32, #F>, %w: tensor<512x128xf32, #p>) {
  // expected-error @+1 {{'galv.linear' op result 0 is [{m, a}, {}, {}] partial {b}, but its operands make it [{m, a}, {}, {}]}}
  %0 = galv.linear %x, %w : (tensor<8x64x128xf32, #F>, tensor<512x128xf32, #p>) -> tensor<8x64x512xf32, #P>
  return
}
}

// -----

// Over another axis than the one that is split.
#mesh = #galv.mesh<[a = 2, b = 2], time = [m = 2]>
#p = #galv.placement<#mesh, [{m}, {}, {b}]>
#q = #galv.placement<#mesh, [{}, {b}]>
#r = #galv.placement<#mesh, [{m}, {}, {}], partial = {a}>
module attributes {galv.placed} {
func.func @f(%x: tensor<8x64x512xf32, #p>, %w: tensor<128x512xf32, #q>) {
  // expected-error @+1 {{'galv.linear' op result 0 is [{m}, {}, {}] partial {a}, but its operands make it [{m}, {}, {}] partial {b}}}
  %0 = galv.linear %x, %w : (tensor<8x64x512xf32, #p>, tensor<128x512xf32, #q>) -> tensor<8x64x128xf32, #r>
  return
}
}

// -----

// Nothing that is read could be a sum.
#mesh = #galv.mesh<[a = 2, b = 2], time = [m = 2]>
#p = #galv.placement<#mesh, [{}], partial = {b}>
module attributes {galv.placed} {
func.func @f() {
  // expected-error @+1 {{'galv.positions' op result 0 is [{}] partial {b}, but nothing makes it partial}}
  %0 = galv.positions : () -> tensor<64xi64, #p>
  return
}
}

// -----

// Clip and the number of labels are of the whole.
#mesh = #galv.mesh<[a = 2, b = 2], time = [m = 2]>
#p = #galv.placement<#mesh, [], partial = {a}>
#q = #galv.placement<#mesh, []>
module attributes {galv.placed} {
func.func @f(%x: tensor<f32, #p>) {
  // expected-error @+1 {{'galv.clip_coefficient' op operand 0 is a partial sum over 'a' ([] partial {a}), but result 0 is not linear in it}}
  %0:2 = galv.clip_coefficient %x : (tensor<f32, #p>) -> (tensor<f32, #q>, tensor<f32, #q>)
  return
}
}

// -----

#mesh = #galv.mesh<[a = 2, b = 2], time = [m = 2]>
#p = #galv.placement<#mesh, [], partial = {a}>
module attributes {galv.placed} {
func.func @f(%x: tensor<f32, #p>) {
  // expected-error @+1 {{'galv.reciprocal' op operand 0 is a partial sum over 'a' ([] partial {a}), but result 0 is not linear in it}}
  %0 = galv.reciprocal %x : (tensor<f32, #p>) -> tensor<f32, #p>
  return
}
}

// -----

//===----------------------------------------------------------------------===//
// Flattened and padded values
//===----------------------------------------------------------------------===//

#mesh = #galv.mesh<[a = 2, b = 2], time = [m = 2]>
#p = #galv.placement<#mesh, [{b}, {}], flat = {a}>
module attributes {galv.placed} {
func.func @f(%x: tensor<512x128xf32, #p>) {
  // expected-error @+1 {{'galv.gelu' op operand 0 is flattened over {a}, which this operation does not take}}
  %0 = galv.gelu %x : (tensor<512x128xf32, #p>) -> tensor<512x128xf32, #p>
  return
}
}

// -----

// A parameter at rest is not in use.
#mesh = #galv.mesh<[a = 2, b = 2], time = [m = 2]>
#F = #galv.placement<#mesh, [{m, a}, {}, {}]>
#p = #galv.placement<#mesh, [{b}, {}], flat = {a}>
#C = #galv.placement<#mesh, [{m, a}, {}, {b}]>
module attributes {galv.placed} {
func.func @f(%x: tensor<8x64x128xf32, #F>, %w: tensor<512x128xf32, #p>) {
  // expected-error @+1 {{'galv.linear' op operand 1 is flattened over {a}, which this operation does not take}}
  %0 = galv.linear %x, %w : (tensor<8x64x128xf32, #F>, tensor<512x128xf32, #p>) -> tensor<8x64x512xf32, #C>
  return
}
}

// -----

#mesh = #galv.mesh<[a = 2, b = 2], time = [m = 2]>
#p = #galv.placement<#mesh, [{}, {}], flat = {a}>
#q = #galv.placement<#mesh, [{}, {}], flat = {b}>
module attributes {galv.placed} {
func.func @f(%x: tensor<512x128xf32, #p>, %w: tensor<512x128xf32, #q>) {
  // expected-error @+1 {{'galv.add' op operand 1 is flattened over {b}, operand 0 over {a}}}
  %0 = galv.add %x, %w : (tensor<512x128xf32, #p>, tensor<512x128xf32, #q>) -> tensor<512x128xf32, #p>
  return
}
}

// -----

#mesh = #galv.mesh<[a = 2, b = 2], time = [m = 2]>
#p = #galv.placement<#mesh, [{}, {}], flat = {a}>
#q = #galv.placement<#mesh, [{}, {}]>
module attributes {galv.placed} {
func.func @f(%x: tensor<512x128xf32, #p>, %w: tensor<512x128xf32, #q>) {
  // expected-error @+1 {{'galv.add' op operand 1 is flattened over {}, operand 0 over {a}}}
  %0 = galv.add %x, %w : (tensor<512x128xf32, #p>, tensor<512x128xf32, #q>) -> tensor<512x128xf32, #p>
  return
}
}

// -----

#mesh = #galv.mesh<[a = 2, b = 2], time = [m = 2]>
#p = #galv.placement<#mesh, [{}, {}], flat = {a}>
#q = #galv.placement<#mesh, []>
#r = #galv.placement<#mesh, [{}, {}]>
module attributes {galv.placed} {
func.func @f(%x: tensor<512x128xf32, #p>, %w: tensor<f32, #q>) {
  // expected-error @+1 {{'galv.scale' op result 0 is flattened over {}, operand 0 over {a}}}
  %0 = galv.scale %x, %w : (tensor<512x128xf32, #p>, tensor<f32, #q>) -> tensor<512x128xf32, #r>
  return
}
}

// -----

// Every rank has squares of its own part only.
#mesh = #galv.mesh<[a = 2, b = 2], time = [m = 2]>
#p = #galv.placement<#mesh, [{b}, {}], flat = {a}>
#q = #galv.placement<#mesh, [], partial = {b}>
module attributes {galv.placed} {
func.func @f(%x: tensor<512x128xf32, #p>) {
  // expected-error @+1 {{'galv.sum_of_squares' op result 0 is [] partial {b}, but its operands make it [] partial {a, b}}}
  %0 = galv.sum_of_squares %x : (tensor<512x128xf32, #p>) -> tensor<f32, #q>
  return
}
}

// -----

// A sequence is not filled up with zeros,
#mesh = #galv.mesh<[a = 2, b = 2], time = [m = 2]>
#p = #galv.placement<#mesh, [{m, a}, {b : pad}, {}]>
#q = #galv.placement<#mesh, [{}, {}]>
module attributes {galv.placed} {
func.func @f(%x: tensor<8x63x128xf32, #p>, %w: tensor<512x128xf32, #q>) {
  // expected-error @+1 {{'galv.linear' op dimension 1 of operand 0 is padded, but factor 'i1' cannot be}}
  %0 = galv.linear %x, %w : (tensor<8x63x128xf32, #p>, tensor<512x128xf32, #q>) -> tensor<8x63x512xf32, #p>
  return
}
}

// -----

// nor are a table's columns.
#mesh = #galv.mesh<[a = 2, b = 2], time = [m = 2]>
#p = #galv.placement<#mesh, [{m, a}, {}]>
#q = #galv.placement<#mesh, [{}, {b : pad}]>
#r = #galv.placement<#mesh, [{m, a}, {}, {b : pad}]>
module attributes {galv.placed} {
func.func @f(%x: tensor<8x64xi64, #p>, %w: tensor<258x129xf32, #q>) {
  // expected-error @+1 {{'galv.embedding' op dimension 1 of operand 1 is padded, but factor 'h' cannot be}}
  %0 = galv.embedding %x, %w : (tensor<8x64xi64, #p>, tensor<258x129xf32, #q>) -> tensor<8x64x129xf32, #r>
  return
}
}

// -----

//===----------------------------------------------------------------------===//
// Redistribution
//===----------------------------------------------------------------------===//

// It keeps the value: its shape,
#mesh = #galv.mesh<[a = 2, b = 2], time = [m = 2]>
#p = #galv.placement<#mesh, [{b}, {}]>
func.func @f(%x: tensor<512x128xf32, #p>) {
  // expected-error-re @+1 {{'galv.redistribute' op changes the tensor: 'tensor<512x128xf32, {{.*}}>' to 'tensor<128x512xf32, {{.*}}>'}}
  %0 = galv.redistribute %x : tensor<512x128xf32, #p> -> tensor<128x512xf32, #p>
  return
}

// -----

// its element type.
#mesh = #galv.mesh<[a = 2, b = 2], time = [m = 2]>
#p = #galv.placement<#mesh, [{b}, {}]>
func.func @f(%x: tensor<512x128xf32, #p>) {
  // expected-error-re @+1 {{'galv.redistribute' op changes the tensor: 'tensor<512x128xf32, {{.*}}>' to 'tensor<512x128xf64, {{.*}}>'}}
  %0 = galv.redistribute %x : tensor<512x128xf32, #p> -> tensor<512x128xf64, #p>
  return
}

// -----

#mesh = #galv.mesh<[a = 2, b = 2], time = [m = 2]>
#p = #galv.placement<#mesh, [{b}, {}]>
func.func @f(%x: tensor<512x128xf32>) {
  // expected-error-re @+1 {{'galv.redistribute' op goes between placements, not from 'tensor<512x128xf32>' to 'tensor<512x128xf32, {{.*}}>'}}
  %0 = galv.redistribute %x : tensor<512x128xf32> -> tensor<512x128xf32, #p>
  return
}

// -----

#mesh = #galv.mesh<[a = 2, b = 2], time = [m = 2]>
#mesh1 = #galv.mesh<[a = 2, b = 2]>
#p = #galv.placement<#mesh, [{b}, {}]>
#q = #galv.placement<#mesh1, [{}, {}]>
func.func @f(%x: tensor<512x128xf32, #p>) {
  // expected-error @+1 {{'galv.redistribute' op goes from mesh #galv.mesh<[a = 2, b = 2], time = [m = 2]> to mesh #galv.mesh<[a = 2, b = 2]>}}
  %0 = galv.redistribute %x : tensor<512x128xf32, #p> -> tensor<512x128xf32, #q>
  return
}

// -----

// A microbatch does not see the others: its axis is not removed,
#mesh = #galv.mesh<[a = 2, b = 2], time = [m = 2]>
#F = #galv.placement<#mesh, [{m, a}, {}, {}]>
#p = #galv.placement<#mesh, [{a}, {}, {}]>
func.func @f(%x: tensor<8x64x128xf32, #F>) {
  // expected-error @+1 {{'galv.redistribute' op removes or moves time axis 'm': [{m, a}, {}, {}] to [{a}, {}, {}]}}
  %0 = galv.redistribute %x : tensor<8x64x128xf32, #F> -> tensor<8x64x128xf32, #p>
  return
}

// -----

// not moved to another dimension,
#mesh = #galv.mesh<[a = 2, b = 2], time = [m = 2]>
#F = #galv.placement<#mesh, [{m, a}, {}, {}]>
#p = #galv.placement<#mesh, [{a}, {m}, {}]>
func.func @f(%x: tensor<8x64x128xf32, #F>) {
  // expected-error @+1 {{'galv.redistribute' op removes or moves time axis 'm': [{m, a}, {}, {}] to [{a}, {m}, {}]}}
  %0 = galv.redistribute %x : tensor<8x64x128xf32, #F> -> tensor<8x64x128xf32, #p>
  return
}

// -----

// not moved within its dimension: that would be rows of other microbatches,
#mesh = #galv.mesh<[a = 2, b = 2], time = [m = 2]>
#F = #galv.placement<#mesh, [{m, a}, {}, {}]>
#p = #galv.placement<#mesh, [{a, m}, {}, {}]>
func.func @f(%x: tensor<8x64x128xf32, #F>) {
  // expected-error @+1 {{'galv.redistribute' op removes or moves time axis 'm': [{m, a}, {}, {}] to [{a, m}, {}, {}]}}
  %0 = galv.redistribute %x : tensor<8x64x128xf32, #F> -> tensor<8x64x128xf32, #p>
  return
}

// -----

// whether by its own axes or by others,
#mesh = #galv.mesh<[a = 2, b = 2], time = [m = 2]>
#p = #galv.placement<#mesh, [{m}, {}, {}]>
#q = #galv.placement<#mesh, [{b, m}, {}, {}]>
func.func @f(%x: tensor<8x64x128xf32, #p>) {
  // expected-error @+1 {{'galv.redistribute' op removes or moves time axis 'm': [{m}, {}, {}] to [{b, m}, {}, {}]}}
  %0 = galv.redistribute %x : tensor<8x64x128xf32, #p> -> tensor<8x64x128xf32, #q>
  return
}

// -----

// to a sum,
#mesh = #galv.mesh<[a = 2, b = 2], time = [m = 2]>
#F = #galv.placement<#mesh, [{m, a}, {}, {}]>
#p = #galv.placement<#mesh, [{a}, {}, {}], partial = {m}>
func.func @f(%x: tensor<8x64x128xf32, #F>) {
  // expected-error @+1 {{'galv.redistribute' op removes or moves time axis 'm': [{m, a}, {}, {}] to [{a}, {}, {}] partial {m}}}
  %0 = galv.redistribute %x : tensor<8x64x128xf32, #F> -> tensor<8x64x128xf32, #p>
  return
}

// -----

// from one,
#mesh = #galv.mesh<[a = 2, b = 2], time = [m = 2]>
#p = #galv.placement<#mesh, [{}, {}], partial = {a, m}>
#q = #galv.placement<#mesh, [{m}, {}], partial = {a}>
func.func @f(%x: tensor<512x128xf32, #p>) {
  // expected-error @+1 {{'galv.redistribute' op removes or moves time axis 'm': [{}, {}] partial {a, m} to [{m}, {}] partial {a}}}
  %0 = galv.redistribute %x : tensor<512x128xf32, #p> -> tensor<512x128xf32, #q>
  return
}

// -----

// not summed: only `galv.accumulate` does.
#mesh = #galv.mesh<[a = 2, b = 2], time = [m = 2]>
#p = #galv.placement<#mesh, [{}, {}], partial = {a, m}>
#q = #galv.placement<#mesh, [{}, {}], partial = {a}>
func.func @f(%x: tensor<512x128xf32, #p>) {
  // expected-error @+1 {{'galv.redistribute' op removes or moves time axis 'm': [{}, {}] partial {a, m} to [{}, {}] partial {a}}}
  %0 = galv.redistribute %x : tensor<512x128xf32, #p> -> tensor<512x128xf32, #q>
  return
}

// -----

// Nor by `reduce`.
#mesh = #galv.mesh<[a = 2, b = 2], time = [m = 2]>
#p = #galv.placement<#mesh, [{}, {}], partial = {a, m}>
#q = #galv.placement<#mesh, [{}, {}], flat = {a}>
func.func @f(%x: tensor<512x128xf32, #p>) {
  // expected-error @+1 {{'galv.reduce' op removes or moves time axis 'm': [{}, {}] partial {a, m} to [{}, {}] flat {a}}}
  %0 = galv.reduce %x : tensor<512x128xf32, #p> -> tensor<512x128xf32, #q>
  return
}

// -----

// No partial maximum is made,
#mesh = #galv.mesh<[a = 2, b = 2], time = [m = 2]>
#F = #galv.placement<#mesh, [{m, a}, {}, {}]>
#p = #galv.placement<#mesh, [{m, a}, {}, {}], partial = max {b}>
func.func @f(%x: tensor<8x64x128xf32, #F>) {
  // expected-error @+1 {{'galv.redistribute' op makes a partial maximum of [{m, a}, {}, {}]: [{m, a}, {}, {}] partial max {b}}}
  %0 = galv.redistribute %x : tensor<8x64x128xf32, #F> -> tensor<8x64x128xf32, #p>
  return
}

// -----

#mesh = #galv.mesh<[a = 2, b = 2], time = [m = 2]>
#P = #galv.placement<#mesh, [{m, a}, {}, {}], partial = {b}>
#p = #galv.placement<#mesh, [{m, a}, {}, {}], partial = max {b}>
func.func @f(%x: tensor<8x64x128xf32, #P>) {
  // expected-error @+1 {{'galv.redistribute' op makes a partial maximum of [{m, a}, {}, {}] partial {b}: [{m, a}, {}, {}] partial max {b}}}
  %0 = galv.redistribute %x : tensor<8x64x128xf32, #P> -> tensor<8x64x128xf32, #p>
  return
}

// -----

// or becomes a sum.
#mesh = #galv.mesh<[a = 2, b = 2], time = [m = 2]>
#p = #galv.placement<#mesh, [{m, a}, {}, {}], partial = max {b}>
#P = #galv.placement<#mesh, [{m, a}, {}, {}], partial = {b}>
func.func @f(%x: tensor<8x64x128xf32, #p>) {
  // expected-error @+1 {{'galv.redistribute' op makes a partial sum of a partial maximum over 'b'}}
  %0 = galv.redistribute %x : tensor<8x64x128xf32, #p> -> tensor<8x64x128xf32, #P>
  return
}

// -----

// `reduce` keeps the shape.
#mesh = #galv.mesh<[a = 2, b = 2], time = [m = 2]>
#p = #galv.placement<#mesh, [{}, {}], partial = {a}>
#q = #galv.placement<#mesh, [{}, {}]>
func.func @f(%x: tensor<512x128xf32, #p>) {
  // expected-error-re @+1 {{'galv.reduce' op changes the tensor: 'tensor<512x128xf32, {{.*}}>' to 'tensor<128x512xf32, {{.*}}>'}}
  %0 = galv.reduce %x : tensor<512x128xf32, #p> -> tensor<128x512xf32, #q>
  return
}

// -----

//===----------------------------------------------------------------------===//
// Microbatches
//===----------------------------------------------------------------------===//

// The sum over microbatches takes `m`
#mesh = #galv.mesh<[a = 2, b = 2], time = [m = 2]>
#p = #galv.placement<#mesh, [{b}, {}], partial = {a, m}>
func.func @f(%g: tensor<512x128xf32, #p>) {
  // expected-error-re @+1 {{'galv.microbatches' op result 0 has type '{{.*}}, [{b}, {}], partial = {a, m}>>', accumulation gives '{{.*}}, [{b}, {}], partial = {a}>>'}}
  %0 = galv.microbatches -> tensor<512x128xf32, #p> {
    galv.accumulate %g : tensor<512x128xf32, #p>
  }
  return
}

// -----

// and `m` only.
#mesh = #galv.mesh<[a = 2, b = 2], time = [m = 2]>
#p = #galv.placement<#mesh, [{b}, {}], partial = {a, m}>
#q = #galv.placement<#mesh, [{b}, {}]>
func.func @f(%g: tensor<512x128xf32, #p>) {
  // expected-error-re @+1 {{'galv.microbatches' op result 0 has type '{{.*}}, [{b}, {}]>>', accumulation gives '{{.*}}, [{b}, {}], partial = {a}>>'}}
  %0 = galv.microbatches -> tensor<512x128xf32, #q> {
    galv.accumulate %g : tensor<512x128xf32, #p>
  }
  return
}

// -----

#mesh = #galv.mesh<[a = 2, b = 2], time = [m = 2]>
#p = #galv.placement<#mesh, [{b}, {}], partial = {a, m}>
#q = #galv.placement<#mesh, [{b}, {}], partial = {a}>
func.func @f(%g: tensor<512x128xf32, #p>) {
  // expected-error-re @+1 {{result 0 has type 'tensor<512x128xf64, {{.*}}', accumulation gives 'tensor<512x128xf32, {{.*}}'}}
  %0 = galv.microbatches -> tensor<512x128xf64, #q> {
    galv.accumulate %g : tensor<512x128xf32, #p>
  }
  return
}

// -----

// It stays on its stage.
#mesh = #galv.mesh<[a = 2, b = 2], time = [m = 2]>
#p = #galv.placement<#mesh, [{b}, {}], partial = {a, m}>
#q = #galv.placement<#mesh, [{b}, {}], partial = {a}>
func.func @f(%g: !galv.on<@first, tensor<512x128xf32, #p>>) {
  // expected-error-re @+1 {{result 0 has type '!galv.on<@second, {{.*}}', accumulation gives '!galv.on<@first, {{.*}}'}}
  %0 = galv.microbatches -> !galv.on<@second, tensor<512x128xf32, #q>> {
    galv.accumulate %g : !galv.on<@first, tensor<512x128xf32, #p>>
  }
  return
}

// -----

// One microbatch of a value is no sum.
#mesh = #galv.mesh<[a = 2, b = 2], time = [m = 2]>
#F = #galv.placement<#mesh, [{m, a}, {}, {}]>
func.func @f(%g: tensor<8x64x128xf32, #F>) {
  %0 = galv.microbatches -> tensor<8x64x128xf32, #F> {
    // expected-error @+1 {{'galv.accumulate' op value 0 is split over time axis 'm', which only a sum can leave: [{m, a}, {}, {}]}}
    galv.accumulate %g : tensor<8x64x128xf32, #F>
  }
  return
}

// -----

// What is the same in every microbatch would be counted twice.
#mesh = #galv.mesh<[a = 2, b = 2], time = [m = 2]>
#p = #galv.placement<#mesh, [{b}, {}], partial = {a}>
func.func @f(%g: tensor<512x128xf32, #p>) {
  %0 = galv.microbatches -> tensor<512x128xf32, #p> {
    // expected-error @+1 {{'galv.accumulate' op value 0 is not a partial sum over the microbatches: [{b}, {}] partial {a}}}
    galv.accumulate %g : tensor<512x128xf32, #p>
  }
  return
}

// -----

// Nor is a largest value.
#mesh = #galv.mesh<[a = 2, b = 2], time = [m = 2]>
#p = #galv.placement<#mesh, [{b}, {}], partial = max {a, m}>
#q = #galv.placement<#mesh, [{b}, {}], partial = max {a}>
func.func @f(%g: tensor<512x128xf32, #p>) {
  %0 = galv.microbatches -> tensor<512x128xf32, #q> {
    // expected-error @+1 {{'galv.accumulate' op value 0 is no sum: [{b}, {}] partial max {a, m}}}
    galv.accumulate %g : tensor<512x128xf32, #p>
  }
  return
}

// -----

func.func @f(%g: tensor<f32>) {
  // expected-error @+1 {{'galv.microbatches' op has 2 results, but 1 values are accumulated}}
  %0:2 = galv.microbatches -> tensor<f32>, tensor<f32> {
    galv.accumulate %g : tensor<f32>
  }
  return
}

// -----

func.func @f() {
  // expected-error @+1 {{'galv.microbatches' op does not end in galv.accumulate}}
  galv.microbatches {
    galv.yield
  }
  return
}

// -----

func.func @f(%g: tensor<f32>) {
  // expected-error @+1 {{'galv.accumulate' op expects parent op 'galv.microbatches'}}
  galv.accumulate %g : tensor<f32>
}

// -----

//===----------------------------------------------------------------------===//
// Stages
//===----------------------------------------------------------------------===//

// A stage's value used on another:
#mesh = #galv.mesh<[a = 2, b = 2], time = [m = 2]>
#F = #galv.placement<#mesh, [{m, a}, {}, {}]>
galv.stage @first #mesh {first_rank = 0, index = 0}
galv.stage @second #mesh {first_rank = 4, index = 1}
func.func @f(%x: !galv.on<@first, tensor<8x64x128xf32, #F>>) {
  // expected-error @+1 {{'galv.phase' op operand 0 lies on stage @first, the phase runs on @second: a galv.transfer is missing}}
  galv.phase "forward" on @second(%xin = %x : !galv.on<@first, tensor<8x64x128xf32, #F>>) {
    galv.yield
  }
  return
}

// -----

// given as the value of another.
#mesh = #galv.mesh<[a = 2, b = 2], time = [m = 2]>
#F = #galv.placement<#mesh, [{m, a}, {}, {}]>
galv.stage @first #mesh {first_rank = 0, index = 0}
galv.stage @second #mesh {first_rank = 4, index = 1}
func.func @f(%x: !galv.on<@second, tensor<8x64x128xf32, #F>>) {
  // expected-error @+1 {{'galv.phase' op result 0 lies on stage @first, the phase runs on @second: a galv.transfer is missing}}
  %0 = galv.phase "forward" on @second(%xin = %x : !galv.on<@second, tensor<8x64x128xf32, #F>>) -> !galv.on<@first, tensor<8x64x128xf32, #F>> {
    galv.yield %xin : tensor<8x64x128xf32, #F>
  }
  return
}

// -----

// A result is what its region yields.
#mesh = #galv.mesh<[a = 2, b = 2], time = [m = 2]>
#F = #galv.placement<#mesh, [{m, a}, {}, {}]>
#S = #galv.placement<#mesh, [{m, a}, {b}, {}]>
galv.stage @first #mesh {first_rank = 0, index = 0}
galv.stage @second #mesh {first_rank = 4, index = 1}
func.func @f(%x: !galv.on<@second, tensor<8x64x128xf32, #F>>) {
  // expected-error-re @+1 {{'galv.phase' op result 0 is '{{.*}} outside and '{{.*}} inside}}
  %0 = galv.phase "forward" on @second(%xin = %x : !galv.on<@second, tensor<8x64x128xf32, #F>>) -> !galv.on<@second, tensor<8x64x128xf32, #S>> {
    galv.yield %xin : tensor<8x64x128xf32, #F>
  }
  return
}

// -----

#mesh = #galv.mesh<[a = 2, b = 2], time = [m = 2]>
#F = #galv.placement<#mesh, [{m, a}, {}, {}]>
galv.stage @first #mesh {first_rank = 0, index = 0}
galv.stage @second #mesh {first_rank = 4, index = 1}
func.func @f(%x: !galv.on<@second, tensor<8x64x128xf32, #F>>) {
  // expected-error @+1 {{'galv.phase' op has 0 results, its galv.yield gives 1}}
  galv.phase "forward" on @second(%xin = %x : !galv.on<@second, tensor<8x64x128xf32, #F>>) {
    galv.yield %xin : tensor<8x64x128xf32, #F>
  }
  return
}

// -----

#mesh = #galv.mesh<[a = 2, b = 2], time = [m = 2]>
galv.stage @first #mesh {first_rank = 0, index = 0}
galv.stage @second #mesh {first_rank = 4, index = 1}
func.func @f() {
  // expected-error @+1 {{'galv.phase' op "middle" is not begin, forward, backward or finish}}
  galv.phase "middle" on @second() {
    galv.yield
  }
  return
}

// -----

// `begin` and `finish` know no microbatches.
#mesh = #galv.mesh<[a = 2, b = 2], time = [m = 2]>
#F = #galv.placement<#mesh, [{m, a}, {}, {}]>
galv.stage @first #mesh {first_rank = 0, index = 0}
galv.stage @second #mesh {first_rank = 4, index = 1}
func.func @f(%x: !galv.on<@second, tensor<8x64x128xf32, #F>>) {
  // expected-error @+1 {{'galv.phase' op operand 0 knows time axis 'm' in phase begin}}
  galv.phase "begin" on @second(%xin = %x : !galv.on<@second, tensor<8x64x128xf32, #F>>) {
    galv.yield
  }
  return
}

// -----

#mesh = #galv.mesh<[a = 2, b = 2], time = [m = 2]>
#p = #galv.placement<#mesh, [{}, {}], partial = {m}>
galv.stage @first #mesh {first_rank = 0, index = 0}
galv.stage @second #mesh {first_rank = 4, index = 1}
func.func @f(%x: !galv.on<@second, tensor<512x128xf32, #p>>) {
  // expected-error @+1 {{'galv.phase' op operand 0 knows time axis 'm' in phase finish}}
  galv.phase "finish" on @second(%xin = %x : !galv.on<@second, tensor<512x128xf32, #p>>) {
    galv.yield
  }
  return
}

// -----

#mesh = #galv.mesh<[a = 2, b = 2], time = [m = 2]>
#p = #galv.placement<#mesh, [{m}, {}]>
galv.stage @first #mesh {first_rank = 0, index = 0}
galv.stage @second #mesh {first_rank = 4, index = 1}
func.func @f() {
  %0 = galv.phase "begin" on @second() -> !galv.on<@second, tensor<8x64xi64, #p>> {
    // expected-error @+1 {{'galv.input' op knows time axis 'm' in phase begin}}
    %labels = galv.input {name = "labels"} : () -> tensor<8x64xi64, #p>
    galv.yield %labels : tensor<8x64xi64, #p>
  }
  return
}

// -----

// What a phase reads comes through its operands.
#mesh = #galv.mesh<[a = 2, b = 2], time = [m = 2]>
#F = #galv.placement<#mesh, [{m, a}, {}, {}]>
galv.stage @first #mesh {first_rank = 0, index = 0}
galv.stage @second #mesh {first_rank = 4, index = 1}
func.func @f(%x: !galv.on<@second, tensor<8x64x128xf32, #F>>) {
  // expected-note @+1 {{required by region isolation constraints}}
  galv.phase "forward" on @second() {
    // expected-error @+1 {{using value defined outside the region}}
    %0 = galv.transfer %x : <@second, tensor<8x64x128xf32, #F>> -> <@first, tensor<8x64x128xf32, #F>>
    galv.yield
  }
  return
}

// -----

// A transfer goes to another stage
#mesh = #galv.mesh<[a = 2, b = 2], time = [m = 2]>
#S = #galv.placement<#mesh, [{m, a}, {b}, {}]>
func.func @f(%x: !galv.on<@first, tensor<8x64x128xf32, #S>>) {
  // expected-error @+1 {{'galv.transfer' op stays on stage @first}}
  %0 = galv.transfer %x : <@first, tensor<8x64x128xf32, #S>> -> <@first, tensor<8x64x128xf32, #S>>
  return
}

// -----

// and does nothing else.
#mesh = #galv.mesh<[a = 2, b = 2], time = [m = 2]>
#S = #galv.placement<#mesh, [{m, a}, {b}, {}]>
#F = #galv.placement<#mesh, [{m, a}, {}, {}]>
func.func @f(%x: !galv.on<@first, tensor<8x64x128xf32, #S>>) {
  // expected-error-re @+1 {{'galv.transfer' op sends '{{.*}}', but receives '{{.*}}'}}
  %0 = galv.transfer %x : <@first, tensor<8x64x128xf32, #S>> -> <@second, tensor<8x64x128xf32, #F>>
  return
}

// -----

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

#mesh = #galv.mesh<[a = 2, b = 2], time = [m = 2]>
#F = #galv.placement<#mesh, [{m, a}, {}, {}]>
#S = #galv.placement<#mesh, [{m, a}, {b}, {}]>
// expected-note @+1 {{declared here}}
func.func private @block(tensor<8x64x128xf32, #F>) -> tensor<8x64x128xf32, #F>
func.func @f(%x: tensor<8x64x128xf32, #S>) {
  // expected-error-re @+1 {{'galv.call' op operand 0 has type 'tensor<8x64x128xf32, {{.*}}, [{m, a}, {b}, {}]>>', @block has 'tensor<8x64x128xf32, {{.*}}, [{m, a}, {}, {}]>>'}}
  %0 = galv.call @block(%x) {block = 1} : (tensor<8x64x128xf32, #S>) -> tensor<8x64x128xf32, #F>
  return
}

// -----

#mesh = #galv.mesh<[a = 2, b = 2], time = [m = 2]>
#F = #galv.placement<#mesh, [{m, a}, {}, {}]>
#S = #galv.placement<#mesh, [{m, a}, {b}, {}]>
// expected-note @+1 {{declared here}}
func.func private @block(tensor<8x64x128xf32, #F>) -> tensor<8x64x128xf32, #F>
func.func @f(%x: tensor<8x64x128xf32, #F>) {
  // expected-error-re @+1 {{'galv.call' op result 0 has type 'tensor<8x64x128xf32, {{.*}}, [{m, a}, {b}, {}]>>', @block has 'tensor<8x64x128xf32, {{.*}}, [{m, a}, {}, {}]>>'}}
  %0 = galv.call @block(%x) {block = 1} : (tensor<8x64x128xf32, #F>) -> tensor<8x64x128xf32, #S>
  return
}

// -----

#mesh = #galv.mesh<[a = 2, b = 2], time = [m = 2]>
#F = #galv.placement<#mesh, [{m, a}, {}, {}]>
// expected-note @+1 {{declared here}}
func.func private @block(tensor<8x64x128xf32, #F>) -> tensor<8x64x128xf32, #F>
func.func @f(%x: tensor<8x64x128xf32, #F>, %w: tensor<8x64x128xf32, #F>) {
  // expected-error @+1 {{'galv.call' op has 2 operands, @block has 1}}
  %0 = galv.call @block(%x, %w) {block = 1} : (tensor<8x64x128xf32, #F>, tensor<8x64x128xf32, #F>) -> tensor<8x64x128xf32, #F>
  return
}

// -----

#mesh = #galv.mesh<[a = 2, b = 2], time = [m = 2]>
#F = #galv.placement<#mesh, [{m, a}, {}, {}]>
// expected-note @+1 {{declared here}}
func.func private @block(tensor<8x64x128xf32, #F>) -> tensor<8x64x128xf32, #F>
func.func @f(%x: tensor<8x64x128xf32, #F>) {
  // expected-error @+1 {{'galv.call' op has 2 results, @block has 1}}
  %0:2 = galv.call @block(%x) {block = 1} : (tensor<8x64x128xf32, #F>) -> (tensor<8x64x128xf32, #F>, tensor<8x64x128xf32, #F>)
  return
}

// -----

#mesh = #galv.mesh<[a = 2, b = 2], time = [m = 2]>
#F = #galv.placement<#mesh, [{m, a}, {}, {}]>
func.func private @block(tensor<8x64x128xf32, #F>) -> tensor<8x64x128xf32, #F>
func.func @f(%x: tensor<8x64x128xf32, #F>) {
  // expected-error @+1 {{'galv.call' op calls @nothing, which is not a function}}
  %0 = galv.call @nothing(%x) {block = 1} : (tensor<8x64x128xf32, #F>) -> tensor<8x64x128xf32, #F>
  return
}

// -----

//===----------------------------------------------------------------------===//
// Parameters
//===----------------------------------------------------------------------===//

// expected-error @+1 {{initializer "uniform" is not zeros, ones or normal}}
galv.parameter @w : tensor<8xf32> {dimensions = ["embed"], checkpoint = #galv.checkpoint<"w", [8], [0], transposed = false>, initializer = #galv.initializer<"uniform", 0.0 : f64>}

// -----

// expected-error @+1 {{'galv.parameter' op type 'tensor<8x2x2xf32>' is not a tensor of one or two dimensions}}
galv.parameter @w : tensor<8x2x2xf32> {dimensions = ["a", "b", "c"], checkpoint = #galv.checkpoint<"w", [8, 2, 2], [0, 0, 0], transposed = false>, initializer = #galv.initializer<"zeros", 0.0 : f64>}

// -----

// expected-error @+1 {{'galv.parameter' op type 'f32' is not a tensor of one or two dimensions}}
galv.parameter @w : f32 {dimensions = [], checkpoint = #galv.checkpoint<"w", [8], [0], transposed = false>, initializer = #galv.initializer<"zeros", 0.0 : f64>}

// -----

// expected-error @+1 {{'galv.parameter' op names 1 dimensions of 'tensor<8x4xf32>'}}
galv.parameter @w : tensor<8x4xf32> {dimensions = ["hidden"], checkpoint = #galv.checkpoint<"w", [8, 4], [0, 0], transposed = false>, initializer = #galv.initializer<"zeros", 0.0 : f64>}

// -----

// expected-error @+1 {{'galv.parameter' op checkpoint #galv.checkpoint<"w", [8], [0], transposed = false> and 'tensor<8x4xf32>' differ in rank}}
galv.parameter @w : tensor<8x4xf32> {dimensions = ["hidden", "embed"], checkpoint = #galv.checkpoint<"w", [8], [0], transposed = false>, initializer = #galv.initializer<"zeros", 0.0 : f64>}

// -----

// expected-error @+1 {{'galv.parameter' op checkpoint #galv.checkpoint<"w", [8], [0], transposed = true> is transposed, but 'tensor<8xf32>' is a vector}}
galv.parameter @w : tensor<8xf32> {dimensions = ["hidden"], checkpoint = #galv.checkpoint<"w", [8], [0], transposed = true>, initializer = #galv.initializer<"zeros", 0.0 : f64>}

// -----

// A view that leaves its checkpoint tensor: behind the end,
// expected-error @+1 {{'galv.parameter' op rows 13 to 21 do not lie within dimension 1 of #galv.checkpoint<"w", [4, 20], [0, 13], transposed = true>}}
galv.parameter @w : tensor<8x4xf32> {dimensions = ["hidden", "embed"], checkpoint = #galv.checkpoint<"w", [4, 20], [0, 13], transposed = true>, initializer = #galv.initializer<"zeros", 0.0 : f64>}

// -----

// before the start.
// expected-error @+1 {{'galv.parameter' op rows -1 to 7 do not lie within dimension 0 of #galv.checkpoint<"w", [8, 4], [-1, 0], transposed = false>}}
galv.parameter @w : tensor<8x4xf32> {dimensions = ["hidden", "embed"], checkpoint = #galv.checkpoint<"w", [8, 4], [-1, 0], transposed = false>, initializer = #galv.initializer<"zeros", 0.0 : f64>}

// -----

// expected-error @+1 {{'galv.parameter' op rest 'tensor<4x8xf32>' has another shape than 'tensor<8x4xf32>'}}
galv.parameter @w : tensor<8x4xf32> {dimensions = ["hidden", "embed"], checkpoint = #galv.checkpoint<"w", [8, 4], [0, 0], transposed = false>, initializer = #galv.initializer<"zeros", 0.0 : f64>, rest = tensor<4x8xf32>}

// -----

// expected-error @+1 {{'galv.parameter' op rest 'f32' is not a tensor}}
galv.parameter @w : tensor<8x4xf32> {dimensions = ["hidden", "embed"], checkpoint = #galv.checkpoint<"w", [8, 4], [0, 0], transposed = false>, initializer = #galv.initializer<"zeros", 0.0 : f64>, rest = f32}

// -----

// What rests is the value, not a part of a sum.
#mesh = #galv.mesh<[a = 2, b = 2], time = [m = 2]>
#p = #galv.placement<#mesh, [{}, {}], flat = {a}, partial = {b}>
// expected-error @+1 {{'galv.parameter' op rest is a partial sum: [{}, {}] flat {a} partial {b}}}
galv.parameter @w : tensor<8x4xf32> {dimensions = ["hidden", "embed"], checkpoint = #galv.checkpoint<"w", [8, 4], [0, 0], transposed = false>, initializer = #galv.initializer<"zeros", 0.0 : f64>, rest = tensor<8x4xf32, #p>}

// -----

//===----------------------------------------------------------------------===//
// The optimizer
//===----------------------------------------------------------------------===//

// A gradient that was not summed over the data axis,
#mesh = #galv.mesh<[a = 2, b = 2], time = [m = 2]>
#p = #galv.placement<#mesh, [{b}, {}], partial = {a}>
#q = #galv.placement<#mesh, [{b}, {}]>
#r = #galv.placement<#mesh, []>
// expected-note @+1 {{of this parameter}}
galv.parameter @w : tensor<512x128xf32> {dimensions = ["hidden", "embed"], checkpoint = #galv.checkpoint<"w", [512, 128], [0, 0], transposed = false>, initializer = #galv.initializer<"zeros", 0.0 : f64>, rest = tensor<512x128xf32, #q>}
func.func @f(%g: tensor<512x128xf32, #p>, %clip: tensor<f32, #r>) {
  // expected-error @+1 {{'galv.update' op takes a gradient that is still a partial sum: [{b}, {}] partial {a}}}
  galv.update @w, %g, %clip {decay = true} : tensor<512x128xf32, #p>, tensor<f32, #r>
  return
}

// -----

// over the tensor axis, on the way to rest's placement.
#mesh = #galv.mesh<[a = 2, b = 2], time = [m = 2]>
#p = #galv.placement<#mesh, [{}, {}], flat = {a}, partial = {b}>
#q = #galv.placement<#mesh, [{}, {}], flat = {a}>
#r = #galv.placement<#mesh, []>
// expected-note @+1 {{of this parameter}}
galv.parameter @w : tensor<512x128xf32> {dimensions = ["hidden", "embed"], checkpoint = #galv.checkpoint<"w", [512, 128], [0, 0], transposed = false>, initializer = #galv.initializer<"zeros", 0.0 : f64>, rest = tensor<512x128xf32, #q>}
func.func @f(%g: tensor<512x128xf32, #p>, %clip: tensor<f32, #r>) {
  // expected-error @+1 {{'galv.update' op takes a gradient that is still a partial sum: [{}, {}] flat {a} partial {b}}}
  galv.update @w, %g, %clip {decay = true} : tensor<512x128xf32, #p>, tensor<f32, #r>
  return
}

// -----

// A gradient that lies otherwise than the parameter.
#mesh = #galv.mesh<[a = 2, b = 2], time = [m = 2]>
#p = #galv.placement<#mesh, [{b}, {}]>
#q = #galv.placement<#mesh, [{b}, {}], flat = {a}>
#r = #galv.placement<#mesh, []>
// expected-note-re @+1 {{the parameter rests as '{{.*}}, flat = {a}>>'}}
galv.parameter @w : tensor<512x128xf32> {dimensions = ["hidden", "embed"], checkpoint = #galv.checkpoint<"w", [512, 128], [0, 0], transposed = false>, initializer = #galv.initializer<"zeros", 0.0 : f64>, rest = tensor<512x128xf32, #q>}
func.func @f(%g: tensor<512x128xf32, #p>, %clip: tensor<f32, #r>) {
  // expected-error-re @+1 {{'galv.update' op takes a gradient of type '{{.*}}[{b}, {}]>>'}}
  galv.update @w, %g, %clip {decay = true} : tensor<512x128xf32, #p>, tensor<f32, #r>
  return
}

// -----

#mesh = #galv.mesh<[a = 2, b = 2], time = [m = 2]>
#p = #galv.placement<#mesh, [{b}, {}], flat = {a}>
#q = #galv.placement<#mesh, []>
galv.parameter @w : tensor<512x128xf32> {dimensions = ["hidden", "embed"], checkpoint = #galv.checkpoint<"w", [512, 128], [0, 0], transposed = false>, initializer = #galv.initializer<"zeros", 0.0 : f64>, rest = tensor<512x128xf32, #p>}
func.func @f(%g: tensor<512x128xf32, #p>, %clip: tensor<f32, #q>) {
  // expected-error @+1 {{'galv.update' op updates @nothing, which is not a parameter}}
  galv.update @nothing, %g, %clip {decay = true} : tensor<512x128xf32, #p>, tensor<f32, #q>
  return
}

// -----

// A clip coefficient that is not yet that of all ranks.
#mesh = #galv.mesh<[a = 2, b = 2], time = [m = 2]>
#p = #galv.placement<#mesh, [{b}, {}], flat = {a}>
#q = #galv.placement<#mesh, [], partial = {a}>
galv.parameter @w : tensor<512x128xf32> {dimensions = ["hidden", "embed"], checkpoint = #galv.checkpoint<"w", [512, 128], [0, 0], transposed = false>, initializer = #galv.initializer<"zeros", 0.0 : f64>, rest = tensor<512x128xf32, #p>}
func.func @f(%g: tensor<512x128xf32, #p>, %clip: tensor<f32, #q>) {
  // expected-error-re @+1 {{'galv.update' op takes a replicated scalar, not 'tensor<f32, {{.*}}, partial = {a}>>'}}
  galv.update @w, %g, %clip {decay = true} : tensor<512x128xf32, #p>, tensor<f32, #q>
  return
}

// -----

//===----------------------------------------------------------------------===//
// Scalars of the step
//===----------------------------------------------------------------------===//

#mesh = #galv.mesh<[a = 2, b = 2], time = [m = 2]>
#p = #galv.placement<#mesh, [], partial = {a}>
func.func @f(%x: tensor<f32, #p>) {
  // expected-error-re @+1 {{'galv.sum_over_stages' op takes a replicated scalar, not 'tensor<f32, {{.*}}, partial = {a}>>'}}
  %0 = galv.sum_over_stages %x : tensor<f32, #p>
  return
}

// -----

#mesh = #galv.mesh<[a = 2, b = 2], time = [m = 2]>
#p = #galv.placement<#mesh, [{}]>
func.func @f(%x: tensor<8xf32, #p>) {
  // expected-error-re @+1 {{'galv.sum_over_stages' op takes a replicated scalar, not 'tensor<8xf32, {{.*}}'}}
  %0 = galv.sum_over_stages %x : tensor<8xf32, #p>
  return
}

// -----

#mesh = #galv.mesh<[a = 2, b = 2], time = [m = 2]>
#p = #galv.placement<#mesh, [], partial = {a}>
func.func @f(%x: tensor<f32, #p>) {
  // expected-error-re @+1 {{'galv.report' op takes a replicated scalar, not 'tensor<f32, {{.*}}, partial = {a}>>'}}
  galv.report "loss", %x : tensor<f32, #p>
  return
}

// -----

#mesh = #galv.mesh<[a = 2, b = 2], time = [m = 2]>
#p = #galv.placement<#mesh, []>
func.func @f(%x: tensor<f32, #p>) {
  // expected-error @+1 {{'galv.report' op "speed" is not loss or gradient_norm}}
  galv.report "speed", %x : tensor<f32, #p>
  return
}

// -----

//===----------------------------------------------------------------------===//
// Models
//===----------------------------------------------------------------------===//

// expected-error @+1 {{'galv.model' op does not end in galv.yield}}
galv.model @m attributes {batch = 8, sequence = 8, vocabulary = 8, layers = 1, layer_prefix = "h", configuration = ""} {
  %0 = galv.zero : () -> tensor<f32>
}
