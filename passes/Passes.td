//===- Passes.td - the passes of all phases -------------------------------===//
//
// One pass, one file, one test of the same name. Pipelines.cpp puts them in
// order.
//
//===----------------------------------------------------------------------===//

#ifndef GALV_PASSES_TD
#define GALV_PASSES_TD

include "mlir/Pass/PassBase.td"

class Galv_Pass<string name> : Pass<name, "::mlir::ModuleOp"> {
  let dependentDialects = ["::galv::GalvDialect", "::galv::comm::CommDialect",
                           "::mlir::func::FuncDialect"];
}

def SetPrecisionPass : Galv_Pass<"galv-set-precision"> {
  let summary = "Set the types to compute, keep, accumulate and reduce in";
  let description = [{
    Replaces the imported element type `f32` by the run's. With `fp32` and
    `fp64` all four are one type, so that no cast is needed.

    **Requires:** an imported program.
    **Leaves true:** every floating-point element type is the run's.

    Example:
    ```mlir
    // RUN-EXAMPLE --galv-set-precision=precision=fp64
    func.func @example(%x: tensor<8xf32>) -> tensor<8xf32> {
      %h = galv.gelu %x : (tensor<8xf32>) -> tensor<8xf32>
      return %h : tensor<8xf32>
    }
    ```
    becomes
    ```mlir
    %0 = galv.gelu %arg0 : (tensor<8xf64>) -> tensor<8xf64>
    ```
  }];
  let options = [Option<"precision", "precision", "std::string", "\"fp32\"",
                        "fp32 or fp64">];
}

def AssignStrategyPass : Galv_Pass<"galv-assign-strategy"> {
  let summary = "Read and check the strategy, make the mesh";
  let description = [{
    Tags every operation with its block: 0 is the embedding, 1 to n are the
    layers, n + 1 is the head. The mesh is refined once, at the strides and
    extents of every layer's groups, so that layers of different degrees choose
    axes of one mesh. Wraps the program in `galv.microbatches`.

    **Requires:** an imported program.
    **Leaves true:** the model has a mesh and a strategy for each block; the
    batch is divisible by microbatches times each block's data degree.

    Example:
    ```mlir
    // RUN-EXAMPLE --galv-assign-strategy=strategy=models/gpt2/strategies/data-parallel.json
    galv.parameter @table : tensor<64x64xf32> {
      dimensions = ["vocabulary", "embed"],
      checkpoint = #galv.checkpoint<"table", [64, 64], [0, 0], transposed = false>,
      initializer = #galv.initializer<"normal", 0.02 : f64>}
    galv.model @m attributes {batch = 8, sequence = 16, vocabulary = 64, layers = 1, layer_prefix = "h", configuration = "{}"} {
      %table = galv.use @table {module = "wte"} : tensor<64x64xf32>
      %tokens = galv.input {module = "wte", name = "tokens"} : () -> tensor<8x16xi64>
      %e = galv.embedding %tokens, %table {module = "wte"} : (tensor<8x16xi64>, tensor<64x64xf32>) -> tensor<8x16x64xf32>
      %x = galv.gelu %e {module = "h.0.act"} : (tensor<8x16x64xf32>) -> tensor<8x16x64xf32>
      %labels = galv.input {module = "loss", name = "labels"} : () -> tensor<8x16xi64>
      %loss, %s = galv.cross_entropy %x, %labels {module = "loss"} : (tensor<8x16x64xf32>, tensor<8x16xi64>) -> (tensor<f32>, tensor<8x16xf32>)
      galv.yield %loss : tensor<f32>
    }
    ```
    becomes
    ```mlir
    #mesh = #galv.mesh<[a = 4]>
    galv.model @m attributes {..., blocks = [
          #galv.strategy<stage = 0, data = [0], tensor = [], sequence = false, zero = 1, recompute = false>, ...],
          mesh = #mesh, microbatches = 1 : i64, schedule = "1f1b", stages = 1 : i64} {
      %0 = galv.microbatches -> tensor<f32> {
        %1 = galv.use @table {module = "wte"} : tensor<64x64xf32>
        %2 = galv.input {block = 0 : i64, module = "wte", name = "tokens"} : () -> tensor<8x16xi64>
        %3 = galv.embedding %2, %1 {block = 0 : i64, module = "wte"} : (tensor<8x16xi64>, tensor<64x64xf32>) -> tensor<8x16x64xf32>
        %4 = galv.gelu %3 {block = 1 : i64, module = "h.0.act"} : (tensor<8x16x64xf32>) -> tensor<8x16x64xf32>
        %5 = galv.input {block = 2 : i64, module = "loss", name = "labels"} : () -> tensor<8x16xi64>
        %loss, %log_sum_exp = galv.cross_entropy %4, %5 {block = 2 : i64, module = "loss"} : (tensor<8x16x64xf32>, tensor<8x16xi64>) -> (tensor<f32>, tensor<8x16xf32>)
        galv.accumulate %loss : tensor<f32>
      }
      galv.yield %0 : tensor<f32>
    }
    ```
  }];
  let options = [
    Option<"strategy", "strategy", "std::string", "\"\"",
           "strategy file (galv's or Galvatron's JSON)">,
    Option<"ranks", "ranks", "int64_t", "0",
           "ranks of the job, where the file does not say (0: as the file)">,
    Option<"galvatronVersion", "galvatron-version", "int64_t", "3",
           "how a Galvatron file is read: 2 or 3">];
}

