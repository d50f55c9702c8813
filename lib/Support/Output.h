//===- Output.h - files that are written whole or not at all ----*- C++ -*-===//

#ifndef GALV_SUPPORT_OUTPUT_H
#define GALV_SUPPORT_OUTPUT_H

#include "llvm/ADT/StringRef.h"

namespace galv {

/// Writes `text` to a file by way of a temporary one beside it; a link is
/// followed, a device is written to as it is, "-" or nothing is standard
/// output. False, after one error line on stderr, where that fails.
bool writeOutput(llvm::StringRef path, llvm::StringRef text);

} // namespace galv

#endif // GALV_SUPPORT_OUTPUT_H
