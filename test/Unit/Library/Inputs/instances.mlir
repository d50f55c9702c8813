// A small instance of every operation with a factor rule; an operation that has
// none here fails the build of the library. A function holds one operation.
// Operands are drawn from a normal distribution where nothing else is said:
// `galv.positive`: its magnitude and a bit; `galv.ids = n`: below n;
// `galv.labels = n`: below n, one in four of them ignored.
//
// Extents of 4 and 8 can be split twice, 6 once and 5 never without padding.

//===----------------------------------------------------------------------===//
// Step inputs
//===----------------------------------------------------------------------===//

func.func @tokens() -> tensor<4x4xi64> {
  %0 = galv.input {name = "tokens"} : () -> tensor<4x4xi64>
  return %0 : tensor<4x4xi64>
}

func.func @labels() -> tensor<4x4xi64> {
  %0 = galv.input {name = "labels"} : () -> tensor<4x4xi64>
  return %0 : tensor<4x4xi64>
}

func.func @positions() -> tensor<8xi64> {
  %0 = galv.positions : () -> tensor<8xi64>
  return %0 : tensor<8xi64>
}

func.func @zero() -> tensor<f64> {
  %0 = galv.zero : () -> tensor<f64>
  return %0 : tensor<f64>
}

func.func @count_valid(%labels: tensor<4x4xi64> {galv.labels = 5 : i64}) -> tensor<f64> {
  %0 = galv.count_valid %labels : (tensor<4x4xi64>) -> tensor<f64>
  return %0 : tensor<f64>
}

//===----------------------------------------------------------------------===//
// Forward
//===----------------------------------------------------------------------===//

func.func @embedding(%ids: tensor<4x4xi64> {galv.ids = 8 : i64}, %table: tensor<8x4xf64>) -> tensor<4x4x4xf64> {
  %0 = galv.embedding %ids, %table : (tensor<4x4xi64>, tensor<8x4xf64>) -> tensor<4x4x4xf64>
  return %0 : tensor<4x4x4xf64>
}

func.func @embedding_pad(%ids: tensor<4xi64> {galv.ids = 5 : i64}, %table: tensor<5x4xf64>) -> tensor<4x4xf64> {
  %0 = galv.embedding %ids, %table : (tensor<4xi64>, tensor<5x4xf64>) -> tensor<4x4xf64>
  return %0 : tensor<4x4xf64>
}

func.func @linear(%x: tensor<4x4x8xf64>, %w: tensor<4x8xf64>, %b: tensor<4xf64>) -> tensor<4x4x4xf64> {
  %0 = galv.linear %x, %w, %b : (tensor<4x4x8xf64>, tensor<4x8xf64>, tensor<4xf64>) -> tensor<4x4x4xf64>
  return %0 : tensor<4x4x4xf64>
}

func.func @linear_no_bias(%x: tensor<4x4x4xf64>, %w: tensor<8x4xf64>) -> tensor<4x4x8xf64> {
  %0 = galv.linear %x, %w : (tensor<4x4x4xf64>, tensor<8x4xf64>) -> tensor<4x4x8xf64>
  return %0 : tensor<4x4x8xf64>
}

func.func @linear_pad(%x: tensor<4x6xf64>, %w: tensor<5x6xf64>, %b: tensor<5xf64>) -> tensor<4x5xf64> {
  %0 = galv.linear %x, %w, %b : (tensor<4x6xf64>, tensor<5x6xf64>, tensor<5xf64>) -> tensor<4x5xf64>
  return %0 : tensor<4x5xf64>
}

func.func @layer_norm(%x: tensor<4x4x6xf64>, %w: tensor<6xf64>, %b: tensor<6xf64>) -> (tensor<4x4x6xf64>, tensor<4x4xf64>, tensor<4x4xf64>) {
  %0:3 = galv.layer_norm %x, %w, %b {epsilon = 1.0e-05 : f64} : (tensor<4x4x6xf64>, tensor<6xf64>, tensor<6xf64>) -> (tensor<4x4x6xf64>, tensor<4x4xf64>, tensor<4x4xf64>)
  return %0#0, %0#1, %0#2 : tensor<4x4x6xf64>, tensor<4x4xf64>, tensor<4x4xf64>
}

