//===- JoinedIntegers.cpp - Integers joined by commas ---------------------===//

#include "lib/Strategy/JoinedIntegers.h"

using namespace galv;
using namespace mlir;

FailureOr<SmallVector<JoinedInteger>>
galv::getJoinedIntegers(const json::Node &value, StringRef key, int64_t min,
                        int64_t max) {
  if (!value.is(json::Kind::string))
    return value.emitError() << "'" << key << "' must be a string of integers "
                             << "joined by commas, found " << value.describe();
  StringRef whole = value.string;
  SmallVector<StringRef> tokens;
  whole.split(tokens, ',');
  SmallVector<JoinedInteger> integers;
  for (StringRef token : tokens) {
    StringRef digits = token.trim(' ');
    JoinedInteger integer{0, value.getLoc(digits.data() - whole.data())};
    if (digits.getAsInteger(10, integer.value))
      return emitError(integer.loc) << "'" << key << "' has '" << digits
                                    << "' where an integer must stand";
    if (integer.value < min || integer.value > max) {
      InFlightDiagnostic diagnostic = emitError(integer.loc)
                                      << "'" << key << "' has " << integer.value
                                      << ", it must be ";
      if (max == json::maxCount)
        return diagnostic << "at least " << min << " and at most " << max;
      return diagnostic << min << " or " << max;
    }
    integers.push_back(integer);
  }
  return integers;
}
