// The strategy is read, the mesh made, every operation tagged with its block,
// and the program wrapped in the region that runs for each microbatch.
// RUN: split-file %s %t
// RUN: galv-opt %t/model.mlir --galv-assign-strategy=strategy=%t/all.json | FileCheck %s
// CHECK: #mesh = #galv.mesh<[a = 2, b = 2], time = [m = 2]>
// Parameters stay as they are.
// CHECK: galv.parameter @h.0.up : tensor<512x128xf32> {checkpoint = {{.*}}, dimensions = ["hidden", "embed"], initializer = {{[^,]*, [^,]*}}}
// CHECK: galv.model @feed_forward attributes {batch = 8 : i64
// Three blocks: the vocabulary layers' two have a strategy of their own.
// CHECK-SAME: blocks = [#galv.strategy<stage = 0, data = [0, 1], tensor = [], sequence = false, zero = 1, recompute = false>,
// CHECK-SAME: #galv.strategy<stage = 0, data = [0], tensor = [1], sequence = true, zero = 3, recompute = true>,
// CHECK-SAME: #galv.strategy<stage = 0, data = [0, 1], tensor = [], sequence = false, zero = 1, recompute = false>]
// CHECK-SAME: mesh = #mesh, microbatches = 2 : i64, schedule = "gpipe", sequence = 64 : i64, stages = 1 : i64
// CHECK-NEXT: %[[LOSS:.*]] = galv.microbatches -> tensor<f32> {
// CHECK: galv.input {block = 0 : i64, module = "table", name = "tokens"}
// CHECK: galv.embedding {{.*}} {block = 0 : i64
// CHECK: galv.layer_norm {{.*}} {block = 1 : i64
// CHECK: galv.add {{.*}} {block = 1 : i64, module = "h.0.residual"}
// CHECK: galv.linear {{.*}} {block = 2 : i64, module = "head"}
// CHECK: galv.input {block = 2 : i64, module = "loss", name = "labels"}
// CHECK: %[[L:.*]], %{{.*}} = galv.cross_entropy {{.*}} {block = 2 : i64
// CHECK: galv.accumulate %[[L]] : tensor<f32>
// CHECK: galv.yield %[[LOSS]] : tensor<f32>

// One rank is the mesh without axes; what has no effect is not there.
// RUN: galv-opt %t/model.mlir --galv-assign-strategy=strategy=%t/one.json | FileCheck %s --check-prefix=ONE
// ONE: #mesh = #galv.mesh<[]>
// ONE: blocks = [#galv.strategy<stage = 0, data = [], tensor = [], sequence = false, zero = 0, recompute = false>,
// ONE-SAME: microbatches = 1 : i64, schedule = "1f1b"
// ONE: galv.microbatches -> tensor<f32> {

// The ranks of the job may come from beside the file.
// RUN: galv-opt %t/model.mlir --galv-assign-strategy="strategy=%t/ranks.json ranks=8" | FileCheck %s --check-prefix=RANKS
// RANKS: #galv.mesh<[a = 8]>
// RANKS: #galv.strategy<stage = 0, data = [0], tensor = [], sequence = false

// Galvatron's rules: tensor parallel implies sequence parallel since version 3.
// RUN: galv-opt %t/model.mlir --galv-assign-strategy="strategy=%t/galvatron.json ranks=2" | FileCheck %s --check-prefix=GALVATRON3
// GALVATRON3: blocks = {{.*}}, #galv.strategy<stage = 0, data = [], tensor = [0], sequence = true, zero = 0, recompute = false>,
// RUN: galv-opt %t/model.mlir --galv-assign-strategy="strategy=%t/galvatron.json ranks=2 galvatron-version=2" | FileCheck %s --check-prefix=GALVATRON2
// GALVATRON2: blocks = {{.*}}, #galv.strategy<stage = 0, data = [], tensor = [0], sequence = false, zero = 0, recompute = false>,

