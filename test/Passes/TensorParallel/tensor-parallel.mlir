// Every tensor gets its placement: the batch over microbatches and data ranks,
// the hidden dimension and the vocabulary over the tensor ranks, the sequence
// over the tensor ranks between blocks. Operands may clash.
// RUN: galv-opt %s --galv-tensor-parallel | FileCheck %s

// CHECK-DAG: #[[S:p[0-9]*]] = #galv.placement<#mesh, [{m, a}, {b}, {}]>
// CHECK-DAG: #[[C:p[0-9]*]] = #galv.placement<#mesh, [{m, a}, {}, {b}]>
// CHECK-DAG: #[[P:p[0-9]*]] = #galv.placement<#mesh, [{m, a}, {}, {}], partial = {b}>
// CHECK-DAG: #[[ROWS:p[0-9]*]] = #galv.placement<#mesh, [{m, a}, {b}]>
// CHECK-DAG: #[[WHOLE:p[0-9]*]] = #galv.placement<#mesh, [{m, a}, {}]>
// CHECK-DAG: #[[UP:p[0-9]*]] = #galv.placement<#mesh, [{b}, {}]>
// CHECK-DAG: #[[DOWN:p[0-9]*]] = #galv.placement<#mesh, [{}, {b}]>
// CHECK-DAG: #[[V:p[0-9]*]] = #galv.placement<#mesh, [{}]>
// 257 rows over two ranks: 129 each, the last is filled up.
// CHECK-DAG: #[[TABLE:p[0-9]*]] = #galv.placement<#mesh, [{b : pad}, {}]>
// CHECK-DAG: #[[LOGITS:p[0-9]*]] = #galv.placement<#mesh, [{m, a}, {}, {b : pad}]>
// CHECK-DAG: #[[LOSS:p[0-9]*]] = #galv.placement<#mesh, [], partial = {a, m}>
// CHECK-DAG: #[[SUM:p[0-9]*]] = #galv.placement<#mesh, [], partial = {a}>

// CHECK: %[[ALL:.*]] = galv.microbatches -> tensor<f32, #[[SUM]]> {
// CHECK: %[[TABLE0:.*]] = galv.use @table {module = "table"} : tensor<257x128xf32, #[[TABLE]]>
// A look-up in a split table is a partial sum; between blocks nothing is.
// CHECK: %[[E:.*]] = galv.embedding {{.*}} -> tensor<8x64x128xf32, #[[P]]>
// CHECK: %[[X:.*]] = galv.redistribute %[[E]] {block = 0 : i64, module = "table"} : tensor<8x64x128xf32, #[[P]]> -> tensor<8x64x128xf32, #[[S]]>
// CHECK: galv.use @h.0.ln.weight {{.*}} : tensor<128xf32, #[[V]]>
// CHECK: %[[N:.*]], %mean, %rstd = galv.layer_norm %[[X]], {{.*}} -> (tensor<8x64x128xf32, #[[S]]>, tensor<8x64xf32, #[[ROWS]]>, tensor<8x64xf32, #[[ROWS]]>)
// CHECK: %[[UPW:.*]] = galv.use @h.0.up {{.*}} : tensor<512x128xf32, #[[UP]]>
// CHECK: %[[U:.*]] = galv.linear %[[N]], %[[UPW]] {{.*}} : (tensor<8x64x128xf32, #[[S]]>, tensor<512x128xf32, #[[UP]]>) -> tensor<8x64x512xf32, #[[C]]>
// CHECK: %[[H:.*]] = galv.gelu %[[U]] {{.*}} -> tensor<8x64x512xf32, #[[C]]>
// CHECK: %[[DOWNW:.*]] = galv.use @h.0.down {{.*}} : tensor<128x512xf32, #[[DOWN]]>
// CHECK: %[[D:.*]] = galv.linear %[[H]], %[[DOWNW]] {{.*}} -> tensor<8x64x128xf32, #[[P]]>
// CHECK: %[[Y:.*]] = galv.add %[[X]], %[[D]] {{.*}} : (tensor<8x64x128xf32, #[[S]]>, tensor<8x64x128xf32, #[[P]]>) -> tensor<8x64x128xf32, #[[S]]>
// CHECK: galv.linear %[[Y]], {{.*}} -> tensor<8x64x257xf32, #[[LOGITS]]>
// The loss is a sum over all that splits the tokens; over the vocabulary the
// operation sums itself.
// CHECK: %[[L:.*]], %{{.*}} = galv.cross_entropy {{.*}} -> (tensor<f32, #[[LOSS]]>, tensor<8x64xf32, #[[WHOLE]]>)
// CHECK: galv.accumulate %[[L]] : tensor<f32, #[[LOSS]]>
// CHECK: galv.yield %[[ALL]] : tensor<f32, #[[SUM]]>

// A placement that is there already stays: a layer norm on whole sequences, a
// weight that is not split.
// RUN: sed -e 's/\(galv.layer_norm .*\) -> (tensor<8x64x128xf32>, tensor<8x64xf32>, tensor<8x64xf32>)/\1 -> (tensor<8x64x128xf32, #galv.placement<#mesh, [{m, a}, {}, {}]>>, tensor<8x64xf32>, tensor<8x64xf32>)/' \
// RUN:   -e 's/\(galv.linear .*"h.0.up"} : \)(tensor<8x64x128xf32>/\1(tensor<8x64x128xf32, #galv.placement<#mesh, [{m, a}, {}, {}]>>/' \
// RUN:   -e 's/\(.*\) = galv.use @h.0.down .*/\1 = galv.use @h.0.down {module = "h.0.down"} : tensor<128x512xf32, #galv.placement<#mesh, [{}, {}]>>/' \
// RUN:   -e 's/\(galv.linear .* tensor<128x512xf32\)>)/\1, #galv.placement<#mesh, [{}, {}]>>)/' %s | galv-opt --galv-tensor-parallel | FileCheck %s --check-prefix=EDITED
// EDITED-DAG: #[[F:p[0-9]*]] = #galv.placement<#mesh, [{m, a}, {}, {}]>
// EDITED-DAG: #[[WHOLE:p[0-9]*]] = #galv.placement<#mesh, [{}, {}]>
// EDITED: galv.layer_norm {{.*}} -> (tensor<8x64x128xf32, #[[F]]>,
// EDITED: galv.use @h.0.down {{.*}} : tensor<128x512xf32, #[[WHOLE]]>
// EDITED: galv.linear {{.*}} module = "h.0.down"} : {{.*}}tensor<128x512xf32, #[[WHOLE]]>)

