//===- Ops.td - collectives and local movement ----------------------------===//

#ifndef COMM_OPS_TD
#define COMM_OPS_TD

include "dialects/Comm/Dialect.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

/// The order of a rank's collectives. One resource for all groups: the total
/// order over all communicators of a rank is what peers must share.
def Comm_Order : Resource<"::galv::comm::OrderResource">;

class Comm_Op<string mnemonic, list<Trait> traits = []>
    : Op<Comm_Dialect, mnemonic, traits>;

/// An operation on local tensors with one operand and one result.
class Comm_UnaryOp<string mnemonic, dag attributes, list<Trait> traits>
    : Comm_Op<mnemonic, traits> {
  let arguments = !con((ins AnyRankedTensor:$input), attributes);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = [{
    $input attr-dict `:` type($input) `->` type($result)
  }];
  let hasVerifier = 1;
}

class Comm_CollectiveOp<string mnemonic, dag attributes>
    : Comm_UnaryOp<mnemonic, attributes,
        [MemoryEffects<[MemRead<Comm_Order>, MemWrite<Comm_Order>]>]>;

def Comm_AllGatherOp : Comm_CollectiveOp<"all_gather",
    (ins I64Attr:$dimension, Comm_GroupAttr:$over)> {
  let summary = "Join the ranks' chunks along a dimension";
  let description = [{
    ```
    rank 0: [A]  rank 1: [B]   ->   both: [A B]
    ```

    **Constraints:** the result is the operand with `dimension` times the
    group's size; the group has at least two ranks.

    ```mlir
    // RUN-EXAMPLE
    func.func @example(%x: tensor<2x32xf32>) {
      %y = comm.all_gather %x {dimension = 1, over = #comm.group<[b = 2]>} : tensor<2x32xf32> -> tensor<2x64xf32>
      return
    }
    ```
  }];
}

def Comm_ReduceScatterOp : Comm_CollectiveOp<"reduce_scatter",
    (ins I64Attr:$dimension, Comm_GroupAttr:$over)> {
  let summary = "Sum over the ranks, each keeping its chunk";
  let description = [{
    ```
    rank 0: [A B]  rank 1: [C D]   ->   rank 0: [A+C]  rank 1: [B+D]
    ```
    **Constraints:** the operand is the result with `dimension` times the
    group's size; the group has at least two ranks.

    ```mlir
    // RUN-EXAMPLE
    func.func @example(%x: tensor<2x64xf32>) {
      %y = comm.reduce_scatter %x {dimension = 1, over = #comm.group<[b = 2]>} : tensor<2x64xf32> -> tensor<2x32xf32>
      return
    }
    ```
  }];
}

def Comm_AllReduceOp : Comm_CollectiveOp<"all_reduce",
    (ins Comm_GroupAttr:$over, StrAttr:$kind)> {
  let summary = "Sum, or largest, over the ranks";
  let description = [{
    **Constraints:** operand and result have one type; `kind` is `sum` or `max`;
    the group has at least two ranks.

    ```mlir
    // RUN-EXAMPLE
    func.func @example(%x: tensor<2x64xf32>) {
      %y = comm.all_reduce %x {kind = "sum", over = #comm.group<[a = 2, b = 2]>} : tensor<2x64xf32> -> tensor<2x64xf32>
      return
    }
    ```
  }];
}

def Comm_AllToAllOp : Comm_CollectiveOp<"all_to_all",
    (ins I64Attr:$splitDimension, I64Attr:$gatherDimension,
         Comm_GroupAttr:$over)> {
  let summary = "Split one dimension over the ranks and join another";
  let description = [{
    Chunk i of the operand along `splitDimension` goes to rank i, which joins
    what it receives along `gatherDimension`.

    **Constraints:** the result is the operand with `splitDimension` divided and
    `gatherDimension` multiplied by the group's size.

    ```mlir
    // RUN-EXAMPLE
    func.func @example(%x: tensor<2x32xf32>) {
      %y = comm.all_to_all %x {splitDimension = 0, gatherDimension = 1, over = #comm.group<[b = 2]>} : tensor<2x32xf32> -> tensor<1x64xf32>
      return
    }
    ```
  }];
}

def Comm_SliceOp : Comm_UnaryOp<"slice",
    (ins I64Attr:$dimension, Comm_GroupAttr:$over), [Pure]> {
  let summary = "This rank's chunk of a dimension";
  let description = [{
    **Constraints:** the operand is the result with `dimension` times the
    group's size.

    ```mlir
    // RUN-EXAMPLE
    func.func @example(%x: tensor<2x64xf32>) {
      %y = comm.slice %x {dimension = 1, over = #comm.group<[b = 2]>} : tensor<2x64xf32> -> tensor<2x32xf32>
      return
    }
    ```
  }];
}

def Comm_KeepFirstOp : Comm_UnaryOp<"keep_first",
    (ins Comm_GroupAttr:$over), [Pure]> {
  let summary = "The value on the group's first rank, zero elsewhere";
  let description = [{
    Makes a replicated value a partial sum.

    **Constraints:** operand and result have one type.

    ```mlir
    // RUN-EXAMPLE
    func.func @example(%x: tensor<2x64xf32>) {
      %y = comm.keep_first %x {over = #comm.group<[b = 2]>} : tensor<2x64xf32> -> tensor<2x64xf32>
      return
    }
    ```
  }];
}

def Comm_PadOp : Comm_UnaryOp<"pad", (ins I64Attr:$dimension), [Pure]> {
  let summary = "Append zeros along a dimension";
  let description = [{
    **Constraints:** types differ in the extent of `dimension` only, and the
    result's is the larger.

    ```mlir
    // RUN-EXAMPLE
    func.func @example(%x: tensor<257x128xf32>) {
      %y = comm.pad %x {dimension = 0} : tensor<257x128xf32> -> tensor<258x128xf32>
      return
    }
    ```
  }];
}

def Comm_UnpadOp : Comm_UnaryOp<"unpad", (ins I64Attr:$dimension), [Pure]> {
  let summary = "The leading part of a dimension";
  let description = [{
    **Constraints:** types differ in the extent of `dimension` only, and the
    operand's is the larger.

    ```mlir
    // RUN-EXAMPLE
    func.func @example(%x: tensor<258x128xf32>) {
      %y = comm.unpad %x {dimension = 0} : tensor<258x128xf32> -> tensor<257x128xf32>
      return
    }
    ```
  }];
}

def Comm_ReshapeOp : Comm_UnaryOp<"reshape", (ins), [Pure]> {
  let summary = "The same elements in another shape";
  let description = [{
    **Constraints:** both types hold the same number of elements of one type.

    ```mlir
    // RUN-EXAMPLE
    func.func @example(%x: tensor<2x64xf32>) {
      %y = comm.reshape %x : tensor<2x64xf32> -> tensor<128xf32>
      return
    }
    ```
  }];
}

#endif // COMM_OPS_TD
