//===- Files.cpp - reading and writing whole files ------------------------===//

#include "Files.h"
#include "Error.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace galv;

static const char *reason() { return std::strerror(errno); }

MappedFile::MappedFile(const std::string &path) : path_(path) {
  int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0)
    fail("cannot read '", path, "': ", reason());
  struct stat status;
  if (fstat(file, &status) || !S_ISREG(status.st_mode)) {
    close(file);
    fail("cannot read '", path, "': not a regular file");
  }
  size_ = status.st_size;
  void *memory =
      size_ ? mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, file, 0) : nullptr;
  int error = errno;
  close(file);
  if (memory == MAP_FAILED)
    fail("cannot read '", path, "': ", std::strerror(error));
  data_ = static_cast<const std::byte *>(memory);
}

MappedFile::~MappedFile() {
  if (data_)
    munmap(const_cast<std::byte *>(data_), size_);
}

/// Where a link leads to; the path itself where there is none.
static std::string followLinks(const std::string &path) {
  std::error_code error;
  std::filesystem::path target = std::filesystem::canonical(path, error);
  return error ? path : target.string();
}

AtomicFile::AtomicFile(const std::string &given)
    : path(followLinks(given)),
      temporary(path + ".tmp" + std::to_string(getpid())) {
  if (std::filesystem::is_directory(path))
    fail("cannot write '", path, "': it is a directory");
  // Renaming a file over a device would remove the device.
  if (std::filesystem::exists(path) && !std::filesystem::is_regular_file(path))
    fail("cannot write '", path, "': it is not a regular file");
  file = std::fopen(temporary.c_str(), "wb");
  if (!file)
    fail("cannot write '", path, "': ", reason());
}

AtomicFile::~AtomicFile() {
  if (!file)
    return;
  std::fclose(file);
  std::remove(temporary.c_str());
}

void AtomicFile::write(const void *data, int64_t bytes) {
  if (bytes && std::fwrite(data, 1, bytes, file) != static_cast<size_t>(bytes))
    fail("cannot write '", path, "': ", reason());
}

void AtomicFile::commit() {
  // On the disk before the name appears, or a crash could leave an empty file.
  bool good = !std::fflush(file) && !fsync(fileno(file));
  good = !std::fclose(file) && good;
  file = nullptr;
  if (!good || std::rename(temporary.c_str(), path.c_str())) {
    int error = errno;
    std::remove(temporary.c_str());
    fail("cannot write '", path, "': ", std::strerror(error));
  }
}

void galv::checkWritable(const std::string &path) {
  AtomicFile probe(path);
  if (std::filesystem::exists(path) && access(path.c_str(), W_OK))
    fail("cannot write '", path, "': ", reason());
}

void galv::makeWritableDirectory(const std::string &path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error)
    fail("cannot make directory '", path, "': ", error.message());
  checkWritable(path + "/model.safetensors");
}
