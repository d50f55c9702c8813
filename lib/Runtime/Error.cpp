//===- Error.cpp - errors of the runtime ----------------------------------===//

#include "Error.h"

#include <c10/util/Exception.h>

std::string galv::describe(const std::exception &error) {
  const auto *torch = dynamic_cast<const c10::Error *>(&error);
  std::string text = torch ? torch->what_without_backtrace() : error.what();
  // LibTorch appends hints and stack frames on further lines.
  text = text.substr(0, text.find('\n'));
  return text.empty() ? "unknown failure" : text;
}
