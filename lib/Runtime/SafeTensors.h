//===- SafeTensors.h - the safetensors file format --------------*- C++ -*-===//
//
// 8 bytes length of the header (little endian), the header (JSON: name to
// dtype, shape and data_offsets, relative to the header's end), the data. Both
// classes work one tensor at a time, so that no rank needs a whole model in
// memory.
//
//===----------------------------------------------------------------------===//

#ifndef GALV_LIB_RUNTIME_SAFETENSORS_H
#define GALV_LIB_RUNTIME_SAFETENSORS_H

#include "Files.h"
#include "galv/runtime.h"

#include <map>
#include <string>
#include <vector>

namespace galv {

/// A tensor of a file that is open. Floating-point of 16, 32 or 64 bits.
struct StoredTensor {
  enum Format { f16, bf16, f32, f64, other } format;
  std::string formatName;
  std::vector<int64_t> shape;
  const std::byte *data;

  /// result[i] = element `first + i * stride` of the row-major tensor.
  void read(View result, int64_t first, int64_t stride) const;
};

class SafeTensorsReader {
public:
  /// Checks the whole header: a file that opens has no tensor outside of it.
  explicit SafeTensorsReader(const std::string &path);

  const std::string &path() const { return file.path(); }
  /// Null where the file has no such tensor.
  const StoredTensor *find(const std::string &name) const;
  const std::map<std::string, StoredTensor> &tensors() const {
    return tensors_;
  }

private:
  MappedFile file;
  std::map<std::string, StoredTensor> tensors_;
};

/// Writes tensors in the order of their names, whatever order the caller
/// declares them in, so that a file is a function of its content.
class SafeTensorsWriter {
public:
  struct Declaration {
    Type type; // f32 or f64
    std::vector<int64_t> shape;
  };
  using Declarations = std::map<std::string, Declaration>;

  SafeTensorsWriter(const std::string &path, const Declarations &tensors);
  /// Appends the data of the next tensor in the order of names.
  void append(const void *data, int64_t bytes) { file.write(data, bytes); }
  /// Makes the file appear under its name.
  void commit() { file.commit(); }

private:
  AtomicFile file;
};

} // namespace galv

#endif // GALV_LIB_RUNTIME_SAFETENSORS_H