def TensorParallelPass : Galv_Pass<"galv-tensor-parallel"> {
  let summary = "Give parameters and activations their placements";
  let description = [{
    Splits the dimensions that parameters name `heads`, `hidden` or
    `vocabulary` over the block's tensor axes and types every forward result by
    the choice that moves least. Blocks meet in their boundary type: the batch
    over microbatches and data axes, the sequence over the tensor axes where
    the strategy says so. A placement that is there already stays.

    **Requires:** `galv-assign-strategy`.
    **Leaves true:** every tensor of the model has a placement; between blocks
    nothing is partial but the loss. Operands inside blocks may clash.

    Example:
    ```mlir
    // RUN-EXAMPLE --galv-tensor-parallel
    #mesh = #galv.mesh<[a = 2]>
    galv.parameter @table : tensor<64x64xf32> {
      dimensions = ["vocabulary", "embed"],
      checkpoint = #galv.checkpoint<"table", [64, 64], [0, 0], transposed = false>,
      initializer = #galv.initializer<"normal", 0.02 : f64>}
    galv.model @m attributes {
        batch = 8, sequence = 16, vocabulary = 64, layers = 0, layer_prefix = "h", configuration = "{}",
        mesh = #mesh, stages = 1, microbatches = 1, schedule = "1f1b",
        blocks = [#galv.strategy<stage = 0, data = [0], tensor = [], sequence = false, zero = 1, recompute = false>,
                  #galv.strategy<stage = 0, data = [0], tensor = [], sequence = false, zero = 1, recompute = false>]} {
      %all = galv.microbatches -> tensor<f32> {
        %table = galv.use @table : tensor<64x64xf32>
        %tokens = galv.input {name = "tokens", block = 1} : () -> tensor<8x16xi64>
        %x = galv.embedding %tokens, %table {block = 1} : (tensor<8x16xi64>, tensor<64x64xf32>) -> tensor<8x16x64xf32>
        %labels = galv.input {name = "labels", block = 1} : () -> tensor<8x16xi64>
        %loss, %s = galv.cross_entropy %x, %labels {block = 1} : (tensor<8x16x64xf32>, tensor<8x16xi64>) -> (tensor<f32>, tensor<8x16xf32>)
        galv.accumulate %loss : tensor<f32>
      }
      galv.yield %all : tensor<f32>
    }
    ```
    becomes
    ```mlir
    #sum = #galv.placement<#mesh, [], partial = {a}>
    #whole = #galv.placement<#mesh, [{}, {} ]>
    #rows = #galv.placement<#mesh, [{a}, {} ]>
    #x = #galv.placement<#mesh, [{a}, {}, {} ]>
    %0 = galv.microbatches -> tensor<f32, #sum> {
      %1 = galv.use @table : tensor<64x64xf32, #whole>
      %2 = galv.input {block = 1 : i64, name = "tokens"} : () -> tensor<8x16xi64, #rows>
      %3 = galv.embedding %2, %1 {block = 1 : i64} : (tensor<8x16xi64, #rows>, tensor<64x64xf32, #whole>) -> tensor<8x16x64xf32, #x>
      %4 = galv.input {block = 1 : i64, name = "labels"} : () -> tensor<8x16xi64, #rows>
      %loss, %log_sum_exp = galv.cross_entropy %3, %4 {block = 1 : i64} : (tensor<8x16x64xf32, #x>, tensor<8x16xi64, #rows>) -> (tensor<f32, #sum>, tensor<8x16xf32, #rows>)
      galv.accumulate %loss : tensor<f32, #sum>
    }
    galv.yield %0 : tensor<f32, #sum>
    ```
  }];
}