func.func @gelu(%x: tensor<4x4x8xf64>) -> tensor<4x4x8xf64> {
  %0 = galv.gelu %x : (tensor<4x4x8xf64>) -> tensor<4x4x8xf64>
  return %0 : tensor<4x4x8xf64>
}

func.func @gelu_pad(%x: tensor<6x5xf64>) -> tensor<6x5xf64> {
  %0 = galv.gelu %x : (tensor<6x5xf64>) -> tensor<6x5xf64>
  return %0 : tensor<6x5xf64>
}

func.func @add(%a: tensor<4x4x4xf64>, %b: tensor<4x4x4xf64>) -> tensor<4x4x4xf64> {
  %0 = galv.add %a, %b : (tensor<4x4x4xf64>, tensor<4x4x4xf64>) -> tensor<4x4x4xf64>
  return %0 : tensor<4x4x4xf64>
}

func.func @add_pad(%a: tensor<6x5xf64>, %b: tensor<6x5xf64>) -> tensor<6x5xf64> {
  %0 = galv.add %a, %b : (tensor<6x5xf64>, tensor<6x5xf64>) -> tensor<6x5xf64>
  return %0 : tensor<6x5xf64>
}

func.func @add_repeat(%a: tensor<4x4x6xf64>, %b: tensor<4x6xf64>) -> tensor<4x4x6xf64> {
  %0 = galv.add %a, %b : (tensor<4x4x6xf64>, tensor<4x6xf64>) -> tensor<4x4x6xf64>
  return %0 : tensor<4x4x6xf64>
}

func.func @add_scalars(%a: tensor<f64>, %b: tensor<f64>) -> tensor<f64> {
  %0 = galv.add %a, %b : (tensor<f64>, tensor<f64>) -> tensor<f64>
  return %0 : tensor<f64>
}

func.func @scale(%a: tensor<4x8xf64>, %s: tensor<f64>) -> tensor<4x8xf64> {
  %0 = galv.scale %a, %s : (tensor<4x8xf64>, tensor<f64>) -> tensor<4x8xf64>
  return %0 : tensor<4x8xf64>
}

func.func @scale_pad(%a: tensor<6x5xf64>, %s: tensor<f64>) -> tensor<6x5xf64> {
  %0 = galv.scale %a, %s : (tensor<6x5xf64>, tensor<f64>) -> tensor<6x5xf64>
  return %0 : tensor<6x5xf64>
}

func.func @scale_scalar(%a: tensor<f64>, %s: tensor<f64>) -> tensor<f64> {
  %0 = galv.scale %a, %s : (tensor<f64>, tensor<f64>) -> tensor<f64>
  return %0 : tensor<f64>
}

func.func @reciprocal(%x: tensor<f64> {galv.positive}) -> tensor<f64> {
  %0 = galv.reciprocal %x : (tensor<f64>) -> tensor<f64>
  return %0 : tensor<f64>
}

// As many key heads as query heads; two query heads a key head; one key head.
func.func @attention(%q: tensor<4x4x8xf64>, %k: tensor<4x4x8xf64>, %v: tensor<4x4x8xf64>) -> (tensor<4x4x8xf64>, tensor<4x4x4xf64>) {
  %0:2 = galv.attention %q, %k, %v {head_dimension = 2 : i64} : (tensor<4x4x8xf64>, tensor<4x4x8xf64>, tensor<4x4x8xf64>) -> (tensor<4x4x8xf64>, tensor<4x4x4xf64>)
  return %0#0, %0#1 : tensor<4x4x8xf64>, tensor<4x4x4xf64>
}