// The mesh is cut at every layer's strides: two tensor ranks here and four
// there, next to each other or not, are axes of one mesh. The four layers are
// of a GPT-2.
// RUN: galv-import %galv_src/models/gpt2/configs/tiny.json --sequence-length 32 --batch-size 8 -o %t/gpt2.mlir
// RUN: galv-opt %t/gpt2.mlir --galv-assign-strategy=strategy=%t/mixed.json | FileCheck %s --check-prefix=MIXED
// MIXED: #mesh = #galv.mesh<[a = 2, b = 2, c = 2]>
// MIXED: blocks = [#galv.strategy<stage = 0, data = [0, 1, 2], tensor = [],
// MIXED-SAME: #galv.strategy<stage = 0, data = [0], tensor = [1, 2],
// MIXED-SAME: #galv.strategy<stage = 0, data = [2], tensor = [0, 1],
// MIXED-SAME: #galv.strategy<stage = 1, data = [0, 1], tensor = [2],
// MIXED-SAME: #galv.strategy<stage = 1, data = [0, 1, 2], tensor = [],
// MIXED-SAME: #galv.strategy<stage = 1, data = [0, 1, 2], tensor = [],
// MIXED-SAME: stages = 2 : i64
// The head begins behind the last layer.
// MIXED: galv.layer_norm {{.*}} {block = 5 : i64, {{.*}}module = "ln_f"}

// What does not fit is refused with a place, and nothing is written.
// RUN: not galv-opt %t/model.mlir --galv-assign-strategy=strategy=%t/batch.json -o %t/none.mlir 2>&1 | FileCheck %s --check-prefix=BATCH
// BATCH: batch.json:1:44: error: the batch size, 8, is not divisible by the number of microbatches times the data degree of layer 0, 3 x 2 = 6
// RUN: not galv-opt %t/gpt2.mlir --galv-assign-strategy=strategy=%t/cuts.json -o %t/none.mlir 2>&1 | FileCheck %s --check-prefix=CUTS
// CUTS: cuts.json:2:3: error: layer 0 puts 6 ranks side by side, layer 2 4: neither divides the other
// CUTS: cuts.json:3:3: note: layer 2 stands here
// RUN: not galv-opt %t/model.mlir --galv-assign-strategy=strategy=%t/missing.json -o %t/none.mlir 2>&1 | FileCheck %s --check-prefix=MISSING
// MISSING: missing.json:1:1: error: cannot read the file: No such file or directory
// RUN: not galv-opt %t/model.mlir --galv-assign-strategy=strategy=%t/one.json --galv-assign-strategy=strategy=%t/one.json -o %t/none.mlir 2>&1 | FileCheck %s --check-prefix=TWICE
// TWICE: model.mlir:{{.*}}: error: has a strategy already
// RUN: sed 's/"h.0.act"/"h.7.act"/' %t/model.mlir | not galv-opt --galv-assign-strategy=strategy=%t/one.json -o %t/none.mlir 2>&1 | FileCheck %s --check-prefix=LAYER
// LAYER: error: module 'h.7.act' is not one of the 1 layers of the model
// RUN: not test -e %t/none.mlir

//--- all.json
{
  "ranks": 4,
  "microbatches": 2,
  "schedule": "gpipe",
  "default": {"data": 2, "tensor": 2, "sequence_parallel": true, "zero": 3, "recompute": true},
  "vocabulary": {"zero": 1}
}
//--- one.json
{"ranks": 1, "default": {"zero": 3, "sequence_parallel": true}}
//--- ranks.json
{"default": {}}
//--- galvatron.json
{"pp_deg": 1, "tp_sizes_enc": "2", "tp_consecutive_flags": "1", "dp_types_enc": "0",
 "global_bsz": 8, "chunks": 1}
//--- mixed.json
{"ranks": 16, "stages": [2, 2], "layers": [
  {"range": 0, "tensor": 4},
  {"range": 1, "tensor": 4, "order": "tensor-outer"},
  {"range": 2, "tensor": 2},
  {"range": 3}], "vocabulary": {}}
//--- batch.json
{"ranks": 2, "microbatches": 3, "default": {"data": 2}}
//--- cuts.json
{"ranks": 12, "layers": [
  {"range": "0-1", "data": 2, "tensor": 6},
  {"range": "2-3", "data": 4, "tensor": 3, "order": "tensor-outer"}], "vocabulary": {"tensor": 12}}