def SequentialPartitionPass : Galv_Pass<"galv-sequential-partition"> {
  let summary = "Make the program a list of block calls";
  let description = [{
    Moves each block into a function; blocks with the same operations and types
    share one, so that the program grows with the number of different blocks.
    Module paths in a shared function say `{layer}` for the layer's number.

    **Requires:** `galv-tensor-parallel`.
    **Leaves true:** the microbatch's body holds uses, calls and
    redistributions only.

    Example:
    ```mlir
    // RUN-EXAMPLE --galv-sequential-partition
    #mesh = #galv.mesh<[a = 2]>
    #whole = #galv.placement<#mesh, [{}, {} ]>
    #rows = #galv.placement<#mesh, [{a}, {} ]>
    #x = #galv.placement<#mesh, [{a}, {}, {} ]>
    #sum = #galv.placement<#mesh, [], partial = {a}>
    galv.parameter @table : tensor<64x64xf32> {
      dimensions = ["vocabulary", "embed"],
      checkpoint = #galv.checkpoint<"table", [64, 64], [0, 0], transposed = false>,
      initializer = #galv.initializer<"normal", 0.02 : f64>}
    galv.model @m attributes {
        batch = 8, sequence = 16, vocabulary = 64, layers = 0, layer_prefix = "h", configuration = "{}",
        mesh = #mesh, stages = 1, microbatches = 1, schedule = "1f1b",
        blocks = [#galv.strategy<stage = 0, data = [0], tensor = [], sequence = false, zero = 1, recompute = false>,
                  #galv.strategy<stage = 0, data = [0], tensor = [], sequence = false, zero = 1, recompute = false>]} {
      %all = galv.microbatches -> tensor<f32, #sum> {
        %table = galv.use @table : tensor<64x64xf32, #whole>
        %tokens = galv.input {name = "tokens", block = 1} : () -> tensor<8x16xi64, #rows>
        %x = galv.embedding %tokens, %table {block = 1} : (tensor<8x16xi64, #rows>, tensor<64x64xf32, #whole>) -> tensor<8x16x64xf32, #x>
        %labels = galv.input {name = "labels", block = 1} : () -> tensor<8x16xi64, #rows>
        %loss, %s = galv.cross_entropy %x, %labels {block = 1} : (tensor<8x16x64xf32, #x>, tensor<8x16xi64, #rows>) -> (tensor<f32, #sum>, tensor<8x16xf32, #rows>)
        galv.accumulate %loss : tensor<f32, #sum>
      }
      galv.yield %all : tensor<f32, #sum>
    }
    ```
    becomes
    ```mlir
    %0 = galv.microbatches -> tensor<f32, #sum> {
      %1 = galv.use @table : tensor<64x64xf32, #whole>
      %2 = galv.call @head(%1) {block = 1 : i64} : (tensor<64x64xf32, #whole>) -> tensor<f32, #sum>
      galv.accumulate %2 : tensor<f32, #sum>
    }
    galv.yield %0 : tensor<f32, #sum>
    func.func private @head(%arg0: tensor<64x64xf32, #whole> {galv.parameter = "table"}) -> tensor<f32, #sum> {
      %0 = galv.input {name = "tokens"} : () -> tensor<8x16xi64, #rows>
      %1 = galv.embedding %0, %arg0 : (tensor<8x16xi64, #rows>, tensor<64x64xf32, #whole>) -> tensor<8x16x64xf32, #x>
      %2 = galv.input {name = "labels"} : () -> tensor<8x16xi64, #rows>
      %loss, %log_sum_exp = galv.cross_entropy %1, %2 : (tensor<8x16x64xf32, #x>, tensor<8x16xi64, #rows>) -> (tensor<f32, #sum>, tensor<8x16xf32, #rows>)
      return %loss : tensor<f32, #sum>
    }
    ```
  }];
}