func.func @attention_grouped(%q: tensor<4x4x16xf64>, %k: tensor<4x4x8xf64>, %v: tensor<4x4x8xf64>) -> (tensor<4x4x16xf64>, tensor<4x4x4xf64>) {
  %0:2 = galv.attention %q, %k, %v {head_dimension = 4 : i64} : (tensor<4x4x16xf64>, tensor<4x4x8xf64>, tensor<4x4x8xf64>) -> (tensor<4x4x16xf64>, tensor<4x4x4xf64>)
  return %0#0, %0#1 : tensor<4x4x16xf64>, tensor<4x4x4xf64>
}

func.func @attention_one_key(%q: tensor<4x4x8xf64>, %k: tensor<4x4x2xf64>, %v: tensor<4x4x2xf64>) -> (tensor<4x4x8xf64>, tensor<4x4x4xf64>) {
  %0:2 = galv.attention %q, %k, %v {head_dimension = 2 : i64} : (tensor<4x4x8xf64>, tensor<4x4x2xf64>, tensor<4x4x2xf64>) -> (tensor<4x4x8xf64>, tensor<4x4x4xf64>)
  return %0#0, %0#1 : tensor<4x4x8xf64>, tensor<4x4x4xf64>
}

func.func @cross_entropy(%x: tensor<4x4x8xf64>, %labels: tensor<4x4xi64> {galv.labels = 8 : i64}) -> (tensor<f64>, tensor<4x4xf64>) {
  %0:2 = galv.cross_entropy %x, %labels : (tensor<4x4x8xf64>, tensor<4x4xi64>) -> (tensor<f64>, tensor<4x4xf64>)
  return %0#0, %0#1 : tensor<f64>, tensor<4x4xf64>
}

func.func @cross_entropy_pad(%x: tensor<8x5xf64>, %labels: tensor<8xi64> {galv.labels = 5 : i64}) -> (tensor<f64>, tensor<8xf64>) {
  %0:2 = galv.cross_entropy %x, %labels : (tensor<8x5xf64>, tensor<8xi64>) -> (tensor<f64>, tensor<8xf64>)
  return %0#0, %0#1 : tensor<f64>, tensor<8xf64>
}

//===----------------------------------------------------------------------===//
// Backward
//===----------------------------------------------------------------------===//

func.func @embedding_gradient(%d: tensor<4x4x4xf64>, %ids: tensor<4x4xi64> {galv.ids = 8 : i64}) -> tensor<8x4xf64> {
  %0 = galv.embedding_gradient %d, %ids {vocabulary = 8 : i64} : (tensor<4x4x4xf64>, tensor<4x4xi64>) -> tensor<8x4xf64>
  return %0 : tensor<8x4xf64>
}

func.func @embedding_gradient_pad(%d: tensor<4x4xf64>, %ids: tensor<4xi64> {galv.ids = 5 : i64}) -> tensor<5x4xf64> {
  %0 = galv.embedding_gradient %d, %ids {vocabulary = 5 : i64} : (tensor<4x4xf64>, tensor<4xi64>) -> tensor<5x4xf64>
  return %0 : tensor<5x4xf64>
}

func.func @linear_input_gradient(%d: tensor<4x4x8xf64>, %w: tensor<8x4xf64>) -> tensor<4x4x4xf64> {
  %0 = galv.linear_input_gradient %d, %w : (tensor<4x4x8xf64>, tensor<8x4xf64>) -> tensor<4x4x4xf64>
  return %0 : tensor<4x4x4xf64>
}

func.func @linear_input_gradient_pad(%d: tensor<4x5xf64>, %w: tensor<5x6xf64>) -> tensor<4x6xf64> {
  %0 = galv.linear_input_gradient %d, %w : (tensor<4x5xf64>, tensor<5x6xf64>) -> tensor<4x6xf64>
  return %0 : tensor<4x6xf64>
}

func.func @linear_weight_gradient(%d: tensor<4x4x8xf64>, %x: tensor<4x4x4xf64>) -> tensor<8x4xf64> {
  %0 = galv.linear_weight_gradient %d, %x : (tensor<4x4x8xf64>, tensor<4x4x4xf64>) -> tensor<8x4xf64>
  return %0 : tensor<8x4xf64>
}

