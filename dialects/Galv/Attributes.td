//===- Attributes.td - meshes, placements, strategies ---------------------===//

#ifndef GALV_ATTRIBUTES_TD
#define GALV_ATTRIBUTES_TD

include "dialects/Galv/Dialect.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/TensorEncoding.td"

class Galv_Attr<string name, string attrMnemonic, list<Trait> traits = []>
    : AttrDef<Galv_Dialect, name, traits> {
  let mnemonic = attrMnemonic;
}

def Galv_MeshAttr : Galv_Attr<"Mesh", "mesh"> {
  let summary = "The ranks of a stage as an ordered list of named axes";
  let description = [{
    The axes run major to minor; the order is the rank order within a stage. A
    mesh carries no rank numbers, so that stages of the same shape share code.
    Microbatches are an axis in time.

    Example: `#galv.mesh<[a = 2, b = 2], time = [m = 4]>`; one rank is
    `#galv.mesh<[]>`.

    **Constraints:**
    - Axis names are distinct.
    - Every axis has at least two coordinates.
  }];
  let parameters = (ins ArrayRefParameter<"::mlir::StringAttr">:$names,
                        ArrayRefParameter<"int64_t">:$sizes,
                        "unsigned":$spaceAxes);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    unsigned getNumAxes() const { return getNames().size(); }
    ::llvm::StringRef getName(int axis) const {
      return getNames()[axis].getValue();
    }
    int64_t getSize(int axis) const { return getSizes()[axis]; }
    bool isTime(int axis) const {
      return axis >= static_cast<int>(getSpaceAxes());
    }
    /// The axis of this name, or -1.
    int lookup(::llvm::StringRef name) const;
    /// The product of the sizes of `axes`.
    int64_t product(::llvm::ArrayRef<int32_t> axes) const;
    /// The number of ranks of a stage.
    int64_t getRanks() const;
    /// Canonical order of axes inside a dimension: time first, then mesh order.
    void sortAxes(::llvm::SmallVectorImpl<int32_t> &axes) const;
  }];
}

def Galv_SplitAttr : Galv_Attr<"Split", "split"> {
  let summary = "How one dimension is split: axes, major to minor";
  let description = [{
    Part of a placement, where it is written `{a, b}`, or `{a, b : pad}` for a
    dimension whose last chunks are filled up with zeros. The numbers are
    indices into the mesh's axes, space axes first.
  }];
  let parameters = (ins OptionalArrayRefParameter<"int32_t">:$axes, "bool":$pad);
  let assemblyFormat = "`<` `[` (`]`) : ($axes^ `]`)? `,` $pad `>`";
}

def Galv_PlacementAttr : Galv_Attr<"Placement", "placement",
    [DeclareAttrInterfaceMethods<VerifiableTensorEncoding>]> {
  let summary = "How a tensor is spread over a mesh";
  let description = [{
    The encoding of a tensor type whose shape is the global one.

    ```
    #galv.placement<#mesh, [{m, a}, {}, { } ], partial = {b}>
    ```
    reads: the first dimension split into microbatches and each over `a`, the
    value a partial sum over `b`. `flat = {a}`: after the dimensions' splits the
    local tensor is flattened, padded with zeros and cut over `a` (ZeRO).
    `partial = max {b}`: the value is the largest over `b`.

    **Constraints:**
    - There is a split for each dimension of the tensor.
    - An axis stands in one place at most: one dimension, `flat` or `partial`.
    - `partial` is in mesh order.
    - A dimension is divisible by the product of its axes, unless `pad`; and
      `pad` stands only where it does not divide.
    - Time axes do not stand in `flat`.
  }];
  let parameters = (ins "::galv::MeshAttr":$mesh,
                        ArrayRefParameter<"::galv::SplitAttr">:$dims,
                        ArrayRefParameter<"int32_t">:$flat,
                        ArrayRefParameter<"int32_t">:$partial,
                        "bool":$partialMax);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

def Galv_CheckpointAttr : Galv_Attr<"Checkpoint", "checkpoint"> {
  let summary = "The part of a checkpoint tensor that a parameter is";
  let description = [{
    The parameter is the slice of checkpoint tensor `name`, of global `shape`,
    that starts at `offset`, transposed if so marked. GPT-2's fused q/k/v is
    three parameters over one tensor:
    `#galv.checkpoint<"h.0.attn.c_attn.weight", [768, 2304], [0, 768], transposed = true>`.
  }];
  let parameters = (ins StringRefParameter<>:$name,
                        ArrayRefParameter<"int64_t">:$shape,
                        ArrayRefParameter<"int64_t">:$offset,
                        "bool":$transposed);
  let assemblyFormat =
      "`<` $name `,` `[` $shape `]` `,` `[` $offset `]` `,` `transposed` `=` $transposed `>`";
}

def Galv_InitializerAttr : Galv_Attr<"Initializer", "initializer"> {
  let summary = "How the initial value of a parameter is drawn";
  let description = [{
    `kind` is `zeros`, `ones` or `normal` with the given standard deviation
    (zero for the others): `#galv.initializer<"normal", 0.02>`.
  }];
  let parameters = (ins StringRefParameter<>:$kind, "::mlir::FloatAttr":$deviation);
  let assemblyFormat = "`<` $kind `,` $deviation `>`";
  let genVerifyDecl = 1;
}

def Galv_BlockStrategyAttr : Galv_Attr<"BlockStrategy", "strategy"> {
  let summary = "What the strategy says of one block";
  let description = [{
    `data` are the mesh axes that split its batch, `tensor` those that split its
    heads, hidden or vocabulary dimensions; with `sequence` the sequence is
    split over the tensor axes between the tensor-parallel parts. `zero` is the
    ZeRO stage (0 to 3), `stage` the pipeline stage.

    **Constraints:** the axes are axes of the model's mesh, each used once.
  }];
  let parameters = (ins "int64_t":$stage,
                        OptionalArrayRefParameter<"int32_t">:$data,
                        OptionalArrayRefParameter<"int32_t">:$tensor,
                        "bool":$sequence, "int64_t":$zero, "bool":$recompute);
  let assemblyFormat = [{
    `<` `stage` `=` $stage `,` `data` `=` `[` (`]`) : ($data^ `]`)? `,`
        `tensor` `=` `[` (`]`) : ($tensor^ `]`)? `,`
        `sequence` `=` $sequence `,` `zero` `=` $zero `,`
        `recompute` `=` $recompute `>`
  }];
}

#endif // GALV_ATTRIBUTES_TD