def InsertRedistributionPass : Galv_Pass<"galv-insert-redistribution"> {
  let summary = "Redistribute operands that differ from what their rule wants";
  let description = [{
    Results and parameters are settled; operands follow. Partial sums are added
    up first and reduced at the first consumer that refuses them; a value needed
    twice in one placement is redistributed once.

    **Requires:** every tensor has a placement.
    **Leaves true:** every operation's factor rule holds, and its verifier
    checks it from here on (`galv.placed`).

    Example:
    ```mlir
    // RUN-EXAMPLE --galv-insert-redistribution
    #mesh = #galv.mesh<[a = 2, b = 2]>
    #S = #galv.placement<#mesh, [{a}, {b}, {} ]>
    #C = #galv.placement<#mesh, [{a}, {}, {b} ]>
    #up = #galv.placement<#mesh, [{b}, {} ]>
    func.func private @layer(%n: tensor<8x64x128xf32, #S>,
                             %up: tensor<512x128xf32, #up> {galv.parameter = "h.{layer}.up"})
        -> tensor<8x64x512xf32, #C> {
      %u = galv.linear %n, %up : (tensor<8x64x128xf32, #S>, tensor<512x128xf32, #up>) -> tensor<8x64x512xf32, #C>
      return %u : tensor<8x64x512xf32, #C>
    }
    ```
    becomes
    ```mlir
    #F = #galv.placement<#mesh, [{a}, {}, {} ]>
    func.func private @layer(%arg0: tensor<8x64x128xf32, #S>, %arg1: tensor<512x128xf32, #up> {galv.parameter = "h.{layer}.up"}) -> tensor<8x64x512xf32, #C> {
      %0 = galv.redistribute %arg0 : tensor<8x64x128xf32, #S> -> tensor<8x64x128xf32, #F>
      %1 = galv.linear %0, %arg1 : (tensor<8x64x128xf32, #F>, tensor<512x128xf32, #up>) -> tensor<8x64x512xf32, #C>
      return %1 : tensor<8x64x512xf32, #C>
    }
    ```
  }];
}

def StagePipelinePass : Galv_Pass<"galv-stage-pipeline"> {
  let summary = "Put every block on one stage";
  let description = [{
    Makes `galv.stage` symbols, a `forward` phase for each, and transfers at the
    borders. A parameter used on a second stage gets a copy there; its home is
    the stage of its first use.

    **Requires:** a list of block calls.
    **Leaves true:** a value that crosses stages goes through `galv.transfer`;
    every parameter has a home.

    Example:
    ```mlir
    // RUN-EXAMPLE --galv-stage-pipeline
    #mesh = #galv.mesh<[a = 2]>
    #whole = #galv.placement<#mesh, [{}, {} ]>
    #sum = #galv.placement<#mesh, [], partial = {a}>
    module attributes {galv.placed} {
      galv.parameter @table : tensor<64x64xf32> {
        dimensions = ["vocabulary", "embed"],
        checkpoint = #galv.checkpoint<"table", [64, 64], [0, 0], transposed = false>,
        initializer = #galv.initializer<"normal", 0.02 : f64>}
      galv.model @m attributes {
          batch = 8, sequence = 16, vocabulary = 64, layers = 0, layer_prefix = "h", configuration = "{}",
          mesh = #mesh, stages = 1, microbatches = 1, schedule = "1f1b",
          blocks = [#galv.strategy<stage = 0, data = [0], tensor = [], sequence = false, zero = 1, recompute = false>,
                    #galv.strategy<stage = 0, data = [0], tensor = [], sequence = false, zero = 1, recompute = false>]} {
        %all = galv.microbatches -> tensor<f32, #sum> {
          %table = galv.use @table : tensor<64x64xf32, #whole>
          %loss = galv.call @head(%table) {block = 1} : (tensor<64x64xf32, #whole>) -> tensor<f32, #sum>
          galv.accumulate %loss : tensor<f32, #sum>
        }
        galv.yield %all : tensor<f32, #sum>
      }
      func.func private @head(tensor<64x64xf32, #whole> {galv.parameter = "table"}) -> tensor<f32, #sum>
    }
    ```
    becomes
    ```mlir
    galv.parameter @table : tensor<64x64xf32> {...}
    galv.stage @stage0 #mesh {first_rank = 0 : i64, index = 0 : i64}
    galv.step @m attributes {...} {
      %0 = galv.microbatches -> !galv.on<@stage0, tensor<f32, #sum>> {
        %1 = galv.phase "forward" on @stage0() -> !galv.on<@stage0, tensor<f32, #sum>> {
          %2 = galv.use @table : tensor<64x64xf32, #whole>
          %3 = galv.call @head(%2) {block = 1 : i64} : (tensor<64x64xf32, #whole>) -> tensor<f32, #sum>
          galv.yield %3 : tensor<f32, #sum>
        }
        galv.accumulate %1 : !galv.on<@stage0, tensor<f32, #sum>>
      }
    }
    ```
  }];
}

