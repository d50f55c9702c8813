//===- JoinedIntegers.h - Integers joined by commas -------------*- C++ -*-===//

#ifndef GALV_STRATEGY_JOINEDINTEGERS_H
#define GALV_STRATEGY_JOINEDINTEGERS_H

#include "lib/Strategy/Json.h"

namespace galv {

/// One integer of a string, and where it stands.
struct JoinedInteger {
  int64_t value;
  mlir::Location loc;
};

/// The integers of a string as "1,2,2", each in [min, max]. Errors name `key`.
mlir::FailureOr<llvm::SmallVector<JoinedInteger>>
getJoinedIntegers(const json::Node &value, llvm::StringRef key, int64_t min,
                  int64_t max);

} // namespace galv

#endif // GALV_STRATEGY_JOINEDINTEGERS_H
