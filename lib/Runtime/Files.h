//===- Files.h - reading and writing whole files ----------------*- C++ -*-===//

#ifndef GALV_LIB_RUNTIME_FILES_H
#define GALV_LIB_RUNTIME_FILES_H

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>

namespace galv {

/// A file mapped read-only into memory.
class MappedFile {
public:
  explicit MappedFile(const std::string &path);
  ~MappedFile();
  MappedFile(const MappedFile &) = delete;
  MappedFile &operator=(const MappedFile &) = delete;

  const std::string &path() const { return path_; }
  const std::byte *data() const { return data_; }
  int64_t size() const { return size_; }

private:
  std::string path_;
  const std::byte *data_ = nullptr;
  int64_t size_ = 0;
};

/// A file that appears under its name only when it is complete: it is written
/// under a temporary name beside it, which `commit` renames. Without `commit`
/// the temporary file goes away.
class AtomicFile {
public:
  explicit AtomicFile(const std::string &path);
  ~AtomicFile();
  AtomicFile(const AtomicFile &) = delete;
  AtomicFile &operator=(const AtomicFile &) = delete;

  void write(const void *data, int64_t bytes);
  void commit();

private:
  std::string path, temporary;
  std::FILE *file;
};

/// Throws where `path` cannot be written; leaves nothing behind.
void checkWritable(const std::string &path);

/// Makes the directory (and those above it) and checks that a file can be
/// written in it.
void makeWritableDirectory(const std::string &path);

} // namespace galv

#endif // GALV_LIB_RUNTIME_FILES_H