def ShardDataParallelPass : Galv_Pass<"galv-shard-data-parallel"> {
  let summary = "Give every parameter its rest";
  let description = [{
    From ZeRO stage 1 on a parameter rests flattened over the block's data
    axes; below, as it is used.

    **Requires:** every use has a placement and every parameter a home.
    **Leaves true:** every parameter has its placement at rest and the times of
    its actions (`zero`).

    Example:
    ```mlir
    // RUN-EXAMPLE --galv-shard-data-parallel
    #mesh = #galv.mesh<[a = 2]>
    #whole = #galv.placement<#mesh, [{}, {} ]>
    #sum = #galv.placement<#mesh, [], partial = {a}>
    module attributes {galv.placed} {
      galv.parameter @table : tensor<64x64xf32> {
        dimensions = ["vocabulary", "embed"],
        checkpoint = #galv.checkpoint<"table", [64, 64], [0, 0], transposed = false>,
        initializer = #galv.initializer<"normal", 0.02 : f64>}
      galv.stage @stage0 #mesh {first_rank = 0, index = 0}
      galv.step @m attributes {
          batch = 8, sequence = 16, vocabulary = 64, layers = 0, layer_prefix = "h", configuration = "{}",
          mesh = #mesh, stages = 1, microbatches = 1, schedule = "1f1b",
          blocks = [#galv.strategy<stage = 0, data = [0], tensor = [], sequence = false, zero = 1, recompute = false>,
                    #galv.strategy<stage = 0, data = [0], tensor = [], sequence = false, zero = 1, recompute = false>]} {
        %all = galv.microbatches -> !galv.on<@stage0, tensor<f32, #sum>> {
          %one = galv.phase "forward" on @stage0() -> !galv.on<@stage0, tensor<f32, #sum>> {
            %table = galv.use @table : tensor<64x64xf32, #whole>
            %loss = galv.call @head(%table) {block = 1} : (tensor<64x64xf32, #whole>) -> tensor<f32, #sum>
            galv.yield %loss : tensor<f32, #sum>
          }
          galv.accumulate %one : !galv.on<@stage0, tensor<f32, #sum>>
        }
      }
      func.func private @head(tensor<64x64xf32, #whole> {galv.parameter = "table"}) -> tensor<f32, #sum>
    }
    ```
    becomes
    ```mlir
    #rest = #galv.placement<#mesh, [{}, {} ], flat = {a}>
    galv.parameter @table : tensor<64x64xf32> {..., rest = tensor<64x64xf32, #rest>, zero = 1 : i64}
    ```
  }];
}

def AnnotateCheckpointPass : Galv_Pass<"galv-annotate-checkpoint"> {
  let summary = "Say what every block's backward keeps";
  let description = [{
    Marks the calls of blocks whose strategy recomputes: their backward keeps
    the block's inputs and runs its forward again.

    **Requires:** a list of block calls.
    **Leaves true:** every call says what is kept.

    Example:
    ```mlir
    // RUN-EXAMPLE --galv-annotate-checkpoint
    #mesh = #galv.mesh<[a = 2]>
    #whole = #galv.placement<#mesh, [{}, {} ]>
    #sum = #galv.placement<#mesh, [], partial = {a}>
    module attributes {galv.placed} {
      galv.parameter @table : tensor<64x64xf32> {
        dimensions = ["vocabulary", "embed"],
        checkpoint = #galv.checkpoint<"table", [64, 64], [0, 0], transposed = false>,
        initializer = #galv.initializer<"normal", 0.02 : f64>}
      galv.stage @stage0 #mesh {first_rank = 0, index = 0}
      galv.step @m attributes {
          batch = 8, sequence = 16, vocabulary = 64, layers = 0, layer_prefix = "h", configuration = "{}",
          mesh = #mesh, stages = 1, microbatches = 1, schedule = "1f1b",
          blocks = [#galv.strategy<stage = 0, data = [0], tensor = [], sequence = false, zero = 1, recompute = false>,
                    #galv.strategy<stage = 0, data = [0], tensor = [], sequence = false, zero = 1, recompute = true>]} {
        %all = galv.microbatches -> !galv.on<@stage0, tensor<f32, #sum>> {
          %one = galv.phase "forward" on @stage0() -> !galv.on<@stage0, tensor<f32, #sum>> {
            %table = galv.use @table : tensor<64x64xf32, #whole>
            %loss = galv.call @head(%table) {block = 1} : (tensor<64x64xf32, #whole>) -> tensor<f32, #sum>
            galv.yield %loss : tensor<f32, #sum>
          }
          galv.accumulate %one : !galv.on<@stage0, tensor<f32, #sum>>
        }
      }
      func.func private @head(tensor<64x64xf32, #whole> {galv.parameter = "table"}) -> tensor<f32, #sum>
    }
    ```
    becomes
    ```mlir
    %3 = galv.call @head(%2) {block = 1 : i64, recompute} : (tensor<64x64xf32, #whole>) -> tensor<f32, #sum>
    ```
  }];
}

