//===- Ranks.cpp - global values on ranks, and back -----------------------===//

#include "test/Unit/Library/Ranks.h"
#include "Error.h"
#include "InProcess.h"
#include "Random.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <map>
#include <tuple>

using namespace galv;
using namespace galv::library;

double Part::get(size_t i) const {
  if (type == Type::i64)
    return static_cast<double>(static_cast<int64_t>(words[i]));
  double value;
  std::memcpy(&value, &words[i], sizeof(value));
  return value;
}

void Part::set(size_t i, double value) {
  if (type == Type::i64)
    words[i] = static_cast<uint64_t>(static_cast<int64_t>(value));
  else
    std::memcpy(&words[i], &value, sizeof(value));
}

//===----------------------------------------------------------------------===//
// Where elements lie
//===----------------------------------------------------------------------===//

int64_t library::getRanks(Span<Axis> mesh) {
  int64_t ranks = 1;
  for (const Axis &axis : mesh)
    ranks *= axis.size;
  return ranks;
}

int64_t library::getElements(const Tensor &tensor) {
  int64_t elements = 1;
  for (int64_t size : tensor.shape)
    elements *= size;
  return elements;
}

static int64_t divideUp(int64_t a, int64_t b) { return (a + b - 1) / b; }

Layout::Layout(const Tensor &tensor, Span<Axis> mesh, int64_t rank) {
  std::vector<int64_t> coordinates(mesh.size);
  for (int64_t axis = mesh.size; axis-- > 0; rank /= mesh[axis].size)
    coordinates[axis] = rank % mesh[axis].size;
  // Coordinate and extent of several axes, major to minor.
  auto combine = [&](Span<int> axes) {
    std::pair<int64_t, int64_t> result{0, 1};
    for (int axis : axes) {
      result.first = result.first * mesh[axis].size + coordinates[axis];
      result.second *= mesh[axis].size;
    }
    return result;
  };
  places = {0};
  for (int64_t dim = 0; dim < tensor.shape.size; ++dim) {
    int64_t size = tensor.shape[dim];
    auto [coordinate, extent] = combine(tensor.axes[dim]);
    int64_t chunk = divideUp(size, extent);
    std::vector<int64_t> finer;
    for (int64_t place : places)
      for (int64_t i = 0; i < chunk; ++i) {
        int64_t row = coordinate * chunk + i;
        finer.push_back(place < 0 || row >= size ? -1 : place * size + row);
      }
    places = finer;
  }
  if (tensor.flat.size) {
    auto [coordinate, extent] = combine(tensor.flat);
    int64_t chunk = divideUp(places.size(), extent);
    places.resize(chunk * extent, -1);
    places = {places.begin() + coordinate * chunk,
              places.begin() + (coordinate + 1) * chunk};
  }
  std::tie(part, parts) = combine(tensor.partial);
}

//===----------------------------------------------------------------------===//
// Drawing, splitting, joining
//===----------------------------------------------------------------------===//

double library::drawNormal(const std::string &name, int64_t index) {
  return NormalValues(1, name)(index);
}

double library::drawWhole(const std::string &name, int64_t index) {
  return static_cast<double>(philox(1, index, hashName(name))[0] % 17) - 8;
}

Values library::draw(const Draw &draw, const std::string &name, int64_t count,
                     Random random) {
  Values values(count);
  for (int64_t i = 0; i < count; ++i) {
    auto bits = philox(1, i, hashName(name));
    double id = draw.bound ? bits[0] % draw.bound : 0;
    switch (draw.kind) {
    case Draw::normal:
      values[i] = random(name, i);
      break;
    case Draw::positive:
      values[i] = std::abs(random(name, i)) + 0.25;
      break;
    case Draw::ids:
      values[i] = id;
      break;
    case Draw::labels:
      values[i] = bits[1] % 4 ? id : -1;
      break;
    }
  }
  return values;
}

std::vector<Part> library::makeEmpty(const Tensor &tensor, Span<Axis> mesh) {
  std::vector<Part> parts;
  for (int64_t rank = 0; rank < getRanks(mesh); ++rank)
    parts.push_back({tensor.type, std::vector<uint64_t>(
                                      Layout(tensor, mesh, rank).places.size(),
                                      0x7ff8badbadbadbad)}); // not a number
  return parts;
}

std::vector<Part> library::split(const Tensor &tensor, Span<Axis> mesh,
                                 const Values &values, const std::string &name,
                                 Random random) {
  std::vector<Part> result = makeEmpty(tensor, mesh);
  for (int64_t rank = 0; rank < getRanks(mesh); ++rank) {
    Layout layout(tensor, mesh, rank);
    for (size_t i = 0; i < layout.places.size(); ++i) {
      int64_t place = layout.places[i];
      if (place < 0) {
        result[rank].set(i, 0);
        continue;
      }
      double value = values[place];
      auto other = [&](int64_t part) {
        return random(name + " parts", place * layout.parts + part);
      };
      int64_t chosen = place % layout.parts;
      if (tensor.max) {
        if (layout.part != chosen)
          value -= 1 + std::abs(other(layout.part));
      } else if (layout.part != chosen) {
        value = other(layout.part);
      } else {
        for (int64_t part = 0; part < layout.parts; ++part)
          if (part != chosen)
            value -= other(part);
      }
      result[rank].set(i, value);
    }
  }
  return result;
}

