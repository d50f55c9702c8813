//===- ComputeOps.td - what models compute --------------------------------===//

#ifndef GALV_COMPUTE_OPS_TD
#define GALV_COMPUTE_OPS_TD

include "dialects/Galv/ProgramOps.td"

/// An operation whose distribution follows from its factor rule. The notation
/// is explained in FactorRule.h; `i*` stands for any number of leading
/// dimensions. The builder infers result types from the operands' shapes by the
/// rule, without a placement.
class Galv_RuleOp<string mnemonic, string rule, string text,
                  list<Trait> traits = []>
    : Galv_Op<mnemonic, !listconcat([Galv_FactorRuleOpInterface], traits)> {
  let assemblyFormat = [{
    operands attr-dict `:` functional-type(operands, results)
  }];
  let description = text # "\n\n    **Rule:** `" # rule # "`\n";
  let builders = [OpBuilder<(ins "::mlir::ValueRange":$operands,
      CArg<"::llvm::ArrayRef<::mlir::NamedAttribute>", "{}">:$attributes), [{
    $_state.addOperands(operands);
    $_state.addAttributes(attributes);
    $_state.addTypes(::galv::inferResultTypes(getRuleText(), operands,
        $_state.attributes.getDictionary($_builder.getContext())));
  }]>];
  let extraClassDeclaration =
      "static ::llvm::StringRef getRuleText() { return \"" # rule # "\"; }\n";
}

def Differentiable : DeclareOpInterfaceMethods<Galv_DerivativeOpInterface>;

/// One that completes its clone on local shapes itself.
class Galv_LocalisedOp<string mnemonic, string rule, string text,
                       list<Trait> traits = []>
    : Galv_RuleOp<mnemonic, rule, text, traits> {
  let extraClassDeclaration =
      "static ::llvm::StringRef getRuleText() { return \"" # rule # "\"; }\n" #
      "::llvm::SmallVector<::mlir::Value> localise(::mlir::OpBuilder &builder, "
      "::mlir::Operation *local, const ::galv::Assignment &assignment);\n";
}

//===----------------------------------------------------------------------===//
// Step inputs
//===----------------------------------------------------------------------===//

def Galv_InputOp : Galv_LocalisedOp<"input", "() -> [b,s] ; indexed b s", [{
    The step's tokens or labels. In the model the shape is the whole step's; the
    attributes after `name` are filled in where shapes become local: the global
    sizes, whether the microbatch is part of the rows, and the ranks that split
    rows and columns.

    ```mlir
    // RUN-EXAMPLE
    func.func @example() {
      %tokens = galv.input {name = "tokens"} : () -> tensor<8x64xi64>
      return
    }
    ```
  }], [Pure, Galv_ComputedAnywhere]> {
  let summary = "Token ids or labels of the step";
  let arguments = (ins StrAttr:$name, OptionalAttr<I64Attr>:$batch,
                       OptionalAttr<I64Attr>:$sequence,
                       OptionalAttr<BoolAttr>:$microbatched,
                       OptionalAttr<Comm_GroupAttr>:$rows,
                       OptionalAttr<Comm_GroupAttr>:$columns);
  let results = (outs AnyRankedTensor:$result);
}

def Galv_PositionsOp : Galv_LocalisedOp<"positions", "() -> [s] ; indexed s", [{
    0, 1, ..., s - 1.

    ```mlir
    // RUN-EXAMPLE
    func.func @example() {
      %at = galv.positions : () -> tensor<64xi64>
      return
    }
    ```
  }], [Pure, Galv_ComputedAnywhere]> {
  let summary = "Positions in the sequence";
  let arguments = (ins OptionalAttr<I64Attr>:$sequence,
                       OptionalAttr<Comm_GroupAttr>:$columns);
  let results = (outs AnyRankedTensor:$result);
}

def Galv_ZeroOp : Galv_RuleOp<"zero", "() -> []", [{
    What a stage without a loss adds to the loss.

    ```mlir
    // RUN-EXAMPLE
    func.func @example() {
      %none = galv.zero : () -> tensor<f32>
      return
    }
    ```
  }], [Pure, Galv_ComputedAnywhere]> {
  let summary = "The scalar zero";
  let results = (outs AnyRankedTensor:$result);
}

def Galv_CountValidOp : Galv_RuleOp<"count_valid",
    "([b,s]) -> [] ; terms (0)", [{
    How many labels count towards the loss, as a floating-point number. The
    result's element type is given, the rule gives its shape.

    ```mlir
    // RUN-EXAMPLE
    func.func @example(%labels: tensor<8x64xi64>) {
      %n = galv.count_valid %labels : (tensor<8x64xi64>) -> tensor<f32>
      return
    }
    ```
  }], [Pure]> {
  let summary = "The number of labels that count";
  let arguments = (ins AnyRankedTensor:$labels);
  let results = (outs AnyRankedTensor:$result);
}

//===----------------------------------------------------------------------===//
// Forward
//===----------------------------------------------------------------------===//

