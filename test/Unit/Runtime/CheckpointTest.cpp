//===- CheckpointTest.cpp - safetensors, initial values, layouts ----------===//

#include "Checkpoint.h"
#include "Support.h"

#include <cstring>
#include <unistd.h>

using namespace galv;
using namespace galv::test;

namespace {

std::string temporary(const std::string &name) {
  return testing::TempDir() + "galv_" + std::to_string(getpid()) + "_" + name;
}

void writeFile(const std::string &path, const std::string &header,
               const std::string &data) {
  std::FILE *file = std::fopen(path.c_str(), "wb");
  uint64_t length = header.size();
  std::fwrite(&length, 1, 8, file);
  std::fwrite(header.data(), 1, header.size(), file);
  std::fwrite(data.data(), 1, data.size(), file);
  std::fclose(file);
}

std::string errorOf(const std::function<void()> &body) {
  try {
    body();
  } catch (const Error &error) {
    return error.what();
  }
  return "no error";
}

TEST(SafeTensorsTest, RoundTrip) {
  std::string path = temporary("round.safetensors");
  auto a = normal<float>("a", {2, 3});
  auto b = normal<double>("b", {5});
  {
    SafeTensorsWriter writer(
        path, {{"b", {Type::f64, {5}}}, {"a", {Type::f32, {2, 3}}}});
    writer.append(a.values.data(), 24);
    writer.append(b.values.data(), 40);
    // Nothing under the name before the commit.
    EXPECT_NE(errorOf([&] { SafeTensorsReader reader(path); }), "no error");
    writer.commit();
  }
  SafeTensorsReader reader(path);
  ASSERT_EQ(reader.tensors().size(), 2u);
  EXPECT_EQ(reader.find("a")->shape, (std::vector<int64_t>{2, 3}));
  Tensor<float> ra({2, 3});
  Tensor<double> rb({5}), column({2});
  reader.find("a")->read(ra, 0, 1);
  reader.find("b")->read(rb, 0, 1);
  reader.find("a")->read(column, 1, 3); // converted, strided
  EXPECT_EQ(ra.values, a.values);
  EXPECT_EQ(rb.values, b.values);
  EXPECT_EQ(column.values, (std::vector<double>{a[1], a[4]}));
  EXPECT_EQ(reader.find("c"), nullptr);
  std::remove(path.c_str());
}

TEST(SafeTensorsTest, HalfFormats) {
  std::string path = temporary("half.safetensors");
  // 1.5, -2, smallest subnormal, infinity; and 1.5, -2 in bfloat.
  std::string data("\x00\x3e\x00\xc0\x01\x00\x00\x7c\xc0\x3f\x00\xc0", 12);
  writeFile(path,
            R"({"h":{"dtype":"F16","shape":[4],"data_offsets":[0,8]},)"
            R"("b":{"dtype":"BF16","shape":[2],"data_offsets":[8,12]}})",
            data);
  SafeTensorsReader reader(path);
  Tensor<double> h({4}), b({2});
  reader.find("h")->read(h, 0, 1);
  reader.find("b")->read(b, 0, 1);
  EXPECT_EQ(h.values,
            (std::vector<double>{1.5, -2, std::ldexp(1, -24), HUGE_VAL}));
  EXPECT_EQ(b.values, (std::vector<double>{1.5, -2}));
  std::remove(path.c_str());
}

TEST(SafeTensorsTest, MalformedFilesAreRefused) {
  std::string path = temporary("bad.safetensors");
  const char *headers[] = {
      "",
      "[]",
      "{",
      "{\"a\":3}",
      R"({"a":{"dtype":"F32","shape":[2]}})",
      R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}})",
      R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[8,16]}})",
      R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[8,0]}})",
      R"({"a":{"dtype":"F32","shape":[-2],"data_offsets":[0,8]}})",
      R"({"a":{"dtype":"F32","shape":["2"],"data_offsets":[0,8]}})",
      R"({"a":{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,0]}})"};
  for (const char *header : headers) {
    writeFile(path, header, "01234567");
    std::string error = errorOf([&] { SafeTensorsReader reader(path); });
    EXPECT_EQ(error.find("'" + path + "' is not a safetensors file: "), 0u)
        << header << ": " << error;
  }
  writeFile(path, R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})",
            "01234567");
  SafeTensorsReader good(path);
  std::FILE *file = std::fopen(path.c_str(), "wb");
  std::fputs("short", file);
  std::fclose(file);
  EXPECT_NE(errorOf([&] { SafeTensorsReader reader(path); }), "no error");
  std::remove(path.c_str());
}