def AutodiffPass : Galv_Pass<"galv-autodiff"> {
  let summary = "Build the backward, on global placed types";
  let description = [{
    Writes the begin, backward and finish phases: counting labels, parameters
    from rest to use, each block's backward, gradients towards rest, norm, clip
    and update. A redistribution does not change the global value, so its
    derivative emits nothing; insertion runs on what the backward needs.

    **Requires:** every parameter has its rest, every block its stage.
    **Leaves true:** a whole step; no gradient that reaches an update is
    partial.

    Example:
    ```mlir
    // RUN-EXAMPLE --galv-autodiff
    #mesh = #galv.mesh<[a = 2]>
    #whole = #galv.placement<#mesh, [{}, {} ]>
    #rows = #galv.placement<#mesh, [{a}, {} ]>
    #x = #galv.placement<#mesh, [{a}, {}, {} ]>
    #sum = #galv.placement<#mesh, [], partial = {a}>
    #rest = #galv.placement<#mesh, [{}, {} ], flat = {a}>
    module attributes {galv.placed} {
      galv.parameter @table : tensor<64x64xf32> {
        dimensions = ["vocabulary", "embed"],
        checkpoint = #galv.checkpoint<"table", [64, 64], [0, 0], transposed = false>,
        initializer = #galv.initializer<"normal", 0.02 : f64>,
        home = @stage0, rest = tensor<64x64xf32, #rest>, zero = 1}
      galv.stage @stage0 #mesh {first_rank = 0, index = 0}
      galv.step @m attributes {
          batch = 8, sequence = 16, vocabulary = 64, layers = 0, layer_prefix = "h", configuration = "{}",
          mesh = #mesh, stages = 1, microbatches = 1, schedule = "1f1b",
          blocks = [#galv.strategy<stage = 0, data = [0], tensor = [], sequence = false, zero = 1, recompute = false>,
                    #galv.strategy<stage = 0, data = [0], tensor = [], sequence = false, zero = 1, recompute = false>]} {
        %all = galv.microbatches -> !galv.on<@stage0, tensor<f32, #sum>> {
          %one = galv.phase "forward" on @stage0() -> !galv.on<@stage0, tensor<f32, #sum>> {
            %table = galv.use @table : tensor<64x64xf32, #whole>
            %loss = galv.call @head(%table) {block = 1} : (tensor<64x64xf32, #whole>) -> tensor<f32, #sum>
            galv.yield %loss : tensor<f32, #sum>
          }
          galv.accumulate %one : !galv.on<@stage0, tensor<f32, #sum>>
        }
      }
      func.func private @head(%table: tensor<64x64xf32, #whole> {galv.parameter = "table"}) -> tensor<f32, #sum> {
        %tokens = galv.input {name = "tokens"} : () -> tensor<8x16xi64, #rows>
        %x = galv.embedding %tokens, %table : (tensor<8x16xi64, #rows>, tensor<64x64xf32, #whole>) -> tensor<8x16x64xf32, #x>
        %labels = galv.input {name = "labels"} : () -> tensor<8x16xi64, #rows>
        %loss, %s = galv.cross_entropy %x, %labels : (tensor<8x16x64xf32, #x>, tensor<8x16xi64, #rows>) -> (tensor<f32, #sum>, tensor<8x16xf32, #rows>)
        return %loss : tensor<f32, #sum>
      }
    }
    ```
    becomes
    ```mlir
    #scalar = #galv.placement<#mesh, []>
    #gradient = #galv.placement<#mesh, [{}, {} ], partial = {a}>
    galv.parameter @table : tensor<64x64xf32> {..., rest = tensor<64x64xf32, #rest>, zero = 1 : i64}
    galv.step @m attributes {...} {
      %0:2 = galv.phase "begin" on @stage0() -> (!galv.on<@stage0, tensor<f32, #scalar>>, !galv.on<@stage0, tensor<64x64xf32, #whole>>) {
        %2 = galv.input {action = "count", block = 1 : i64, name = "labels"} : () -> tensor<8x16xi64, #rows>
        %3 = galv.count_valid %2 {action = "count", block = 1 : i64} : (tensor<8x16xi64, #rows>) -> tensor<f32, #sum>
        %4 = galv.redistribute %3 {action = "count", block = 1 : i64} : tensor<f32, #sum> -> tensor<f32, #scalar>
        %5 = galv.reciprocal %4 {action = "count", block = 1 : i64} : (tensor<f32, #scalar>) -> tensor<f32, #scalar>
        %6 = galv.materialize @table {action = "materialize", block = 1 : i64} : tensor<64x64xf32, #whole>
        galv.yield %5, %6 : tensor<f32, #scalar>, tensor<64x64xf32, #whole>
      }
      %1:2 = galv.microbatches -> !galv.on<@stage0, tensor<f32, #sum>>, !galv.on<@stage0, tensor<64x64xf32, #gradient>> {
        %2:3 = galv.phase "forward" on @stage0(%arg0 = %0#1 : !galv.on<@stage0, tensor<64x64xf32, #whole>>) -> (!galv.on<@stage0, tensor<8x16x64xf32, #x>>, !galv.on<@stage0, tensor<8x16xf32, #rows>>, !galv.on<@stage0, tensor<f32, #sum>>) {
          %4:3 = galv.call @head_forward(%arg0) {block = 1 : i64} : (tensor<64x64xf32, #whole>) -> (tensor<f32, #sum>, tensor<8x16x64xf32, #x>, tensor<8x16xf32, #rows>)
          galv.yield %4#1, %4#2, %4#0 : tensor<8x16x64xf32, #x>, tensor<8x16xf32, #rows>, tensor<f32, #sum>
        }
        %3 = galv.phase "backward" on @stage0(%arg0 = %0#0 : !galv.on<@stage0, tensor<f32, #scalar>>, %arg1 = %2#0 : !galv.on<@stage0, tensor<8x16x64xf32, #x>>, %arg2 = %2#1 : !galv.on<@stage0, tensor<8x16xf32, #rows>>, %arg3 = %0#1 : !galv.on<@stage0, tensor<64x64xf32, #whole>>) -> !galv.on<@stage0, tensor<64x64xf32, #gradient>> {
          %4 = galv.call @head_backward(%arg0, %arg1, %arg2, %arg3) {block = 1 : i64} : (tensor<f32, #scalar>, tensor<8x16x64xf32, #x>, tensor<8x16xf32, #rows>, tensor<64x64xf32, #whole>) -> tensor<64x64xf32, #gradient>
          galv.yield %4 : tensor<64x64xf32, #gradient>
        }
        galv.accumulate %2#2, %3 : !galv.on<@stage0, tensor<f32, #sum>>, !galv.on<@stage0, tensor<64x64xf32, #gradient>>
      }
      galv.phase "finish" on @stage0(%arg0 = %1#0 : !galv.on<@stage0, tensor<f32, #sum>>, %arg1 = %0#0 : !galv.on<@stage0, tensor<f32, #scalar>>, %arg2 = %1#1 : !galv.on<@stage0, tensor<64x64xf32, #gradient>>) {
        %2 = galv.redistribute %arg0 {action = "loss", block = 1 : i64} : tensor<f32, #sum> -> tensor<f32, #scalar>
        %3 = galv.scale %2, %arg1 {action = "loss", block = 1 : i64} : (tensor<f32, #scalar>, tensor<f32, #scalar>) -> tensor<f32, #scalar>
        galv.report "loss", %3 {action = "loss", block = 1 : i64} : tensor<f32, #scalar>
        %4 = galv.reduce %arg2 {action = "reduce", block = 1 : i64} : tensor<64x64xf32, #gradient> -> tensor<64x64xf32, #rest>
        %5 = galv.sum_of_squares %4 {action = "norm", block = 1 : i64} : (tensor<64x64xf32, #rest>) -> tensor<f32, #sum>
        %6 = galv.redistribute %5 {action = "clip", block = 1 : i64} : tensor<f32, #sum> -> tensor<f32, #scalar>
        %coefficient, %norm = galv.clip_coefficient %6 {action = "clip", block = 1 : i64} : (tensor<f32, #scalar>) -> (tensor<f32, #scalar>, tensor<f32, #scalar>)
        galv.report "gradient_norm", %norm {action = "clip", block = 1 : i64} : tensor<f32, #scalar>
        galv.update @table, %4, %coefficient {action = "update", block = 1 : i64, decay = true} : tensor<64x64xf32, #rest>, tensor<f32, #scalar>
        galv.yield
      }
    }
    func.func private @head_backward(%arg0: tensor<f32, #scalar>, %arg1: tensor<8x16x64xf32, #x>, %arg2: tensor<8x16xf32, #rows>, %arg3: tensor<64x64xf32, #whole> {galv.parameter = "table"}) -> tensor<64x64xf32, #gradient> {
      %0 = galv.input {name = "labels"} : () -> tensor<8x16xi64, #rows>
      %1 = galv.cross_entropy_gradient %arg0, %arg1, %0, %arg2 : (tensor<f32, #scalar>, tensor<8x16x64xf32, #x>, tensor<8x16xi64, #rows>, tensor<8x16xf32, #rows>) -> tensor<8x16x64xf32, #x>
      %2 = galv.input {name = "tokens"} : () -> tensor<8x16xi64, #rows>
      %3 = galv.embedding_gradient %1, %2 {vocabulary = 64 : i64} : (tensor<8x16x64xf32, #x>, tensor<8x16xi64, #rows>) -> tensor<64x64xf32, #gradient>
      return %3 : tensor<64x64xf32, #gradient>
    }
    func.func private @head_forward(%arg0: tensor<64x64xf32, #whole> {galv.parameter = "table"}) -> (tensor<f32, #sum>, tensor<8x16x64xf32, #x>, tensor<8x16xf32, #rows>) {
      %0 = galv.input {name = "tokens"} : () -> tensor<8x16xi64, #rows>
      %1 = galv.embedding %0, %arg0 : (tensor<8x16xi64, #rows>, tensor<64x64xf32, #whole>) -> tensor<8x16x64xf32, #x>
      %2 = galv.input {name = "labels"} : () -> tensor<8x16xi64, #rows>
      %loss, %log_sum_exp = galv.cross_entropy %1, %2 : (tensor<8x16x64xf32, #x>, tensor<8x16xi64, #rows>) -> (tensor<f32, #sum>, tensor<8x16xf32, #rows>)
      return %loss, %1, %log_sum_exp : tensor<f32, #sum>, tensor<8x16x64xf32, #x>, tensor<8x16xf32, #rows>
    }
    }
    ```
  }];
}