func.func @linear_weight_gradient_pad(%d: tensor<4x5xf64>, %x: tensor<4x6xf64>) -> tensor<5x6xf64> {
  %0 = galv.linear_weight_gradient %d, %x : (tensor<4x5xf64>, tensor<4x6xf64>) -> tensor<5x6xf64>
  return %0 : tensor<5x6xf64>
}

func.func @sum_leading(%x: tensor<4x4x8xf64>) -> tensor<8xf64> {
  %0 = galv.sum_leading %x {leading = 2 : i64} : (tensor<4x4x8xf64>) -> tensor<8xf64>
  return %0 : tensor<8xf64>
}

func.func @sum_leading_pad(%x: tensor<4x6x5xf64>) -> tensor<6x5xf64> {
  %0 = galv.sum_leading %x {leading = 1 : i64} : (tensor<4x6x5xf64>) -> tensor<6x5xf64>
  return %0 : tensor<6x5xf64>
}

func.func @sum_leading_all(%x: tensor<4x4xf64>) -> tensor<f64> {
  %0 = galv.sum_leading %x {leading = 2 : i64} : (tensor<4x4xf64>) -> tensor<f64>
  return %0 : tensor<f64>
}

func.func @layer_norm_input_gradient(%d: tensor<4x4x6xf64>, %x: tensor<4x4x6xf64>, %w: tensor<6xf64>, %mean: tensor<4x4xf64>, %rstd: tensor<4x4xf64> {galv.positive}) -> tensor<4x4x6xf64> {
  %0 = galv.layer_norm_input_gradient %d, %x, %w, %mean, %rstd : (tensor<4x4x6xf64>, tensor<4x4x6xf64>, tensor<6xf64>, tensor<4x4xf64>, tensor<4x4xf64>) -> tensor<4x4x6xf64>
  return %0 : tensor<4x4x6xf64>
}

func.func @layer_norm_weight_gradient(%d: tensor<4x4x8xf64>, %x: tensor<4x4x8xf64>, %mean: tensor<4x4xf64>, %rstd: tensor<4x4xf64> {galv.positive}) -> tensor<8xf64> {
  %0 = galv.layer_norm_weight_gradient %d, %x, %mean, %rstd : (tensor<4x4x8xf64>, tensor<4x4x8xf64>, tensor<4x4xf64>, tensor<4x4xf64>) -> tensor<8xf64>
  return %0 : tensor<8xf64>
}

func.func @gelu_gradient(%d: tensor<4x4x8xf64>, %x: tensor<4x4x8xf64>) -> tensor<4x4x8xf64> {
  %0 = galv.gelu_gradient %d, %x : (tensor<4x4x8xf64>, tensor<4x4x8xf64>) -> tensor<4x4x8xf64>
  return %0 : tensor<4x4x8xf64>
}

func.func @gelu_gradient_pad(%d: tensor<6x5xf64>, %x: tensor<6x5xf64>) -> tensor<6x5xf64> {
  %0 = galv.gelu_gradient %d, %x : (tensor<6x5xf64>, tensor<6x5xf64>) -> tensor<6x5xf64>
  return %0 : tensor<6x5xf64>
}

func.func @attention_gradient(%d: tensor<4x4x8xf64>, %q: tensor<4x4x8xf64>, %k: tensor<4x4x8xf64>, %v: tensor<4x4x8xf64>, %o: tensor<4x4x8xf64>, %lse: tensor<4x4x4xf64>) -> (tensor<4x4x8xf64>, tensor<4x4x8xf64>, tensor<4x4x8xf64>) {
  %0:3 = galv.attention_gradient %d, %q, %k, %v, %o, %lse {head_dimension = 2 : i64} : (tensor<4x4x8xf64>, tensor<4x4x8xf64>, tensor<4x4x8xf64>, tensor<4x4x8xf64>, tensor<4x4x8xf64>, tensor<4x4x4xf64>) -> (tensor<4x4x8xf64>, tensor<4x4x8xf64>, tensor<4x4x8xf64>)
  return %0#0, %0#1, %0#2 : tensor<4x4x8xf64>, tensor<4x4x8xf64>, tensor<4x4x8xf64>
}

