// Two feed-forward layers of width 128, 512 inside, 8 sequences of 64 tokens in a
// step; its embedding and its head share their table of 257 rows.
galv.parameter @table : tensor<257x128xf32> {dimensions = ["vocabulary", "embed"], checkpoint = #galv.checkpoint<"table", [257, 128], [0, 0], transposed = false>, initializer = #galv.initializer<"normal", 2.000000e-02 : f64>}
galv.parameter @h.0.ln.weight : tensor<128xf32> {dimensions = ["embed"], checkpoint = #galv.checkpoint<"h.0.ln.weight", [128], [0], transposed = false>, initializer = #galv.initializer<"ones", 0.000000e+00 : f64>}
galv.parameter @h.0.ln.bias : tensor<128xf32> {dimensions = ["embed"], checkpoint = #galv.checkpoint<"h.0.ln.bias", [128], [0], transposed = false>, initializer = #galv.initializer<"zeros", 0.000000e+00 : f64>}
galv.parameter @h.0.up : tensor<512x128xf32> {dimensions = ["hidden", "embed"], checkpoint = #galv.checkpoint<"h.0.up", [512, 128], [0, 0], transposed = false>, initializer = #galv.initializer<"normal", 2.000000e-02 : f64>}
galv.parameter @h.0.down : tensor<128x512xf32> {dimensions = ["embed", "hidden"], checkpoint = #galv.checkpoint<"h.0.down", [128, 512], [0, 0], transposed = false>, initializer = #galv.initializer<"normal", 2.000000e-02 : f64>}
galv.parameter @h.1.ln.weight : tensor<128xf32> {dimensions = ["embed"], checkpoint = #galv.checkpoint<"h.1.ln.weight", [128], [0], transposed = false>, initializer = #galv.initializer<"ones", 0.000000e+00 : f64>}
galv.parameter @h.1.ln.bias : tensor<128xf32> {dimensions = ["embed"], checkpoint = #galv.checkpoint<"h.1.ln.bias", [128], [0], transposed = false>, initializer = #galv.initializer<"zeros", 0.000000e+00 : f64>}
galv.parameter @h.1.up : tensor<512x128xf32> {dimensions = ["hidden", "embed"], checkpoint = #galv.checkpoint<"h.1.up", [512, 128], [0, 0], transposed = false>, initializer = #galv.initializer<"normal", 2.000000e-02 : f64>}
galv.parameter @h.1.down : tensor<128x512xf32> {dimensions = ["embed", "hidden"], checkpoint = #galv.checkpoint<"h.1.down", [128, 512], [0, 0], transposed = false>, initializer = #galv.initializer<"normal", 2.000000e-02 : f64>}
galv.model @feed_forward attributes {batch = 8, sequence = 64, vocabulary = 257, layers = 2, layer_prefix = "h", configuration = "{}"} {
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
  %g1 = galv.use @h.1.ln.weight {module = "h.1.ln"} : tensor<128xf32>
  %b1 = galv.use @h.1.ln.bias {module = "h.1.ln"} : tensor<128xf32>
  %n1, %mean1, %rstd1 = galv.layer_norm %y, %g1, %b1 {epsilon = 1.0e-05 : f64, module = "h.1.ln"} : (tensor<8x64x128xf32>, tensor<128xf32>, tensor<128xf32>) -> (tensor<8x64x128xf32>, tensor<8x64xf32>, tensor<8x64xf32>)
  %up1 = galv.use @h.1.up {module = "h.1.up"} : tensor<512x128xf32>
  %u1 = galv.linear %n1, %up1 {module = "h.1.up"} : (tensor<8x64x128xf32>, tensor<512x128xf32>) -> tensor<8x64x512xf32>
  %h1 = galv.gelu %u1 {module = "h.1.act"} : (tensor<8x64x512xf32>) -> tensor<8x64x512xf32>
  %down1 = galv.use @h.1.down {module = "h.1.down"} : tensor<128x512xf32>
  %d1 = galv.linear %h1, %down1 {module = "h.1.down"} : (tensor<8x64x512xf32>, tensor<128x512xf32>) -> tensor<8x64x128xf32>
  %y1 = galv.add %y, %d1 {module = "h.1.residual"} : (tensor<8x64x128xf32>, tensor<8x64x128xf32>) -> tensor<8x64x128xf32>
  %head = galv.use @table {module = "head"} : tensor<257x128xf32>
  %logits = galv.linear %y1, %head {module = "head"} : (tensor<8x64x128xf32>, tensor<257x128xf32>) -> tensor<8x64x257xf32>
  %labels = galv.input {name = "labels", module = "loss"} : () -> tensor<8x64xi64>
  %loss, %sum = galv.cross_entropy %logits, %labels {module = "loss"} : (tensor<8x64x257xf32>, tensor<8x64xi64>) -> (tensor<f32>, tensor<8x64xf32>)
  galv.yield %loss : tensor<f32>
}
