//===- Types.h - from element types of views to C++ types -------*- C++ -*-===//

#ifndef GALV_LIB_RUNTIME_TYPES_H
#define GALV_LIB_RUNTIME_TYPES_H

#include "Error.h"
#include "galv/runtime.h"

#include <cstring>

namespace galv {

inline const char *nameOf(Type type) {
  return type == Type::f32 ? "f32" : type == Type::f64 ? "f64" : "i64";
}

/// Calls `body` with a value of the C++ type of a floating-point `type`.
template <typename Body>
void dispatchFloating(Type type, Body &&body) {
  if (type == Type::f32)
    body(float{});
  else if (type == Type::f64)
    body(double{});
  else
    fail("a floating-point type is needed here, not ", nameOf(type));
}

/// The elements of a view whose type is known to be T.
template <typename T>
T *elementsOf(const View &view) {
  return static_cast<T *>(view.data);
}

inline const int64_t *integersOf(const View &view) {
  if (view.type != Type::i64)
    fail("i64 elements are needed here, not ", nameOf(view.type));
  return static_cast<const int64_t *>(view.data);
}

/// The extent of the last dimension (1 for a scalar).
inline int64_t columnsOf(const View &view) {
  return view.rank ? view.shape[view.rank - 1] : 1;
}

/// The product of all extents but the last.
inline int64_t rowsOf(const View &view) {
  int64_t rows = 1;
  for (int i = 0; i + 1 < view.rank; ++i)
    rows *= view.shape[i];
  return rows;
}

/// A view around `dimension` as [outer, extent, inner].
struct Around {
  int64_t outer = 1, extent = 1, inner = 1;

  Around(const View &view, int64_t dimension) {
    if (dimension < 0 || dimension >= view.rank)
      fail("dimension ", dimension, " of a view of rank ", view.rank);
    for (int64_t i = 0; i < view.rank; ++i)
      (i < dimension    ? outer
       : i == dimension ? extent
                        : inner) *= view.shape[i];
  }
};

inline std::byte *bytesOf(const View &view) {
  return static_cast<std::byte *>(view.data);
}

/// A scalar of any floating-point type as a double.
inline double readScalar(const View &view) {
  double value = 0;
  dispatchFloating(
      view.type, [&](auto zero) { value = *elementsOf<decltype(zero)>(view); });
  return value;
}

inline int64_t ceilDivide(int64_t a, int64_t b) { return (a + b - 1) / b; }

} // namespace galv

#endif // GALV_LIB_RUNTIME_TYPES_H
