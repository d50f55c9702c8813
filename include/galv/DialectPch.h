//===- DialectPch.h - the precompiled header behind the dialects ----------===//
//
// What passes, targets and tools include: MLIR and galv's own dialects.
//
//===----------------------------------------------------------------------===//

#ifndef GALV_DIALECTPCH_H
#define GALV_DIALECTPCH_H

#include "galv/Pch.h"

#include "dialects/Rank/Rank.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

#endif // GALV_DIALECTPCH_H