def FusePass : Galv_Pass<"galv-fuse"> {
  let summary = "Make one operation of what one kernel can do";
  let description = [{
    Stands in its place; there is no pattern yet.

    Example:
    ```mlir
    // RUN-EXAMPLE --galv-fuse
    func.func @example(%x: tensor<8xf32>) -> tensor<8xf32> {
      %h = galv.gelu %x : (tensor<8xf32>) -> tensor<8xf32>
      return %h : tensor<8xf32>
    }
    ```
    stays as it is.
  }];
}

def LocalisePass : Galv_Pass<"galv-localise"> {
  let summary = "From global shapes to one rank's";
  let description = [{
    Types lose their placement and get the local shape; each redistribution
    becomes its cheapest sequence of local cuts and collectives.

    **Requires:** `galv.placed`, no operand clashes.
    **Leaves true:** no placements; what a rank exchanges is `comm` operations.
  }];
}

def SchedulePass : Galv_Pass<"galv-schedule"> {
  let dependentDialects = ["::galv::GalvDialect", "::galv::rank::RankDialect",
                           "::mlir::func::FuncDialect"];
  let summary = "Make tables of each stage's actions, and their order";
  let description = [{
    Groups what stands between blocks into functions, one call an action and a
    block, and lays the order of phases, microbatches and transfers down. All
    stages are simulated together: the order ends, every send meets its
    receive.

    **Requires:** local shapes.
    **Leaves true:** every stage has segments of calls and an order proved free
    of deadlock.
  }];
}

