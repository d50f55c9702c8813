//===- SafeTensors.cpp - the safetensors file format ----------------------===//

#include "SafeTensors.h"
#include "Types.h"

#include <nlohmann/json.hpp>

#include <cmath>
#include <cstring>

using namespace galv;
using Json = nlohmann::json;

namespace {

constexpr int64_t maximumHeader = 100 << 20; // the format's own limit

float fromHalf(uint16_t bits) {
  int exponent = bits >> 10 & 31, mantissa = bits & 1023;
  float value = exponent == 31 ? (mantissa ? NAN : INFINITY)
                : exponent     ? std::ldexp(1024.f + mantissa, exponent - 25)
                               : std::ldexp(static_cast<float>(mantissa), -24);
  return bits >> 15 ? -value : value;
}

float fromBfloat(uint16_t bits) {
  uint32_t word = uint32_t{bits} << 16;
  float value;
  std::memcpy(&value, &word, sizeof value);
  return value;
}

struct FormatInfo {
  const char *name;
  StoredTensor::Format format;
  int64_t bytes;
};
/// Formats whose size is known; `other` ones are checked, and refused only
/// when a program wants to load them.
const FormatInfo formats[] = {
    {"F16", StoredTensor::f16, 2},   {"BF16", StoredTensor::bf16, 2},
    {"F32", StoredTensor::f32, 4},   {"F64", StoredTensor::f64, 8},
    {"I64", StoredTensor::other, 8}, {"U64", StoredTensor::other, 8},
    {"I32", StoredTensor::other, 4}, {"U32", StoredTensor::other, 4},
    {"I16", StoredTensor::other, 2}, {"U16", StoredTensor::other, 2},
    {"I8", StoredTensor::other, 1},  {"U8", StoredTensor::other, 1},
    {"BOOL", StoredTensor::other, 1}};

const FormatInfo *findFormat(const std::string &name) {
  for (const FormatInfo &info : formats)
    if (name == info.name)
      return &info;
  return nullptr;
}

template <typename Stored, typename Result, typename Convert>
void readAs(const std::byte *data, Result *result, int64_t count, int64_t first,
            int64_t stride, Convert convert) {
  for (int64_t i = 0; i < count; ++i) {
    Stored stored; // the data need not be aligned
    std::memcpy(&stored, data + (first + i * stride) * sizeof(Stored),
                sizeof(Stored));
    result[i] = static_cast<Result>(convert(stored));
  }
}

} // namespace

void StoredTensor::read(View result, int64_t first, int64_t stride) const {
  int64_t count = result.elements();
  dispatchFloating(result.type, [&](auto zero) {
    auto *to = elementsOf<decltype(zero)>(result);
    auto same = [](auto value) { return value; };
    switch (format) {
    case f16:
      return readAs<uint16_t>(data, to, count, first, stride, fromHalf);
    case bf16:
      return readAs<uint16_t>(data, to, count, first, stride, fromBfloat);
    case f32:
      return readAs<float>(data, to, count, first, stride, same);
    case f64:
      return readAs<double>(data, to, count, first, stride, same);
    case other:
      fail("elements of type ", formatName, " cannot be loaded");
    }
  });
}

SafeTensorsReader::SafeTensorsReader(const std::string &path) : file(path) {
  auto bad = [&](const auto &...why) {
    fail("'", path, "' is not a safetensors file: ", why...);
  };
  uint64_t length = 0;
  if (file.size() < 8)
    bad("it has ", file.size(), " bytes, fewer than the 8 of a header length");
  std::memcpy(&length, file.data(), 8);
  if (length > static_cast<uint64_t>(std::min(maximumHeader, file.size() - 8)))
    bad("its header of ", length, " bytes does not fit into its ", file.size(),
        " bytes");
  const char *text = reinterpret_cast<const char *>(file.data()) + 8;
  Json header = Json::parse(text, text + length, nullptr, false);
  if (!header.is_object())
    bad("its header is not a JSON object");

  const std::byte *data = file.data() + 8 + length;
  uint64_t dataBytes = file.size() - 8 - length;
  for (const auto &item : header.items()) {
    const std::string &name = item.key();
    const Json &entry = item.value();
    if (name == "__metadata__")
      continue;
    auto natural = [](const Json &value) { return value.is_number_unsigned(); };
    auto list = [&](const char *key) {
      return entry.contains(key) && entry[key].is_array() &&
             std::all_of(entry[key].begin(), entry[key].end(), natural);
    };
    if (!entry.is_object() || !entry.contains("dtype") ||
        !entry["dtype"].is_string() || !list("shape") ||
        !list("data_offsets") || entry["data_offsets"].size() != 2)
      bad("tensor '", name, "' lacks a dtype, shape or data_offsets");
    StoredTensor tensor;
    tensor.formatName = entry["dtype"];
    tensor.shape = entry["shape"].get<std::vector<int64_t>>();
    uint64_t begin = entry["data_offsets"][0], end = entry["data_offsets"][1];
    if (begin > end || end > dataBytes)
      bad("tensor '", name, "' lies at ", begin, " to ", end, " of ", dataBytes,
          " bytes of data");
    const FormatInfo *format = findFormat(tensor.formatName);
    tensor.format = format ? format->format : StoredTensor::other;
    if (format) {
      // In floating point: a product of hostile extents may not fit 64 bits.
      double bytes = static_cast<double>(format->bytes);
      for (int64_t extent : tensor.shape)
        bytes *= static_cast<double>(extent);
      if (bytes != static_cast<double>(end - begin))
        bad("tensor '", name, "' has ", end - begin, " bytes, its shape ",
            entry["shape"].dump(), " of ", tensor.formatName, " needs ", bytes);
    }
    tensor.data = data + begin;
    tensors_.emplace(name, std::move(tensor));
  }
}

const StoredTensor *SafeTensorsReader::find(const std::string &name) const {
  auto found = tensors_.find(name);
  return found == tensors_.end() ? nullptr : &found->second;
}

SafeTensorsWriter::SafeTensorsWriter(const std::string &path,
                                     const Declarations &tensors)
    : file(path) {
  nlohmann::ordered_json header;
  header["__metadata__"] = {{"format", "pt"}};
  int64_t offset = 0;
  for (const auto &[name, tensor] : tensors) {
    int64_t bytes = sizeOf(tensor.type);
    for (int64_t extent : tensor.shape)
      bytes *= extent;
    header[name] = {{"dtype", tensor.type == Type::f32 ? "F32" : "F64"},
                    {"shape", tensor.shape},
                    {"data_offsets", {offset, offset + bytes}}};
    offset += bytes;
  }
  std::string text = header.dump();
  text.resize((text.size() + 7) / 8 * 8, ' '); // aligns the data
  uint64_t length = text.size();
  file.write(&length, sizeof length);
  file.write(text.data(), text.size());
}
