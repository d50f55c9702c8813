//===- Output.cpp - files that are written whole or not at all ------------===//

#include "lib/Support/Output.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/raw_ostream.h"
#include <cstdio>

using namespace llvm;

static std::error_code writeTo(StringRef path, StringRef text) {
  std::error_code error;
  raw_fd_ostream os(path, error);
  if (error)
    return error;
  os << text;
  os.close();
  error = os.error();
  os.clear_error();
  return error;
}

/// Standard output, checked: a full disk behind a pipe is an error too.
static std::error_code writeStandard(StringRef text) {
  bool good = std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
  good = std::fflush(stdout) == 0 && good;
  return good ? std::error_code()
              : std::error_code(errno, std::generic_category());
}

bool galv::writeOutput(StringRef path, StringRef text) {
  std::error_code error;
  sys::fs::file_status status;
  if (path.empty() || path == "-") {
    path = "standard output";
    error = writeStandard(text);
  } else if (!sys::fs::status(path, status) && sys::fs::exists(status) &&
             status.type() != sys::fs::file_type::regular_file) {
    error = status.type() == sys::fs::file_type::directory_file
                ? std::make_error_code(std::errc::is_a_directory)
                : writeTo(path, text);
  } else {
    SmallString<128> target(path);
    if (sys::fs::real_path(path, target))
      target = path;
    std::string temporary = (target + ".part").str();
    error = writeTo(temporary, text);
    if (!error)
      error = sys::fs::rename(temporary, target);
    if (error)
      sys::fs::remove(temporary);
  }
  if (error)
    errs() << "error: cannot write '" << path << "': " << error.message() << '\n';
  return !error;
}
