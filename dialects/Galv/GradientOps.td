//===- GradientOps.td - derivatives and the optimizer's sums --------------===//

#ifndef GALV_GRADIENT_OPS_TD
#define GALV_GRADIENT_OPS_TD

include "dialects/Galv/ComputeOps.td"

def Galv_EmbeddingGradientOp : Galv_LocalisedOp<"embedding_gradient",
    "([i*,h],[i*]) -> [v,h] ; terms (0* 1) ; indexed v ; pad v ; size v=vocabulary", [{
    `result[v, h]` is the sum of the cotangent's rows whose id is v.

    ```mlir
    // RUN-EXAMPLE
    func.func @example(%dx: tensor<8x64x128xf32>, %tokens: tensor<8x64xi64>) {
      %dtable = galv.embedding_gradient %dx, %tokens {vocabulary = 257}
          : (tensor<8x64x128xf32>, tensor<8x64xi64>) -> tensor<257x128xf32>
      return
    }
    ```
  }], [Pure]> {
  let summary = "Derivative of a look-up by its table";
  let arguments = (ins AnyRankedTensor:$cotangent, AnyRankedTensor:$ids,
                       I64Attr:$vocabulary, OptionalAttr<Comm_GroupAttr>:$over);
  let results = (outs AnyRankedTensor:$result);
}

def Galv_LinearInputGradientOp : Galv_RuleOp<"linear_input_gradient",
    "([i*,n],[n,k]) -> [i*,k] ; terms (0* 1*) ; pad n k", [{
    `result[..., k] = sum_n cotangent[..., n] weight[n, k]`.

    ```mlir
    // RUN-EXAMPLE
    func.func @example(%du: tensor<8x64x512xf32>, %up: tensor<512x128xf32>) {
      %dx = galv.linear_input_gradient %du, %up
          : (tensor<8x64x512xf32>, tensor<512x128xf32>) -> tensor<8x64x128xf32>
      return
    }
    ```
  }], [Pure]> {
  let summary = "Derivative of a linear by its input";
  let arguments = (ins AnyRankedTensor:$cotangent, AnyRankedTensor:$weight);
  let results = (outs AnyRankedTensor:$result);
}

def Galv_LinearWeightGradientOp : Galv_RuleOp<"linear_weight_gradient",
    "([i*,n],[i*,k]) -> [n,k] ; terms (0* 1*) ; pad n k", [{
    `result[n, k]` sums `cotangent[..., n] x[..., k]` over all rows.

    ```mlir
    // RUN-EXAMPLE
    #mesh = #galv.mesh<[a = 2, b = 2], time = [m = 2]>
    #split = #galv.placement<#mesh, [{m, a}, {}, {b} ]>
    #whole = #galv.placement<#mesh, [{m, a}, {}, {} ]>
    #grad = #galv.placement<#mesh, [{b}, {} ], partial = {a, m}>
    module attributes {galv.placed} {
      func.func @example(%du: tensor<8x64x512xf32, #split>, %x: tensor<8x64x128xf32, #whole>) {
        // What splits the rows makes the gradient a partial sum.
        %dup = galv.linear_weight_gradient %du, %x
            : (tensor<8x64x512xf32, #split>, tensor<8x64x128xf32, #whole>) -> tensor<512x128xf32, #grad>
        return
      }
    }
    ```
  }], [Pure]> {
  let summary = "Derivative of a linear by its weight";
  let arguments = (ins AnyRankedTensor:$cotangent, AnyRankedTensor:$x);
  let results = (outs AnyRankedTensor:$result);
}

def Galv_SumLeadingOp : Galv_RuleOp<"sum_leading",
    "([i*,t*]) -> [t*] ; terms (0*) ; count i=leading ; pad t*", [{
    Sums over the first `leading` dimensions: the derivative of what an addition
    repeats.

    ```mlir
    // RUN-EXAMPLE
    func.func @example(%dy: tensor<8x64x128xf32>) {
      %dbias = galv.sum_leading %dy {leading = 2} : (tensor<8x64x128xf32>) -> tensor<128xf32>
      return
    }
    ```
  }], [Pure]> {
  let summary = "Sum over leading dimensions";
  let arguments = (ins AnyRankedTensor:$x, I64Attr:$leading);
  let results = (outs AnyRankedTensor:$result);
}

