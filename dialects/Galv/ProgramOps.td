//===- ProgramOps.td - parameters, models, stages, steps ------------------===//

#ifndef GALV_PROGRAM_OPS_TD
#define GALV_PROGRAM_OPS_TD

include "dialects/Galv/Attributes.td"
include "dialects/Galv/Types.td"
include "dialects/Galv/Interfaces.td"
include "dialects/Comm/Dialect.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"

class Galv_Op<string mnemonic, list<Trait> traits = []>
    : Op<Galv_Dialect, mnemonic, traits>;

def Galv_ParameterStore : Resource<"::galv::ParameterResource">;

def Galv_ParameterOp : Galv_Op<"parameter", [Symbol]> {
  let summary = "A trained tensor";
  let description = [{
    A name, a global shape, an initialiser and a view of a checkpoint tensor;
    never bytes. `dimensions` names what each dimension counts (`"heads"`,
    `"hidden"`, `"vocabulary"`, `"embed"`, ...): the strategy says which of these
    it splits. Phase `shard` adds the type at `rest`, where the optimizer state
    lies too; `home` is the stage that keeps it, `zero` its ZeRO stage. A
    parameter used on a second stage is a `copy_of` the first there.

    **Constraints:**
    - One or two dimensions, each with a name.
    - The slice lies within the checkpoint tensor.
    - `rest` has the same shape; nothing in it is partial.

    ```mlir
    // RUN-EXAMPLE
    galv.parameter @up : tensor<512x128xf32> {
      dimensions = ["hidden", "embed"],
      checkpoint = #galv.checkpoint<"up.weight", [512, 128], [0, 0], transposed = false>,
      initializer = #galv.initializer<"normal", 0.02 : f64>
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, TypeAttr:$type,
                       StrArrayAttr:$dimensions,
                       Galv_CheckpointAttr:$checkpoint,
                       Galv_InitializerAttr:$initializer,
                       OptionalAttr<TypeAttr>:$rest,
                       OptionalAttr<FlatSymbolRefAttr>:$home,
                       DefaultValuedAttr<I64Attr, "0">:$zero,
                       OptionalAttr<FlatSymbolRefAttr>:$copy_of);
  let assemblyFormat = "$sym_name `:` $type attr-dict";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::RankedTensorType getTensorType();
    /// The placed type at rest; null before phase `shard`.
    ::mlir::RankedTensorType getRestType();
  }];
}

def Galv_ModelOp : Galv_Op<"model",
    [Symbol, IsolatedFromAbove, SingleBlock, NoTerminator]> {
  let summary = "The global program of a training step's forward";
  let description = [{
    One device's view. `layers` is the number of its layers: operations whose
    `module` starts with `h.<i>.`, where `h` is `layer_prefix`, belong to layer
    i. `batch` sequences of `sequence` tokens make a step. `configuration` is
    the model's own config file, kept for the checkpoint.

    Phase `assign-strategy` adds the mesh, the strategy of each block, the
    schedule and the number of microbatches, and tags each operation with its
    `block` (0 is the embedding, 1 to n the layers, n + 1 the head).

    Ends in `galv.yield` of the loss: the sum over the labels that count.

    ```mlir
    // RUN-EXAMPLE
    galv.model @small attributes {batch = 8, sequence = 64, vocabulary = 257, layers = 0,
                                  layer_prefix = "h", configuration = "{}"} {
      %loss = galv.zero : () -> tensor<f32>
      galv.yield %loss : tensor<f32>
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, I64Attr:$batch,
                       I64Attr:$sequence, I64Attr:$vocabulary,
                       I64Attr:$layers, StrAttr:$layer_prefix,
                       StrAttr:$configuration,
                       OptionalAttr<Galv_MeshAttr>:$mesh,
                       OptionalAttr<ArrayAttr>:$blocks,
                       OptionalAttr<I64Attr>:$stages,
                       OptionalAttr<I64Attr>:$microbatches,
                       OptionalAttr<StrAttr>:$schedule);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$sym_name attr-dict-with-keyword $body";
  let hasVerifier = 1;
}

def Galv_YieldOp : Galv_Op<"yield", [Pure, Terminator]> {
  let summary = "The results of a region";
  let description = [{
    Terminates the body of a model or a phase.

    ```mlir
    // RUN-EXAMPLE
    galv.model @small attributes {batch = 8, sequence = 64, vocabulary = 257, layers = 0,
                                  layer_prefix = "h", configuration = "{}"} {
      %loss = galv.zero : () -> tensor<f32>
      galv.yield %loss : tensor<f32>
    }
    ```
  }];
  let arguments = (ins Variadic<AnyType>:$values);
  let assemblyFormat = "($values^ `:` type($values))? attr-dict";
}

def Galv_MicrobatchesOp : Galv_Op<"microbatches",
    [SingleBlock, RecursiveMemoryEffects]> {
  let summary = "The part of a step that runs for each microbatch";
  let description = [{
    Its body is one coordinate of the mesh's time axis, which stands in types
    only here and in block functions. What leaves it goes through
    `galv.accumulate`, its terminator.

    ```mlir
    // RUN-EXAMPLE
    #mesh = #galv.mesh<[a = 2, b = 2], time = [m = 2]>
    #part = #galv.placement<#mesh, [{b}, {} ], partial = {a, m}>
    #sum = #galv.placement<#mesh, [{b}, {} ], partial = {a}>
    func.func @example(%g: tensor<512x128xf32, #part>) {
      %all = galv.microbatches -> tensor<512x128xf32, #sum> {
        galv.accumulate %g : tensor<512x128xf32, #part>
      }
      return
    }
    ```
  }];
  let results = (outs Variadic<AnyType>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "(`->` type($results)^)? attr-dict-with-keyword $body";
  let hasVerifier = 1;
}

def Galv_AccumulateOp : Galv_Op<"accumulate",
    [Pure, Terminator, HasParent<"::galv::MicrobatchesOp">]> {
  let summary = "Sum over the microbatches";
  let description = [{
    The only operation that takes the time axis out of `partial`.

    **Constraints:** each result of `galv.microbatches` is the operand's type
    with the time axes taken out of `partial`; a time axis stands nowhere else
    in it.

    ```mlir
    // RUN-EXAMPLE
    #mesh = #galv.mesh<[a = 2, b = 2], time = [m = 2]>
    #part = #galv.placement<#mesh, [{b}, {} ], partial = {a, m}>
    #sum = #galv.placement<#mesh, [{b}, {} ], partial = {a}>
    func.func @example(%g: tensor<512x128xf32, #part>) {
      %all = galv.microbatches -> tensor<512x128xf32, #sum> {
        galv.accumulate %g : tensor<512x128xf32, #part>
      }
      return
    }
    ```
  }];
  let arguments = (ins Variadic<AnyType>:$values);
  let assemblyFormat = "($values^ `:` type($values))? attr-dict";
}

def Galv_UseOp : Galv_Op<"use",
    [Pure, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "A parameter as its block wants it";
  let description = [{
    The parameter in the compute type and in the placement of its use, which
    never moves. Stands in a model's body; Autodiff makes `galv.materialize` of
    it.

    ```mlir
    // RUN-EXAMPLE
    galv.parameter @up : tensor<512x128xf32> {
      dimensions = ["hidden", "embed"],
      checkpoint = #galv.checkpoint<"up.weight", [512, 128], [0, 0], transposed = false>,
      initializer = #galv.initializer<"normal", 0.02 : f64>
    }
    galv.model @small attributes {batch = 8, sequence = 64, vocabulary = 257, layers = 0,
                                  layer_prefix = "h", configuration = "{}"} {
      %up = galv.use @up : tensor<512x128xf32>
      %loss = galv.zero : () -> tensor<f32>
      galv.yield %loss : tensor<f32>
    }
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$parameter);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$parameter attr-dict `:` type($result)";
}

def Galv_CallOp : Galv_Op<"call",
    [DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "Run a block";
  let description = [{
    Calls a block function for one block of the model; `block` is its number,
    `layer` the number of the layer where it is one. Blocks with the same
    operations, boundary types and use types share a function. With `recompute`
    the backward keeps the block's inputs only.

    **Constraints:** operand and result types are the function's.

    ```mlir
    // RUN-EXAMPLE
    func.func private @layer(tensor<8x64x128xf32>) -> tensor<8x64x128xf32>
    func.func @example(%x: tensor<8x64x128xf32>) {
      %y = galv.call @layer(%x) {block = 1, layer = 0} : (tensor<8x64x128xf32>) -> tensor<8x64x128xf32>
      return
    }
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$callee, Variadic<AnyType>:$operands,
                       I64Attr:$block, OptionalAttr<I64Attr>:$layer,
                       UnitAttr:$recompute);
  let results = (outs Variadic<AnyType>:$results);
  let assemblyFormat = [{
    $callee `(` $operands `)` attr-dict `:` functional-type($operands, $results)
  }];
}

def Galv_RedistributeOp : Galv_Op<"redistribute", [Pure]> {
  let summary = "Go from one placement to another within a mesh";
  let description = [{
    The global value does not change. Lowers to the cheapest sequence of local
    slices and collectives. Folds only when nothing changes.

    **Constraints:**
    - Shapes, element types and meshes agree, both sides have a placement.
    - A time axis may be added, never removed or moved.
    - A partial maximum is not made, only reduced.

    ```mlir
    // RUN-EXAMPLE
    #mesh = #galv.mesh<[a = 2, b = 2], time = [m = 2]>
    #sum = #galv.placement<#mesh, [{m, a}, {}, {} ], partial = {b}>
    #split = #galv.placement<#mesh, [{m, a}, {b}, {} ]>
    #whole = #galv.placement<#mesh, [{m, a}, {}, {} ]>
    func.func @example(%d: tensor<8x64x128xf32, #sum>) {
      // A reduce-scatter over b, then an all-gather.
      %s = galv.redistribute %d : tensor<8x64x128xf32, #sum> -> tensor<8x64x128xf32, #split>
      %w = galv.redistribute %s : tensor<8x64x128xf32, #split> -> tensor<8x64x128xf32, #whole>
      return
    }
    ```
  }];
  let arguments = (ins AnyRankedTensor:$input);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Galv_StageOp : Galv_Op<"stage", [Symbol]> {
  let summary = "A pipeline stage: a mesh and its first rank";
  let description = [{
    The ranks `first_rank` on, in the order of the mesh. Stages of the same mesh
    share code; `index` is the place in the pipeline.

    ```mlir
    // RUN-EXAMPLE
    #mesh = #galv.mesh<[a = 2, b = 2], time = [m = 2]>
    galv.stage @first #mesh {first_rank = 0, index = 0}
    galv.stage @second #mesh {first_rank = 4, index = 1}
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, Galv_MeshAttr:$mesh,
                       I64Attr:$first_rank, I64Attr:$index);
  let assemblyFormat = "$sym_name $mesh attr-dict";
}

def Galv_PhaseOp : Galv_Op<"phase",
    [DeclareOpInterfaceMethods<SymbolUserOpInterface>,
     IsolatedFromAbove, SingleBlock, RecursiveMemoryEffects]> {
  let summary = "What one stage does in a part of the step";
  let description = [{
    `name` is `begin`, `forward`, `backward` or `finish`. Operands are values on
    this stage, the body's arguments are their tensors; `galv.yield` gives the
    results, which lie on this stage.

    **Constraints:**
    - Each operand and result is `!galv.on` this stage: a value of another stage
      needs a `galv.transfer`.
    - `begin` and `finish` know no time axis.

    ```mlir
    // RUN-EXAMPLE
    #mesh = #galv.mesh<[a = 2, b = 2], time = [m = 2]>
    #split = #galv.placement<#mesh, [{m, a}, {b}, {} ]>
    galv.stage @first #mesh {first_rank = 0, index = 0}
    galv.stage @second #mesh {first_rank = 4, index = 1}
    func.func @example(%x: !galv.on<@first, tensor<8x64x128xf32, #split>>) {
      %sent = galv.transfer %x : <@first, tensor<8x64x128xf32, #split>>
                              -> <@second, tensor<8x64x128xf32, #split>>
      %y = galv.phase "forward" on @second(%in = %sent : !galv.on<@second, tensor<8x64x128xf32, #split>>)
          -> !galv.on<@second, tensor<8x64x128xf32, #split>> {
        %out = galv.gelu %in : (tensor<8x64x128xf32, #split>) -> tensor<8x64x128xf32, #split>
        galv.yield %out : tensor<8x64x128xf32, #split>
      }
      return
    }
    ```
  }];
  let arguments = (ins StrAttr:$name, FlatSymbolRefAttr:$stage,
                       Variadic<Galv_OnType>:$operands);
  let results = (outs Variadic<Galv_OnType>:$results);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
}

def Galv_TransferOp : Galv_Op<"transfer", []> {
  let summary = "Take a value to another stage";
  let description = [{
    Each rank sends its part to the rank of the same position in the other
    stage.

    **Constraints:** the stages differ; the tensor types agree, and nothing in
    them is partial but a gradient's own axes.

    ```mlir
    // RUN-EXAMPLE
    #mesh = #galv.mesh<[a = 2, b = 2], time = [m = 2]>
    #split = #galv.placement<#mesh, [{m, a}, {b}, {} ]>
    galv.stage @first #mesh {first_rank = 0, index = 0}
    galv.stage @second #mesh {first_rank = 4, index = 1}
    func.func @example(%x: !galv.on<@first, tensor<8x64x128xf32, #split>>) {
      %sent = galv.transfer %x : <@first, tensor<8x64x128xf32, #split>>
                              -> <@second, tensor<8x64x128xf32, #split>>
      %y = galv.phase "forward" on @second(%in = %sent : !galv.on<@second, tensor<8x64x128xf32, #split>>)
          -> !galv.on<@second, tensor<8x64x128xf32, #split>> {
        %out = galv.gelu %in : (tensor<8x64x128xf32, #split>) -> tensor<8x64x128xf32, #split>
        galv.yield %out : tensor<8x64x128xf32, #split>
      }
      return
    }
    ```
  }];
  let arguments = (ins Galv_OnType:$input);
  let results = (outs Galv_OnType:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
}

def Galv_StepOp : Galv_Op<"step",
    [Symbol, IsolatedFromAbove, SingleBlock, NoTerminator]> {
  let summary = "A whole training step over all stages";
  let description = [{
    Made of the model by phase `pipeline`: phases of the stages, with the
    microbatches between. Attributes are the model's.

    ```mlir
    // RUN-EXAMPLE
    #mesh = #galv.mesh<[a = 2, b = 2], time = [m = 2]>
    #whole = #galv.placement<#mesh, []>
    galv.stage @only #mesh {first_rank = 0, index = 0}
    #block = #galv.strategy<stage = 0, data = [0], tensor = [1], sequence = false, zero = 0, recompute = false>
    galv.step @train attributes {batch = 8, sequence = 64, vocabulary = 257, layers = 0, layer_prefix = "h",
                                 configuration = "{}", mesh = #mesh, blocks = [#block, #block], stages = 1,
                                 microbatches = 2, schedule = "1f1b"} {
      galv.phase "finish" on @only() {
        %loss = galv.zero : () -> tensor<f32, #whole>
        galv.report "loss", %loss : tensor<f32, #whole>
        galv.yield
      }
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, I64Attr:$batch,
                       I64Attr:$sequence, I64Attr:$vocabulary,
                       I64Attr:$layers, StrAttr:$layer_prefix,
                       StrAttr:$configuration, Galv_MeshAttr:$mesh,
                       ArrayAttr:$blocks, I64Attr:$stages,
                       I64Attr:$microbatches, StrAttr:$schedule);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$sym_name attr-dict-with-keyword $body";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Actions between blocks
//===----------------------------------------------------------------------===//

def Galv_MaterializeOp : Galv_Op<"materialize",
    [DeclareOpInterfaceMethods<SymbolUserOpInterface>,
     MemoryEffects<[MemRead<Galv_ParameterStore>]>]> {
  let summary = "A parameter from rest to use";
  let description = [{
    Reads the parameter at rest, casts it once and goes to the placement of its
    use. Where type and placement are equal it is an alias.

    **Constraints:** the result has the parameter's shape; nothing in it is
    partial.

    ```mlir
    // RUN-EXAMPLE
    #mesh = #galv.mesh<[a = 2, b = 2], time = [m = 2]>
    #rest = #galv.placement<#mesh, [{b}, {} ], flat = {a}>
    #use = #galv.placement<#mesh, [{b}, {} ]>
    galv.parameter @up : tensor<512x128xf32> {
      dimensions = ["hidden", "embed"],
      checkpoint = #galv.checkpoint<"up.weight", [512, 128], [0, 0], transposed = false>,
      initializer = #galv.initializer<"normal", 0.02 : f64>,
      rest = tensor<512x128xf32, #rest>, zero = 1}
    func.func @example() {
      %up = galv.materialize @up : tensor<512x128xf32, #use>
      return
    }
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$parameter);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$parameter attr-dict `:` type($result)";
}

def Galv_RefreshOp : Galv_Op<"refresh",
    [DeclareOpInterfaceMethods<SymbolUserOpInterface>,
     MemoryEffects<[MemWrite<Galv_ParameterStore>]>]> {
  let summary = "Write a copy of a parameter that has its home elsewhere";
  let description = [{
    Once a step, before the copy is read.

    **Constraints:** nothing in the value is partial.

    ```mlir
    // RUN-EXAMPLE
    #mesh = #galv.mesh<[a = 2, b = 2], time = [m = 2]>
    #rest = #galv.placement<#mesh, [{b}, {} ], flat = {a}>
    galv.parameter @up : tensor<512x128xf32> {
      dimensions = ["hidden", "embed"],
      checkpoint = #galv.checkpoint<"up.weight", [512, 128], [0, 0], transposed = false>,
      initializer = #galv.initializer<"normal", 0.02 : f64>,
      rest = tensor<512x128xf32, #rest>, zero = 1}
    func.func @example(%sent: tensor<512x128xf32, #rest>) {
      galv.refresh @up, %sent : tensor<512x128xf32, #rest>
      return
    }
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$parameter, AnyRankedTensor:$value);
  let assemblyFormat = "$parameter `,` $value attr-dict `:` type($value)";
}

def Galv_ReduceOp : Galv_Op<"reduce", [Pure]> {
  let summary = "A parameter's gradient towards its rest";
  let description = [{
    Sums the gradient over ranks on its way to the placement of rest: a
    `galv.redistribute` that may also narrow to the reduce type.

    **Constraints:** as `galv.redistribute`.

    ```mlir
    // RUN-EXAMPLE
    #mesh = #galv.mesh<[a = 2, b = 2], time = [m = 2]>
    #part = #galv.placement<#mesh, [{b}, {} ], partial = {a}>
    #rest = #galv.placement<#mesh, [{b}, {} ], flat = {a}>
    func.func @example(%g: tensor<512x128xf32, #part>) {
      %r = galv.reduce %g : tensor<512x128xf32, #part> -> tensor<512x128xf32, #rest>
      return
    }
    ```
  }];
  let arguments = (ins AnyRankedTensor:$input);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `->` type($result)";
  let hasVerifier = 1;
}

def Galv_UpdateOp : Galv_Op<"update",
    [DeclareOpInterfaceMethods<SymbolUserOpInterface>,
     MemoryEffects<[MemRead<Galv_ParameterStore>,
                    MemWrite<Galv_ParameterStore>]>]> {
  let summary = "The optimizer's step on one parameter";
  let description = [{
    AdamW on the parameter and its state at rest, with the gradient times the
    clip coefficient. `decay` says whether weight decay applies.

    **Constraints:** the gradient has exactly the type of rest: a gradient that
    is still a partial sum, or split otherwise, is an error.

    ```mlir
    // RUN-EXAMPLE
    #mesh = #galv.mesh<[a = 2, b = 2], time = [m = 2]>
    #rest = #galv.placement<#mesh, [{b}, {} ], flat = {a}>
    #scalar = #galv.placement<#mesh, []>
    galv.parameter @up : tensor<512x128xf32> {
      dimensions = ["hidden", "embed"],
      checkpoint = #galv.checkpoint<"up.weight", [512, 128], [0, 0], transposed = false>,
      initializer = #galv.initializer<"normal", 0.02 : f64>,
      rest = tensor<512x128xf32, #rest>, zero = 1}
    func.func @example(%g: tensor<512x128xf32, #rest>, %clip: tensor<f32, #scalar>) {
      galv.update @up, %g, %clip {decay = true} : tensor<512x128xf32, #rest>, tensor<f32, #scalar>
      return
    }
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$parameter,
                       AnyRankedTensor:$gradient, AnyRankedTensor:$coefficient,
                       BoolAttr:$decay);
  let assemblyFormat = [{
    $parameter `,` $gradient `,` $coefficient attr-dict
        `:` type($gradient) `,` type($coefficient)
  }];
}

def Galv_SumOverStagesOp : Galv_Op<"sum_over_stages",
    [AllTypesMatch<["input", "result"]>,
     MemoryEffects<[MemWrite<Galv_ParameterStore>]>]> {
  let summary = "Sum a scalar over all stages";
  let description = [{
    For the gradient norm and the loss.

    **Constraints:** operand and result are the same scalar type, replicated.

    ```mlir
    // RUN-EXAMPLE
    func.func @example(%x: tensor<f32>) {
      %all = galv.sum_over_stages %x : tensor<f32>
      return
    }
    ```
  }];
  let arguments = (ins AnyRankedTensor:$input);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($input)";
  let hasVerifier = 1;
}

def Galv_ReportOp : Galv_Op<"report",
    [MemoryEffects<[MemWrite<Galv_ParameterStore>]>]> {
  let summary = "A number of the step that the run shows";
  let description = [{
    `name` is `loss` or `gradient_norm`.

    **Constraints:** a replicated scalar.

    ```mlir
    // RUN-EXAMPLE
    func.func @example(%loss: tensor<f32>) {
      galv.report "loss", %loss : tensor<f32>
      return
    }
    ```
  }];
  let arguments = (ins StrAttr:$name, AnyRankedTensor:$value);
  let assemblyFormat = "$name `,` $value attr-dict `:` type($value)";
  let hasVerifier = 1;
}

#endif // GALV_PROGRAM_OPS_TD