/// A program of one stage on a 2 x 3 mesh with a few parameters at rest in
/// hard placements.
struct Placed {
  Axis mesh[2];
  int a[1] = {0}, b[1] = {1}, ab[2] = {0, 1};
  GroupDescription groups[1] = {{{}, false}};
  Parameter parameters[4] = {};
  Stage stage{};
  Program program{};

  Placed(int64_t sizeA, int64_t sizeB, bool split)
      : mesh{{"a", sizeA}, {"b", sizeB}} {
    int64_t offset = 0;
    auto make = [&](int which, const char *name, int rank, int64_t n, int64_t k,
                    int count) -> Parameter & {
      Parameter &p = parameters[which];
      p.checkpoint = name;
      p.type = Type::f64;
      p.rank = rank;
      p.shape[0] = p.checkpointShape[0] = n;
      p.shape[1] = p.checkpointShape[1] = k;
      p.initializer = Initializer::normal;
      p.deviation = 0.5;
      p.count = count;
      p.rest = {offset, n * std::max<int64_t>(k, 1) * 8 + 64, false};
      p.gradient = p.rest;
      offset += count * p.rest.layerStride;
      return p;
    };
    // Two parts of one transposed tensor of shape [5, 14], for three layers:
    // rows 7 and 7 of its transpose.
    for (int part : {0, 1}) {
      Parameter &p = make(part, "h.{layer}.qk.weight", 2, 7, 5, 3);
      p.first = 4;
      p.checkpointShape[0] = 5;
      p.checkpointShape[1] = 14;
      p.checkpointOffset[1] = part * 7;
      p.transposed = true;
    }
    Parameter &table = make(2, "wte.weight", 2, 11, 6, 1);
    Parameter &vector = make(3, "norm.weight", 1, 5, 0, 1);
    if (split) {
      parameters[0].axes[0] = b;  // 7 rows over 3: 3, 3, 1
      parameters[0].flatAxes = a; // and 15 elements over 2
      parameters[1].axes[1] = b;  // 5 columns over 3: 2, 2, 1
      table.axes[0] = ab;         // 11 rows over 6: 2, ..., 1
      vector.flatAxes = ab;       // 5 elements over 6: one rank has none
    }
    stage.name = "all";
    stage.arenaBytes = offset;
    stage.parameters = parameters;
    program.name = "placed";
    program.mesh = mesh;
    program.groups = groups;
    program.stages = {&stage, 1};
  }
  Placed(const Placed &) = delete;
};

std::string readWhole(const std::string &path) {
  MappedFile file(path);
  return {reinterpret_cast<const char *>(file.data()),
          static_cast<size_t>(file.size())};
}

TEST(CheckpointTest, FilesDoNotDependOnTheSplit) {
  Placed whole(1, 1, false), split(2, 3, true);
  std::string one = temporary("one.safetensors");
  std::string six = temporary("six.safetensors");
  auto make = [](const std::string &path) {
    return [path](Context &c) {
      c.seed = 5;
      initialize(c);
      store(c, Part::values, path);
    };
  };
  runInProcess(whole.program, make(one));
  runInProcess(split.program, make(six));
  EXPECT_EQ(readWhole(one), readWhole(six));

  // The values are the documented function of name and index.
  SafeTensorsReader reader(one);
  EXPECT_EQ(reader.tensors().size(), 5u);
  Tensor<double> values({5, 14});
  reader.find("h.5.qk.weight")->read(values, 0, 1);
  NormalValues expected(5, "h.5.qk.weight");
  for (int i = 0; i < values.size(); ++i)
    EXPECT_EQ(values[i], expected(i) * 0.5);

  // And load again, under either split.
  for (Placed *placed : {&whole, &split}) {
    std::string again = temporary("again.safetensors");
    checkLoadable(placed->program, reader);
    runInProcess(placed->program, [&](Context &c) {
      load(c, reader);
      store(c, Part::values, again);
    });
    EXPECT_EQ(readWhole(again), readWhole(one));
    std::remove(again.c_str());
  }
  whole.parameters[2].checkpointShape[0] = 12;
  EXPECT_EQ(errorOf([&] { checkLoadable(whole.program, reader); }),
            "tensor 'wte.weight' of '" + one +
                "' has shape [11, 6], placed needs [12, 6]");
  whole.parameters[2].checkpoint = "wpe.weight";
  EXPECT_EQ(errorOf([&] { checkLoadable(whole.program, reader); }),
            "'" + one + "' has no tensor 'wpe.weight', which placed needs");
  std::remove(one.c_str());
  std::remove(six.c_str());
}

} // namespace