def OverlapPass : Galv_Pass<"galv-overlap"> {
  let summary = "Start collectives early and await them late";
  let description = [{
    Stands in its place; everything runs in order yet.

    Example:
    ```mlir
    // RUN-EXAMPLE --galv-overlap
    func.func @example(%x: tensor<8xf32>) -> tensor<8xf32> {
      %h = galv.gelu %x : (tensor<8xf32>) -> tensor<8xf32>
      return %h : tensor<8xf32>
    }
    ```
    stays as it is.
  }];
}

def PlanMemoryPass : Galv_Pass<"galv-plan-memory"> {
  let dependentDialects = ["::galv::GalvDialect", "::galv::rank::RankDialect",
                           "::mlir::func::FuncDialect"];
  let summary = "Give every value a buffer";
  let description = [{
    Functions write into buffers that they are given; values inside a function
    lie in its scratch area, by the time they live. Values of microbatches in
    flight get slots.

    **Requires:** `galv-schedule`.
    **Leaves true:** every buffer has an offset in the stage's arena; its peak is
    known.
  }];
}

def VerifyContractPass : Galv_Pass<"galv-verify-contract"> {
  let dependentDialects = ["::galv::GalvDialect", "::galv::rank::RankDialect",
                           "::mlir::func::FuncDialect"];
  let summary = "Check what a phase leaves true";
  let description = [{
    Verifies the placement in every type again (MLIR does it only when it
    parses), and the contract of the named phase.
  }];
  let options = [Option<"phase", "phase", "std::string", "\"\"",
                        "name of the phase, as in galvc --compile-to">];
}

#endif // GALV_PASSES_TD