//--- model.mlir
galv.parameter @table : tensor<257x128xf32> {dimensions = ["vocabulary", "embed"], checkpoint = #galv.checkpoint<"table", [257, 128], [0, 0], transposed = false>, initializer = #galv.initializer<"normal", 2.000000e-02 : f64>}
galv.parameter @h.0.ln.weight : tensor<128xf32> {dimensions = ["embed"], checkpoint = #galv.checkpoint<"h.0.ln.weight", [128], [0], transposed = false>, initializer = #galv.initializer<"ones", 0.000000e+00 : f64>}
galv.parameter @h.0.ln.bias : tensor<128xf32> {dimensions = ["embed"], checkpoint = #galv.checkpoint<"h.0.ln.bias", [128], [0], transposed = false>, initializer = #galv.initializer<"zeros", 0.000000e+00 : f64>}
galv.parameter @h.0.up : tensor<512x128xf32> {dimensions = ["hidden", "embed"], checkpoint = #galv.checkpoint<"h.0.up", [512, 128], [0, 0], transposed = false>, initializer = #galv.initializer<"normal", 2.000000e-02 : f64>}
galv.parameter @h.0.down : tensor<128x512xf32> {dimensions = ["embed", "hidden"], checkpoint = #galv.checkpoint<"h.0.down", [128, 512], [0, 0], transposed = false>, initializer = #galv.initializer<"normal", 2.000000e-02 : f64>}
galv.model @feed_forward attributes {batch = 8, sequence = 64, vocabulary = 257, layers = 1, layer_prefix = "h", configuration = "{}"} {
  %tokens = galv.input {name = "tokens", module = "table"} : () -> tensor<8x64xi64>
  %table = galv.use @table {module = "table"} : tensor<257x128xf32>
  %x = galv.embedding %tokens, %table {module = "table"} : (tensor<8x64xi64>, tensor<257x128xf32>) -> tensor<8x64x128xf32>
  %g = galv.use @h.0.ln.weight {module = "h.0.ln"} : tensor<128xf32>
  %b = galv.use @h.0.ln.bias {module = "h.0.ln"} : tensor<128xf32>
  %n, %mean, %rstd = galv.layer_norm %x, %g, %b {epsilon = 1.0e-05 : f64, module = "h.0.ln"} : (tensor<8x64x128xf32>, tensor<128xf32>, tensor<128xf32>) -> (tensor<8x64x128xf32>, tensor<8x64xf32>, tensor<8x64xf32>)
  %up = galv.use @h.0.up {module = "h.0.up"} : tensor<512x128xf32>
  %u = galv.linear %n, %up {module = "h.0.up"} : (tensor<8x64x128xf32>, tensor<512x128xf32>) -> tensor<8x64x512xf32>
  %h = galv.gelu %u {module = "h.0.act"} : (tensor<8x64x512xf32>) -> tensor<8x64x512xf32>
  %down = galv.use @h.0.down {module = "h.0.down"} : tensor<128x512xf32>
  %d = galv.linear %h, %down {module = "h.0.down"} : (tensor<8x64x512xf32>, tensor<128x512xf32>) -> tensor<8x64x128xf32>
  %y = galv.add %x, %d {module = "h.0.residual"} : (tensor<8x64x128xf32>, tensor<8x64x128xf32>) -> tensor<8x64x128xf32>
  %head = galv.use @table {module = "head"} : tensor<257x128xf32>
  %logits = galv.linear %y, %head {module = "head"} : (tensor<8x64x128xf32>, tensor<257x128xf32>) -> tensor<8x64x257xf32>
  %labels = galv.input {name = "labels", module = "loss"} : () -> tensor<8x64xi64>
  %loss, %sum = galv.cross_entropy %logits, %labels {module = "loss"} : (tensor<8x64x257xf32>, tensor<8x64xi64>) -> (tensor<f32>, tensor<8x64xf32>)
  galv.yield %loss : tensor<f32>
}