func.func @attention_gradient_grouped(%d: tensor<4x4x16xf64>, %q: tensor<4x4x16xf64>, %k: tensor<4x4x8xf64>, %v: tensor<4x4x8xf64>, %o: tensor<4x4x16xf64>, %lse: tensor<4x4x4xf64>) -> (tensor<4x4x16xf64>, tensor<4x4x8xf64>, tensor<4x4x8xf64>) {
  %0:3 = galv.attention_gradient %d, %q, %k, %v, %o, %lse {head_dimension = 4 : i64} : (tensor<4x4x16xf64>, tensor<4x4x16xf64>, tensor<4x4x8xf64>, tensor<4x4x8xf64>, tensor<4x4x16xf64>, tensor<4x4x4xf64>) -> (tensor<4x4x16xf64>, tensor<4x4x8xf64>, tensor<4x4x8xf64>)
  return %0#0, %0#1, %0#2 : tensor<4x4x16xf64>, tensor<4x4x8xf64>, tensor<4x4x8xf64>
}

func.func @attention_gradient_one_key(%d: tensor<4x4x8xf64>, %q: tensor<4x4x8xf64>, %k: tensor<4x4x2xf64>, %v: tensor<4x4x2xf64>, %o: tensor<4x4x8xf64>, %lse: tensor<4x4x4xf64>) -> (tensor<4x4x8xf64>, tensor<4x4x2xf64>, tensor<4x4x2xf64>) {
  %0:3 = galv.attention_gradient %d, %q, %k, %v, %o, %lse {head_dimension = 2 : i64} : (tensor<4x4x8xf64>, tensor<4x4x8xf64>, tensor<4x4x2xf64>, tensor<4x4x2xf64>, tensor<4x4x8xf64>, tensor<4x4x4xf64>) -> (tensor<4x4x8xf64>, tensor<4x4x2xf64>, tensor<4x4x2xf64>)
  return %0#0, %0#1, %0#2 : tensor<4x4x8xf64>, tensor<4x4x2xf64>, tensor<4x4x2xf64>
}

func.func @cross_entropy_gradient(%d: tensor<f64>, %x: tensor<4x4x8xf64>, %labels: tensor<4x4xi64> {galv.labels = 8 : i64}, %lse: tensor<4x4xf64>) -> tensor<4x4x8xf64> {
  %0 = galv.cross_entropy_gradient %d, %x, %labels, %lse : (tensor<f64>, tensor<4x4x8xf64>, tensor<4x4xi64>, tensor<4x4xf64>) -> tensor<4x4x8xf64>
  return %0 : tensor<4x4x8xf64>
}

func.func @cross_entropy_gradient_pad(%d: tensor<f64>, %x: tensor<8x5xf64>, %labels: tensor<8xi64> {galv.labels = 5 : i64}, %lse: tensor<8xf64>) -> tensor<8x5xf64> {
  %0 = galv.cross_entropy_gradient %d, %x, %labels, %lse : (tensor<f64>, tensor<8x5xf64>, tensor<8xi64>, tensor<8xf64>) -> tensor<8x5xf64>
  return %0 : tensor<8x5xf64>
}

//===----------------------------------------------------------------------===//
// Optimizer
//===----------------------------------------------------------------------===//

func.func @sum_of_squares(%x: tensor<4x8xf64>) -> tensor<f64> {
  %0 = galv.sum_of_squares %x : (tensor<4x8xf64>) -> tensor<f64>
  return %0 : tensor<f64>
}

func.func @sum_of_squares_pad(%x: tensor<6x5xf64>) -> tensor<f64> {
  %0 = galv.sum_of_squares %x : (tensor<6x5xf64>) -> tensor<f64>
  return %0 : tensor<f64>
}

func.func @clip_coefficient(%x: tensor<f64> {galv.positive}) -> (tensor<f64>, tensor<f64>) {
  %0:2 = galv.clip_coefficient %x : (tensor<f64>) -> (tensor<f64>, tensor<f64>)
  return %0#0, %0#1 : tensor<f64>, tensor<f64>
}