def Galv_EmbeddingOp : Galv_LocalisedOp<"embedding",
    "([i*],[v,h]) -> [i*,h] ; terms (0 1*) ; indexed v ; pad v", [{
    `result[..., h] = table[ids[...], h]`. Where the vocabulary is split, ids of
    other ranks' rows give zero, so the result is a partial sum.

    ```mlir
    // RUN-EXAMPLE
    #mesh = #galv.mesh<[a = 2, b = 2], time = [m = 2]>
    #ids = #galv.placement<#mesh, [{m, a}, {} ]>
    #table = #galv.placement<#mesh, [{b : pad}, {} ]>
    #sum = #galv.placement<#mesh, [{m, a}, {}, {} ], partial = {b}>
    module attributes {galv.placed} {
      func.func @example(%tokens: tensor<8x64xi64, #ids>, %table: tensor<257x128xf32, #table>) {
        // Each of two ranks has 129 rows of the table, the last of them one of zeros.
        %x = galv.embedding %tokens, %table
            : (tensor<8x64xi64, #ids>, tensor<257x128xf32, #table>) -> tensor<8x64x128xf32, #sum>
        return
      }
    }
    ```
  }], [Pure, Differentiable]> {
  let summary = "Look rows of a table up";
  let arguments = (ins AnyRankedTensor:$ids, AnyRankedTensor:$table,
                       OptionalAttr<I64Attr>:$vocabulary,
                       OptionalAttr<Comm_GroupAttr>:$over);
  let results = (outs AnyRankedTensor:$result);
}

def Galv_LinearOp : Galv_RuleOp<"linear",
    "([i*,k],[n,k],[n]) -> [i*,n] ; terms (0* 1*)+(2*) ; pad n k", [{
    `result[..., n] = sum_k x[..., k] weight[n, k] (+ bias[n])`.

    ```mlir
    // RUN-EXAMPLE
    #mesh = #galv.mesh<[a = 2, b = 2], time = [m = 2]>
    #whole = #galv.placement<#mesh, [{m, a}, {}, {} ]>
    #split = #galv.placement<#mesh, [{m, a}, {}, {b} ]>
    #sum = #galv.placement<#mesh, [{m, a}, {}, {} ], partial = {b}>
    #rows = #galv.placement<#mesh, [{b}, {} ]>
    #inside = #galv.placement<#mesh, [{}, {b} ]>
    module attributes {galv.placed} {
      func.func @example(%x: tensor<8x64x128xf32, #whole>, %up: tensor<512x128xf32, #rows>, %down: tensor<128x512xf32, #inside>) {
        // Split along the rows of the weight, then along what is summed over.
        %u = galv.linear %x, %up
            : (tensor<8x64x128xf32, #whole>, tensor<512x128xf32, #rows>) -> tensor<8x64x512xf32, #split>
        %d = galv.linear %u, %down
            : (tensor<8x64x512xf32, #split>, tensor<128x512xf32, #inside>) -> tensor<8x64x128xf32, #sum>
        return
      }
    }
    ```
  }], [Pure, Differentiable]> {
  let summary = "Multiply by a weight's transpose, add a bias";
  let arguments = (ins AnyRankedTensor:$x, AnyRankedTensor:$weight,
                       Optional<AnyRankedTensor>:$bias);
  let results = (outs AnyRankedTensor:$result);
}

def Galv_LayerNormOp : Galv_RuleOp<"layer_norm",
    "([i*,k],[k],[k]) -> [i*,k],[i*],[i*] ; terms (0 1*)+(2*) | (0) | (0) ; whole k", [{
    Normalises over the last dimension with the biased variance (Ba et al.
    2016); `mean` and `rstd` = 1/sqrt(variance + epsilon) are what the
    derivative needs.

    ```mlir
    // RUN-EXAMPLE
    func.func @example(%x: tensor<8x64x128xf32>, %weight: tensor<128xf32>, %bias: tensor<128xf32>) {
      %n, %mean, %rstd = galv.layer_norm %x, %weight, %bias {epsilon = 1.0e-05 : f64}
          : (tensor<8x64x128xf32>, tensor<128xf32>, tensor<128xf32>) -> (tensor<8x64x128xf32>, tensor<8x64xf32>, tensor<8x64xf32>)
      return
    }
    ```
  }], [Pure, Differentiable]> {
  let summary = "Layer normalisation";
  let arguments = (ins AnyRankedTensor:$x, AnyRankedTensor:$weight,
                       AnyRankedTensor:$bias, F64Attr:$epsilon);
  let results = (outs AnyRankedTensor:$result, AnyRankedTensor:$mean,
                      AnyRankedTensor:$rstd);
}

def Galv_GeluOp : Galv_RuleOp<"gelu", "([i*]) -> [i*] ; terms (0) ; pad i*", [{
    The tanh form of GELU (Hendrycks & Gimpel 2016).

    ```mlir
    // RUN-EXAMPLE
    func.func @example(%x: tensor<8x64x128xf32>) {
      %h = galv.gelu %x : (tensor<8x64x128xf32>) -> tensor<8x64x128xf32>
      return
    }
    ```
  }], [Pure, Differentiable]> {
  let summary = "GELU, tanh form";
  let arguments = (ins AnyRankedTensor:$x);
  let results = (outs AnyRankedTensor:$result);
}