def Galv_LayerNormInputGradientOp : Galv_RuleOp<"layer_norm_input_gradient",
    "([i*,k],[i*,k],[k],[i*],[i*]) -> [i*,k] ; terms (0* 1 2 3 4) ; whole k", [{
    With `g = cotangent * weight` and `n = (x - mean) rstd`:
    `rstd (g - mean(g) - n mean(g n))`.

    ```mlir
    // RUN-EXAMPLE
    func.func @example(%dn: tensor<8x64x128xf32>, %x: tensor<8x64x128xf32>, %weight: tensor<128xf32>, %mean: tensor<8x64xf32>, %rstd: tensor<8x64xf32>) {
      %dx = galv.layer_norm_input_gradient %dn, %x, %weight, %mean, %rstd
          : (tensor<8x64x128xf32>, tensor<8x64x128xf32>, tensor<128xf32>, tensor<8x64xf32>, tensor<8x64xf32>) -> tensor<8x64x128xf32>
      return
    }
    ```
  }], [Pure]> {
  let summary = "Derivative of a layer norm by its input";
  let arguments = (ins AnyRankedTensor:$cotangent, AnyRankedTensor:$x,
                       AnyRankedTensor:$weight, AnyRankedTensor:$mean,
                       AnyRankedTensor:$rstd);
  let results = (outs AnyRankedTensor:$result);
}

def Galv_LayerNormWeightGradientOp : Galv_RuleOp<"layer_norm_weight_gradient",
    "([i*,k],[i*,k],[i*],[i*]) -> [k] ; terms (0* 1 2 3)", [{
    `result[k]` sums `cotangent[..., k] (x - mean) rstd` over all rows.

    ```mlir
    // RUN-EXAMPLE
    func.func @example(%dn: tensor<8x64x128xf32>, %x: tensor<8x64x128xf32>, %mean: tensor<8x64xf32>, %rstd: tensor<8x64xf32>) {
      %dweight = galv.layer_norm_weight_gradient %dn, %x, %mean, %rstd
          : (tensor<8x64x128xf32>, tensor<8x64x128xf32>, tensor<8x64xf32>, tensor<8x64xf32>) -> tensor<128xf32>
      return
    }
    ```
  }], [Pure]> {
  let summary = "Derivative of a layer norm by its weight";
  let arguments = (ins AnyRankedTensor:$cotangent, AnyRankedTensor:$x,
                       AnyRankedTensor:$mean, AnyRankedTensor:$rstd);
  let results = (outs AnyRankedTensor:$result);
}

def Galv_GeluGradientOp : Galv_RuleOp<"gelu_gradient",
    "([i*],[i*]) -> [i*] ; terms (0* 1) ; pad i*", [{
    The cotangent times the derivative of the tanh form at x.

    ```mlir
    // RUN-EXAMPLE
    func.func @example(%dh: tensor<8x64x128xf32>, %x: tensor<8x64x128xf32>) {
      %dx = galv.gelu_gradient %dh, %x : (tensor<8x64x128xf32>, tensor<8x64x128xf32>) -> tensor<8x64x128xf32>
      return
    }
    ```
  }], [Pure]> {
  let summary = "Derivative of GELU";
  let arguments = (ins AnyRankedTensor:$cotangent, AnyRankedTensor:$x);
  let results = (outs AnyRankedTensor:$result);
}