#mesh = #galv.mesh<[a = 2, b = 2], time = [m = 2]>
module {
  galv.parameter @table : tensor<257x128xf32> {checkpoint = #galv.checkpoint<"table", [257, 128], [0, 0], transposed = false>, dimensions = ["vocabulary", "embed"], initializer = #galv.initializer<"normal", 2.000000e-02 : f64>}
  galv.parameter @h.0.ln.weight : tensor<128xf32> {checkpoint = #galv.checkpoint<"h.0.ln.weight", [128], [0], transposed = false>, dimensions = ["embed"], initializer = #galv.initializer<"ones", 0.000000e+00 : f64>}
  galv.parameter @h.0.ln.bias : tensor<128xf32> {checkpoint = #galv.checkpoint<"h.0.ln.bias", [128], [0], transposed = false>, dimensions = ["embed"], initializer = #galv.initializer<"zeros", 0.000000e+00 : f64>}
  galv.parameter @h.0.up : tensor<512x128xf32> {checkpoint = #galv.checkpoint<"h.0.up", [512, 128], [0, 0], transposed = false>, dimensions = ["hidden", "embed"], initializer = #galv.initializer<"normal", 2.000000e-02 : f64>}
  galv.parameter @h.0.down : tensor<128x512xf32> {checkpoint = #galv.checkpoint<"h.0.down", [128, 512], [0, 0], transposed = false>, dimensions = ["embed", "hidden"], initializer = #galv.initializer<"normal", 2.000000e-02 : f64>}
  galv.model @feed_forward attributes {batch = 8 : i64, blocks = [#galv.strategy<stage = 0, data = [0], tensor = [1], sequence = true, zero = 3, recompute = false>, #galv.strategy<stage = 0, data = [0], tensor = [1], sequence = true, zero = 3, recompute = false>, #galv.strategy<stage = 0, data = [0], tensor = [1], sequence = true, zero = 3, recompute = false>], configuration = "{}", layer_prefix = "h", layers = 1 : i64, mesh = #mesh, microbatches = 2 : i64, schedule = "1f1b", sequence = 64 : i64, stages = 1 : i64, vocabulary = 257 : i64} {
    %0 = galv.microbatches -> tensor<f32> {
      %1 = galv.input {block = 0 : i64, module = "table", name = "tokens"} : () -> tensor<8x64xi64>
      %2 = galv.use @table {module = "table"} : tensor<257x128xf32>
      %3 = galv.embedding %1, %2 {block = 0 : i64, module = "table"} : (tensor<8x64xi64>, tensor<257x128xf32>) -> tensor<8x64x128xf32>
      %4 = galv.use @h.0.ln.weight {module = "h.0.ln"} : tensor<128xf32>
      %5 = galv.use @h.0.ln.bias {module = "h.0.ln"} : tensor<128xf32>
      %result, %mean, %rstd = galv.layer_norm %3, %4, %5 {block = 1 : i64, epsilon = 1.000000e-05 : f64, module = "h.0.ln"} : (tensor<8x64x128xf32>, tensor<128xf32>, tensor<128xf32>) -> (tensor<8x64x128xf32>, tensor<8x64xf32>, tensor<8x64xf32>)
      %6 = galv.use @h.0.up {module = "h.0.up"} : tensor<512x128xf32>
      %7 = galv.linear %result, %6 {block = 1 : i64, module = "h.0.up"} : (tensor<8x64x128xf32>, tensor<512x128xf32>) -> tensor<8x64x512xf32>
      %8 = galv.gelu %7 {block = 1 : i64, module = "h.0.act"} : (tensor<8x64x512xf32>) -> tensor<8x64x512xf32>
      %9 = galv.use @h.0.down {module = "h.0.down"} : tensor<128x512xf32>
      %10 = galv.linear %8, %9 {block = 1 : i64, module = "h.0.down"} : (tensor<8x64x512xf32>, tensor<128x512xf32>) -> tensor<8x64x128xf32>
      %11 = galv.add %3, %10 {block = 1 : i64, module = "h.0.residual"} : (tensor<8x64x128xf32>, tensor<8x64x128xf32>) -> tensor<8x64x128xf32>
      %12 = galv.use @table {module = "head"} : tensor<257x128xf32>
      %13 = galv.linear %11, %12 {block = 2 : i64, module = "head"} : (tensor<8x64x128xf32>, tensor<257x128xf32>) -> tensor<8x64x257xf32>
      %14 = galv.input {block = 2 : i64, module = "loss", name = "labels"} : () -> tensor<8x64xi64>
      %loss, %log_sum_exp = galv.cross_entropy %13, %14 {block = 2 : i64, module = "loss"} : (tensor<8x64x257xf32>, tensor<8x64xi64>) -> (tensor<f32>, tensor<8x64xf32>)
      galv.accumulate %loss : tensor<f32>
    }
    galv.yield %0 : tensor<f32>
  }
}