def Galv_AddOp : Galv_RuleOp<"add",
    "([i*,t*],[t*]) -> [i*,t*] ; terms (0*)+(1*) ; pad i* t* ; flat", [{
    The second operand may lack leading dimensions and is then repeated.

    ```mlir
    // RUN-EXAMPLE
    func.func @example(%x: tensor<8x64x128xf32>, %positions: tensor<64x128xf32>) {
      %y = galv.add %x, %positions : (tensor<8x64x128xf32>, tensor<64x128xf32>) -> tensor<8x64x128xf32>
      return
    }
    ```
  }], [Pure, Differentiable]> {
  let summary = "Sum of two tensors";
  let arguments = (ins AnyRankedTensor:$a, AnyRankedTensor:$b);
  let results = (outs AnyRankedTensor:$result);
}

def Galv_ScaleOp : Galv_RuleOp<"scale",
    "([i*],[]) -> [i*] ; terms (0* 1*) ; pad i* ; flat", [{
    `result = a * scalar`.

    ```mlir
    // RUN-EXAMPLE
    func.func @example(%x: tensor<8x64x128xf32>, %c: tensor<f32>) {
      %y = galv.scale %x, %c : (tensor<8x64x128xf32>, tensor<f32>) -> tensor<8x64x128xf32>
      return
    }
    ```
  }], [Pure]> {
  let summary = "Multiply by a scalar";
  let arguments = (ins AnyRankedTensor:$a, AnyRankedTensor:$scalar);
  let results = (outs AnyRankedTensor:$result);
}

def Galv_ReciprocalOp : Galv_RuleOp<"reciprocal", "([]) -> [] ; terms (0)", [{
    `1/x`, and 0 where x is 0.

    ```mlir
    // RUN-EXAMPLE
    func.func @example(%n: tensor<f32>) {
      %seed = galv.reciprocal %n : (tensor<f32>) -> tensor<f32>
      return
    }
    ```
  }], [Pure]> {
  let summary = "One over a scalar";
  let arguments = (ins AnyRankedTensor:$x);
  let results = (outs AnyRankedTensor:$result);
}

def Galv_AttentionOp : Galv_RuleOp<"attention",
    "([b,s,(g r d)],[b,t,(g d)],[b,t,(g d)]) -> [b,s,(g r d)],[b,(g r),s] ; "
    "terms (0 1 2) | (0 1 2) ; whole s t d ; size d=head_dimension", [{
    Causal softmax attention, scale `1/sqrt(head_dimension)`. The last dimension
    counts heads (major) and a head's elements; r query heads share a key head.
    `log_sum_exp` is what the derivative needs.

    ```mlir
    // RUN-EXAMPLE
    func.func @example(%q: tensor<8x64x128xf32>, %k: tensor<8x64x64xf32>, %v: tensor<8x64x64xf32>) {
      // Four query heads of 32 elements share two key heads.
      %y, %log_sum_exp = galv.attention %q, %k, %v {head_dimension = 32}
          : (tensor<8x64x128xf32>, tensor<8x64x64xf32>, tensor<8x64x64xf32>) -> (tensor<8x64x128xf32>, tensor<8x4x64xf32>)
      return
    }
    ```
  }], [Pure, Differentiable]> {
  let summary = "Causal attention";
  let arguments = (ins AnyRankedTensor:$q, AnyRankedTensor:$k,
                       AnyRankedTensor:$v, I64Attr:$head_dimension);
  let results = (outs AnyRankedTensor:$result, AnyRankedTensor:$log_sum_exp);
}

def Galv_CrossEntropyOp : Galv_LocalisedOp<"cross_entropy",
    "([i*,v],[i*]) -> [],[i*] ; terms (0 1) | (0) ; closed v ; indexed v ; pad v", [{
    The sum of `-log softmax(logits)[label]` over the labels that count. The
    operation finishes a split vocabulary itself, by a maximum and a sum over
    its ranks.

    ```mlir
    // RUN-EXAMPLE
    func.func @example(%logits: tensor<8x64x257xf32>, %labels: tensor<8x64xi64>) {
      %loss, %log_sum_exp = galv.cross_entropy %logits, %labels
          : (tensor<8x64x257xf32>, tensor<8x64xi64>) -> (tensor<f32>, tensor<8x64xf32>)
      return
    }
    ```
  }], [Pure, Differentiable]> {
  let summary = "Sum of the tokens' losses";
  let arguments = (ins AnyRankedTensor:$logits, AnyRankedTensor:$labels,
                       OptionalAttr<I64Attr>:$vocabulary,
                       OptionalAttr<Comm_GroupAttr>:$over);
  let results = (outs AnyRankedTensor:$loss, AnyRankedTensor:$log_sum_exp);
}

#endif // GALV_COMPUTE_OPS_TD