def Galv_AttentionGradientOp : Galv_RuleOp<"attention_gradient",
    "([b,s,(g r d)],[b,s,(g r d)],[b,t,(g d)],[b,t,(g d)],[b,s,(g r d)],[b,(g r),s]) -> "
    "[b,s,(g r d)],[b,t,(g d)],[b,t,(g d)] ; "
    "terms (0* 1 2 3 4 5) | (0* 1 2 3 4 5) | (0* 1 2 3 4 5) ; whole s t d ; "
    "size d=head_dimension", [{
    From the cotangent, the operands, the result and its log-sum-exp
    (FlashAttention, Dao et al. 2022, algorithm 4). Query heads that share a key
    head are summed in the keys' and values' gradients.

    ```mlir
    // RUN-EXAMPLE
    func.func @example(%dy: tensor<8x64x128xf32>, %q: tensor<8x64x128xf32>, %k: tensor<8x64x128xf32>, %v: tensor<8x64x128xf32>, %y: tensor<8x64x128xf32>, %sum: tensor<8x4x64xf32>) {
      %dq, %dk, %dv = galv.attention_gradient %dy, %q, %k, %v, %y, %sum {head_dimension = 32}
          : (tensor<8x64x128xf32>, tensor<8x64x128xf32>, tensor<8x64x128xf32>, tensor<8x64x128xf32>, tensor<8x64x128xf32>, tensor<8x4x64xf32>)
          -> (tensor<8x64x128xf32>, tensor<8x64x128xf32>, tensor<8x64x128xf32>)
      return
    }
    ```
  }], [Pure]> {
  let summary = "Derivative of attention";
  let arguments = (ins AnyRankedTensor:$cotangent, AnyRankedTensor:$q,
                       AnyRankedTensor:$k, AnyRankedTensor:$v,
                       AnyRankedTensor:$output, AnyRankedTensor:$log_sum_exp,
                       I64Attr:$head_dimension);
  let results = (outs AnyRankedTensor:$dq, AnyRankedTensor:$dk,
                      AnyRankedTensor:$dv);
}

def Galv_CrossEntropyGradientOp : Galv_LocalisedOp<"cross_entropy_gradient",
    "([],[i*,v],[i*],[i*]) -> [i*,v] ; terms (0* 1 2 3) ; indexed v ; pad v", [{
    `(softmax(logits) - [v is the label]) * cotangent`, zero where the label
    does not count.

    ```mlir
    // RUN-EXAMPLE
    func.func @example(%seed: tensor<f32>, %logits: tensor<8x64x257xf32>, %labels: tensor<8x64xi64>, %sum: tensor<8x64xf32>) {
      %dlogits = galv.cross_entropy_gradient %seed, %logits, %labels, %sum
          : (tensor<f32>, tensor<8x64x257xf32>, tensor<8x64xi64>, tensor<8x64xf32>) -> tensor<8x64x257xf32>
      return
    }
    ```
  }], [Pure]> {
  let summary = "Derivative of the cross entropy by the logits";
  let arguments = (ins AnyRankedTensor:$cotangent, AnyRankedTensor:$logits,
                       AnyRankedTensor:$labels, AnyRankedTensor:$log_sum_exp,
                       OptionalAttr<I64Attr>:$vocabulary,
                       OptionalAttr<Comm_GroupAttr>:$over);
  let results = (outs AnyRankedTensor:$result);
}

//===----------------------------------------------------------------------===//
// Parts of the cross entropy with a split vocabulary, on local shapes
//===----------------------------------------------------------------------===//

class Galv_LocalOp<string mnemonic> : Galv_Op<mnemonic, [Pure]> {
  let assemblyFormat = [{
    operands attr-dict `:` functional-type(operands, results)
  }];
}

def Galv_CrossEntropyMaximumOp : Galv_LocalOp<"cross_entropy_maximum"> {
  let summary = "Largest logit of this rank's columns";
  let description = [{
    Stands on local shapes only, before an all-reduce of kind `max`.

    ```mlir
    // RUN-EXAMPLE
    func.func @example(%logits: tensor<2x64x129xf32>) {
      %max = galv.cross_entropy_maximum %logits {vocabulary = 257, over = #comm.group<[b = 2]>}
          : (tensor<2x64x129xf32>) -> tensor<2x64xf32>
      return
    }
    ```
  }];
  let arguments = (ins AnyRankedTensor:$logits, I64Attr:$vocabulary,
                       Comm_GroupAttr:$over);
  let results = (outs AnyRankedTensor:$maximum);
}

