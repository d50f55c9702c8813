//===- Attention.cpp - causal attention -----------------------------------===//
//
// ATen's flash attention for the CPU: it takes fp64, gives the log-sum-exp and
// never holds the scores whole. It allocates its results, and its gradients
// work on blocks per head, so that they do not depend on the thread count.
//
//===----------------------------------------------------------------------===//

#include "../Context.h"
#include "Tensors.h"

#include <ATen/ops/_scaled_dot_product_flash_attention_for_cpu.h>
#include <ATen/ops/_scaled_dot_product_flash_attention_for_cpu_backward.h>

#include <cmath>

using namespace galv;

namespace {

/// [batch, sequence, heads * d] as [batch, heads, sequence, d].
at::Tensor heads(const View &view, int64_t d) {
  if (view.rank != 3 || view.shape[2] % d)
    fail("attention: a view of rank ", view.rank, " and last extent ",
         columnsOf(view), " where [batch, sequence, heads * ", d,
         "] is needed");
  return tensor(view, {view.shape[0], view.shape[1], view.shape[2] / d, d})
      .transpose(1, 2);
}

} // namespace

void galv::attention(Context &, View result, View logSumExp, View q, View k,
                     View v, int64_t headDimension) {
  double scale = 1 / std::sqrt(static_cast<double>(headDimension));
  auto [out, lse] = at::_scaled_dot_product_flash_attention_for_cpu(
      heads(q, headDimension), heads(k, headDimension), heads(v, headDimension),
      0, /*is_causal=*/true, {}, scale);
  heads(result, headDimension).copy_(out);
  tensor(logSumExp).copy_(lse);
}

void galv::attention_gradient(Context &, View dq, View dk, View dv,
                              View cotangent, View q, View k, View v,
                              View result, View logSumExp,
                              int64_t headDimension) {
  double scale = 1 / std::sqrt(static_cast<double>(headDimension));
  auto [gq, gk, gv] = at::_scaled_dot_product_flash_attention_for_cpu_backward(
      heads(cotangent, headDimension), heads(q, headDimension),
      heads(k, headDimension), heads(v, headDimension),
      heads(result, headDimension), tensor(logSumExp), 0, /*is_causal=*/true,
      {}, scale);
  heads(dq, headDimension).copy_(gq);
  heads(dk, headDimension).copy_(gk);
  heads(dv, headDimension).copy_(gv);
}
