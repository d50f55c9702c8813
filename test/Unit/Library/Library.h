//===- Library.h - bare functions and what they should compute --*- C++ -*-===//
//
// What `galv-op-library` emits and LibraryTest.cpp runs: every operation on
// every legal split, its derivative, and redistributions between all pairs of
// placements. Functions with the same code are one function.
//
//===----------------------------------------------------------------------===//

#ifndef GALV_TEST_UNIT_LIBRARY_LIBRARY_H
#define GALV_TEST_UNIT_LIBRARY_LIBRARY_H

#include "galv/runtime.h"

namespace galv::library {

/// One emitted function, with the scratch area that it needs.
struct Code {
  Function function;
  int64_t scratch;
};

/// A tensor of global `shape` and how it is placed: the axes of each dimension,
/// then of the flattened rest, and those over which it is partial.
struct Tensor {
  Type type;
  Span<int64_t> shape;
  Span<Span<int>> axes;
  Span<int> flat, partial;
  bool max;
  const char *text;
};

/// What an operand is drawn from; ids and labels lie below `bound`.
struct Draw {
  enum Kind : uint8_t { normal, positive, ids, labels } kind;
  int64_t bound;
};

/// A function, what its groups are and its types: indices into `functions`,
/// `groupings` and `tensors`.
struct Case {
  int function, groups;
  Span<int> operands, results;
};

/// One instance of an operation.
struct Instance {
  const char *name;
  const char *operation;
  Span<Draw> draws;
  Case whole;        // on one rank
  Span<Case> splits; // on the square
  /// On one rank: operands, then the cotangent of the first result; gives the
  /// cotangents of the operands in `needed`. None where `needed` is empty.
  Case derivative;
  Span<int> needed;
};

/// `function` takes placement `from` to placement `to`.
struct Move {
  int function, groups, from, to;
};

/// All pairs of placements of one shape on the cube.
struct Movement {
  const char *shape;
  Span<Move> moves;
};

extern const Span<Axis> one, square, cube; // meshes [], [2, 2] and [2, 2, 2]
extern const Span<Code> functions;
extern const Span<Span<GroupDescription>> groupings;
extern const Span<Tensor> tensors;
extern const Span<Instance> instances;
extern const Span<Movement> movements;

} // namespace galv::library

#endif // GALV_TEST_UNIT_LIBRARY_LIBRARY_H