def Galv_CrossEntropyPartsOp : Galv_LocalOp<"cross_entropy_parts"> {
  let summary = "This rank's sum of exponentials and label's logit";
  let description = [{
    Stands on local shapes only, before an all-reduce of kind `sum`. The first
    dimension of the result counts the two parts.

    ```mlir
    // RUN-EXAMPLE
    func.func @example(%logits: tensor<2x64x129xf32>, %labels: tensor<2x64xi64>, %max: tensor<2x64xf32>) {
      %parts = galv.cross_entropy_parts %logits, %labels, %max {vocabulary = 257, over = #comm.group<[b = 2]>}
          : (tensor<2x64x129xf32>, tensor<2x64xi64>, tensor<2x64xf32>) -> tensor<2x2x64xf32>
      return
    }
    ```
  }];
  let arguments = (ins AnyRankedTensor:$logits, AnyRankedTensor:$labels,
                       AnyRankedTensor:$maximum, I64Attr:$vocabulary,
                       Comm_GroupAttr:$over);
  let results = (outs AnyRankedTensor:$parts);
}

def Galv_CrossEntropyFinishOp : Galv_LocalOp<"cross_entropy_finish"> {
  let summary = "Loss and log-sum-exp from the reduced parts";
  let description = [{
    Stands on local shapes only.

    ```mlir
    // RUN-EXAMPLE
    func.func @example(%max: tensor<2x64xf32>, %parts: tensor<2x2x64xf32>, %labels: tensor<2x64xi64>) {
      %loss, %log_sum_exp = galv.cross_entropy_finish %max, %parts, %labels
          : (tensor<2x64xf32>, tensor<2x2x64xf32>, tensor<2x64xi64>) -> (tensor<f32>, tensor<2x64xf32>)
      return
    }
    ```
  }];
  let arguments = (ins AnyRankedTensor:$maximum, AnyRankedTensor:$parts,
                       AnyRankedTensor:$labels);
  let results = (outs AnyRankedTensor:$loss, AnyRankedTensor:$log_sum_exp);
}

//===----------------------------------------------------------------------===//
// Optimizer
//===----------------------------------------------------------------------===//

def Galv_SumOfSquaresOp : Galv_RuleOp<"sum_of_squares",
    "([i*]) -> [] ; terms (0) ; pad i* ; flat", [{
    Every global element counts once: the result is partial over the axes that
    split the operand.

    ```mlir
    // RUN-EXAMPLE
    #mesh = #galv.mesh<[a = 2, b = 2], time = [m = 2]>
    #rest = #galv.placement<#mesh, [{b}, {} ], flat = {a}>
    #sum = #galv.placement<#mesh, [], partial = {a, b}>
    module attributes {galv.placed} {
      func.func @example(%g: tensor<512x128xf32, #rest>) {
        %s = galv.sum_of_squares %g : (tensor<512x128xf32, #rest>) -> tensor<f32, #sum>
        return
      }
    }
    ```
  }], [Pure]> {
  let summary = "Sum of squares";
  let arguments = (ins AnyRankedTensor:$x);
  let results = (outs AnyRankedTensor:$result);
}

def Galv_ClipCoefficientOp : Galv_RuleOp<"clip_coefficient",
    "([]) -> [],[] ; terms (0) | (0)", [{
    `min(1, clip / (norm + 1e-6))` and the norm itself, as
    `torch.nn.utils.clip_grad_norm_`.

    ```mlir
    // RUN-EXAMPLE
    func.func @example(%squares: tensor<f32>) {
      %c, %norm = galv.clip_coefficient %squares : (tensor<f32>) -> (tensor<f32>, tensor<f32>)
      return
    }
    ```
  }], [Pure]> {
  let summary = "Clip coefficient and gradient norm";
  let arguments = (ins AnyRankedTensor:$sum_of_squares);
  let results = (outs AnyRankedTensor:$coefficient, AnyRankedTensor:$norm);
}

#endif // GALV_GRADIENT_OPS_TD
