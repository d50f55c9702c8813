//===- Tensors.h - views as ATen tensors ------------------------*- C++ -*-===//
//
// Kernels that ATen does well are its `_out` forms on tensors that borrow the
// views' memory. Included by those kernels only: ATen's headers are slow.
//
//===----------------------------------------------------------------------===//

#ifndef GALV_LIB_RUNTIME_KERNELS_TENSORS_H
#define GALV_LIB_RUNTIME_KERNELS_TENSORS_H

#include "../Types.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/from_blob.h>

namespace galv {

inline at::Tensor tensor(const View &view, at::IntArrayRef shape) {
  at::ScalarType type = view.type == Type::f32   ? at::kFloat
                        : view.type == Type::f64 ? at::kDouble
                                                 : at::kLong;
  return at::from_blob(view.data, shape, at::TensorOptions().dtype(type));
}

inline at::Tensor tensor(const View &view) {
  return tensor(view, at::IntArrayRef(view.shape, view.rank));
}

/// The leading dimensions as one.
inline at::Tensor matrix(const View &view) {
  return tensor(view, {rowsOf(view), columnsOf(view)});
}

} // namespace galv

#endif // GALV_LIB_RUNTIME_KERNELS_TENSORS_H
