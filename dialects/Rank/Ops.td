//===- Ops.td - the rank dialect ------------------------------------------===//

#ifndef RANK_OPS_TD
#define RANK_OPS_TD

include "mlir/IR/OpBase.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "dialects/Galv/Attributes.td"

def Rank_Dialect : Dialect {
  let name = "rank";
  let cppNamespace = "::galv::rank";
  let summary = "The program of a rank: buffers, calls, order";
  let description = [{
    What a rank runs is data: for every stage the calls of each segment, on
    buffers with an address, and the order of segments, microbatches and
    transfers. The functions that are called have one compute operation,
    `rank.run`, which names a runtime function.
  }];
  let useDefaultAttributePrinterParser = 1;
}

class Rank_Op<string mnemonic, list<Trait> traits = []>
    : Op<Rank_Dialect, mnemonic, traits>;

def Rank_Tensor : AnyTypeOf<[AnyRankedTensor, AnyMemRef]>;

//===----------------------------------------------------------------------===//
// Inside functions
//===----------------------------------------------------------------------===//

def Rank_RunOp : Rank_Op<"run", [AttrSizedOperandSegments]> {
  let summary = "Call a runtime function";
  let description = [{
    The runtime function of that name takes the context, `into`, `from` and the
    attributes, in this order. A new operation needs one runtime function and no
    line of the emitter.

    Example: `rank.run "gelu" into(%y) from(%x) [] : (memref<8xf32>), (memref<8xf32>)`

    **Constraints:** what is written is not read from elsewhere at the same time.
  }];
  let arguments = (ins StrAttr:$function, Variadic<Rank_Tensor>:$into,
                       Variadic<Rank_Tensor>:$from, ArrayAttr:$settings);
  let assemblyFormat = [{
    $function `into` `(` $into `)` `from` `(` $from `)` $settings attr-dict
        `:` custom<Types>(type($into)) `,` custom<Types>(type($from))
  }];
}

def Rank_LocalOp : Rank_Op<"local"> {
  let summary = "A value inside a function";
  let description = [{
    Lies `offset` bytes into the scratch area once memory is planned.
  }];
  let arguments = (ins OptionalAttr<I64Attr>:$offset);
  let results = (outs AnyMemRef:$result);
  let assemblyFormat = "attr-dict `:` type($result)";
}

//===----------------------------------------------------------------------===//
// Programs and stages
//===----------------------------------------------------------------------===//

def Rank_ProgramOp : Rank_Op<"program",
    [Symbol, IsolatedFromAbove, SingleBlock, NoTerminator]> {
  let summary = "What all ranks run";
  let description = [{
    `microbatches` of a step of `batch` sequences; stages are inside.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, I64Attr:$batch,
                       I64Attr:$sequence, I64Attr:$vocabulary, I64Attr:$layers,
                       StrAttr:$layer_prefix, StrAttr:$configuration,
                       Galv_MeshAttr:$mesh, I64Attr:$microbatches,
                       StrAttr:$schedule);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$sym_name attr-dict-with-keyword $body";
}

def Rank_ActionAttr : AttrDef<Rank_Dialect, "Action"> {
  let mnemonic = "action";
  let summary = "One entry of a stage's order";
  let description = [{
    `run` of a segment for a microbatch (-1 outside of them), or `transfers`: the
    sends and receives that start together and are then awaited, each a number
    of a `rank.transfer` and a microbatch.

    Example: `#rank.action<run 2 microbatch 0>`,
    `#rank.action<transfers 0 microbatch 1, 3 microbatch 0>`.
  }];
  let parameters = (ins "bool":$run, ArrayRefParameter<"int32_t">:$numbers,
                        ArrayRefParameter<"int32_t">:$microbatches);
  let hasCustomAssemblyFormat = 1;
}

def Rank_StageOp : Rank_Op<"stage",
    [SingleBlock, NoTerminator, HasParent<"::galv::rank::ProgramOp">]> {
  let summary = "Buffers, segments, transfers and order of one stage";
  let description = [{
    Once memory is planned, `arena` is the bytes of a rank's arena, `scratch` the
    offset of the area that functions use inside, `slot_stride` the distance of
    two microbatches' slots, of which there are `slots`.

    **Constraints:** every number in `order` is that of a segment or transfer.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, I64Attr:$first_rank,
                       I64Attr:$index, ArrayAttr:$order, I64Attr:$slots,
                       OptionalAttr<I64Attr>:$arena,
                       OptionalAttr<I64Attr>:$scratch,
                       OptionalAttr<I64Attr>:$slot_stride);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$sym_name attr-dict-with-keyword $body";
  let hasVerifier = 1;
}

def Rank_BufferOp : Rank_Op<"buffer"> {
  let summary = "A place in the arena";
  let description = [{
    `kind` is `rest`, `exp_avg` or `exp_avg_sq` (storage of `parameter`),
    `gradient` (its reduced gradient), `kept` (until the step ends), `slotted`
    (one for each microbatch in flight) or `local` (inside one segment). `block`
    is the block that it belongs to.
  }];
  let arguments = (ins StrAttr:$kind, I64Attr:$block,
                       OptionalAttr<FlatSymbolRefAttr>:$parameter,
                       OptionalAttr<StrAttr>:$report,
                       OptionalAttr<I64Attr>:$offset);
  let results = (outs AnyMemRef:$result);
  let assemblyFormat = "$kind attr-dict `:` type($result)";
}

def Rank_SegmentOp : Rank_Op<"segment", [SingleBlock, NoTerminator]> {
  let summary = "Calls that run one after the other, without a transfer";
  let arguments = (ins StrAttr:$name);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$name attr-dict-with-keyword $body";
}

def Rank_CallOp : Rank_Op<"call",
    [DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "Run a function on buffers";
  let description = [{
    Arguments first, then results; the last `results` operands are written, those
    before may be too (a parameter's storage).

    **Constraints:** the operands are the function's arguments and results.
  }];
  let arguments = (ins FlatSymbolRefAttr:$callee, StrAttr:$action,
                       I64Attr:$block, OptionalAttr<I64Attr>:$layer,
                       I64Attr:$results, Variadic<AnyMemRef>:$operands);
  let assemblyFormat = [{
    $callee `(` $operands `)` attr-dict `:` type($operands)
  }];
}

def Rank_TransferOp : Rank_Op<"transfer"> {
  let summary = "One side of a tensor that crosses stages";
  let description = [{
    Between ranks of equal position in their stages; `tag` is equal on both
    sides.
  }];
  let arguments = (ins UnitAttr:$send, I64Attr:$peer, I64Attr:$tag,
                       AnyMemRef:$buffer);
  let assemblyFormat = "$buffer attr-dict `:` type($buffer)";
}

#endif // RANK_OPS_TD
