//===- Linear.cpp - matrix products and pointwise kernels -----------------===//

#include "../Context.h"
#include "Tensors.h"

#include <ATen/ops/add.h>
#include <ATen/ops/addmm.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/gelu_backward.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/sum.h>

using namespace galv;

void galv::linear(Context &, View result, View x, View weight) {
  at::Tensor out = matrix(result);
  at::mm_out(out, matrix(x), tensor(weight).t());
}

void galv::linear(Context &, View result, View x, View weight, View bias) {
  at::Tensor out = matrix(result);
  at::addmm_out(out, tensor(bias), matrix(x), tensor(weight).t());
}

void galv::linear_input_gradient(Context &, View result, View cotangent,
                                 View weight) {
  at::Tensor out = matrix(result);
  at::mm_out(out, matrix(cotangent), tensor(weight));
}

void galv::linear_weight_gradient(Context &, View result, View cotangent,
                                  View x) {
  at::Tensor out = tensor(result);
  at::mm_out(out, matrix(cotangent).t(), matrix(x));
}

void galv::sum_leading(Context &, View result, View x, int64_t leading) {
  int64_t rows = 1, columns = 1;
  for (int64_t i = 0; i < x.rank; ++i)
    (i < leading ? rows : columns) *= x.shape[i];
  if (columns != result.elements())
    fail("sum_leading: ", leading, " dimensions summed leave ", columns,
         " elements, the result has ", result.elements());
  at::Tensor out = tensor(result, {columns});
  at::sum_out(out, tensor(x, {rows, columns}), {0}, false, out.scalar_type());
}

void galv::gelu(Context &, View result, View x) {
  at::Tensor out = tensor(result);
  at::gelu_out(out, tensor(x), "tanh");
}

void galv::gelu_gradient(Context &, View result, View cotangent, View x) {
  at::Tensor out = tensor(result);
  at::gelu_backward_out(out, tensor(cotangent), tensor(x), "tanh");
}

void galv::add(Context &, View result, View a, View b) {
  at::Tensor out = tensor(result);
  at::add_out(out, tensor(a), tensor(b));
}

void galv::accumulate(Context &, View result, View x) {
  at::Tensor out = tensor(result);
  at::add_out(out, out, tensor(x));
}

void galv::scale(Context &, View result, View a, View scalar) {
  at::Tensor out = tensor(result);
  at::mul_out(out, tensor(a), tensor(scalar));
}