std::string library::join(const Tensor &tensor, Span<Axis> mesh,
                          const std::vector<Part> &parts, Values &values) {
  // By part and place: who had it first.
  std::map<std::pair<int64_t, int64_t>, std::pair<int64_t, uint64_t>> seen;
  values.assign(getElements(tensor), 0);
  std::vector<int64_t> counts(values.size(), 0);
  int64_t wanted = 1;
  for (int64_t rank = 0; rank < getRanks(mesh); ++rank) {
    Layout layout(tensor, mesh, rank);
    wanted = layout.parts;
    for (size_t i = 0; i < layout.places.size(); ++i) {
      int64_t place = layout.places[i];
      double value = parts[rank].get(i);
      if (place < 0) {
        if (value != 0)
          return "rank " + std::to_string(rank) + " has " +
                 std::to_string(value) + " in its padding, at " +
                 std::to_string(i);
        continue;
      }
      auto [it, fresh] = seen.try_emplace(
          {layout.part, place}, std::make_pair(rank, parts[rank].words[i]));
      if (!fresh) {
        if (it->second.second != parts[rank].words[i])
          return "ranks " + std::to_string(it->second.first) + " and " +
                 std::to_string(rank) + " differ in element " +
                 std::to_string(place);
        continue;
      }
      if (tensor.max && counts[place])
        values[place] = std::max(values[place], value);
      else
        values[place] += value;
      ++counts[place];
    }
  }
  for (int64_t count : counts)
    if (count != wanted)
      return "an element is missing"; // an error of Layout
  return "";
}

double library::getDeviation(const Values &values, const Values &right) {
  double worst = 0, scale = 1e-30;
  for (size_t i = 0; i < right.size(); ++i) {
    double difference = std::abs(values[i] - right[i]);
    if (!(difference <= worst)) // also where it is not a number
      worst = difference;
    scale = std::max(scale, std::abs(right[i]));
    if (worst != worst)
      return worst;
  }
  return worst / scale;
}

//===----------------------------------------------------------------------===//
// Running
//===----------------------------------------------------------------------===//

/// Runs calls [begin, end), whose groups are the same. Returns the number of
/// the one that threw, else `end`.
static size_t runSome(Span<Axis> mesh, const std::vector<Call *> &calls,
                      size_t begin, size_t end) {
  Stage stage{};
  Program program{};
  program.name = "library";
  program.mesh = mesh;
  program.groups = groupings[calls[begin]->what.groups];
  program.stages = {&stage, 1};
  program.microbatches = 1;
  std::atomic<size_t> failed{end};
  int64_t bytes = 0;
  for (size_t i = begin; i < end; ++i)
    bytes = std::max(bytes, functions[calls[i]->what.function].scratch);
  // Ranks copy out of one another's scratch area until the last has ended.
  std::vector<std::vector<uint64_t>> scratch(getRanks(mesh),
                                             std::vector<uint64_t>(bytes / 8));
  try {
    runInProcess(program, [&](Context &context) {
      int rank = context.world().rank();
      // Batch and sequence of the instances of galv.input; ids below 17.
      for (int i = 0; i < 4 * (4 + 1); ++i)
        context.step.samples.push_back(philox(1, i, 0)[0] % 17);
      context.step.clipNorm = 0.5;
      for (size_t i = begin; i < end; ++i) {
        Call &call = *calls[i];
        std::vector<void *> arguments;
        for (auto *tensors : {&call.operands, &call.results})
          for (std::vector<Part> &parts : *tensors)
            arguments.push_back(parts[rank].words.data());
        std::fill(scratch[rank].begin(), scratch[rank].end(),
                  0x7ff8badbadbadbad);
        try {
          functions[call.what.function].function(
              context, {arguments.data(),
                        reinterpret_cast<std::byte *>(scratch[rank].data())});
        } catch (const PeerFailed &) {
          throw;
        } catch (...) {
          size_t first = failed;
          while (i < first && !failed.compare_exchange_weak(first, i)) {
          }
          throw;
        }
      }
    });
  } catch (const std::exception &error) {
    if (failed == end)
      throw; // not one of the functions
    calls[failed]->failure = describe(error);
  }
  return failed;
}

/// The same, whatever fails. What ranks had not reached is run again.
static void runRange(Span<Axis> mesh, const std::vector<Call *> &calls,
                     size_t begin, size_t end) {
  if (begin == end)
    return;
  size_t failed = runSome(mesh, calls, begin, end);
  if (failed == end)
    return;
  runRange(mesh, calls, begin, failed);
  runRange(mesh, calls, failed + 1, end);
}

void library::run(Span<Axis> mesh, std::vector<Call> &calls) {
  std::vector<Call *> order;
  for (Call &call : calls)
    order.push_back(&call);
  std::sort(order.begin(), order.end(), [](const Call *a, const Call *b) {
    return std::tie(a->what.groups, a) < std::tie(b->what.groups, b);
  });
  for (size_t begin = 0, end; begin < order.size(); begin = end) {
    for (end = begin; end < order.size() &&
                      order[end]->what.groups == order[begin]->what.groups;)
      ++end;
    runRange(mesh, order, begin, end);
  }
}
