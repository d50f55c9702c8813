//===- Checkpoint.cpp - initial values, loading and saving ----------------===//

#include "Checkpoint.h"
#include "Layout.h"
#include "Random.h"
#include "Types.h"

#include <memory>

using namespace galv;

namespace {

/// One layer of a parameter, wherever it lies.
struct Piece {
  const Parameter *parameter;
  int stage;
  int layer;

  const Operand &operand(Part part) const {
    return part == Part::gradients ? parameter->gradient : parameter->rest;
  }
};

template <typename Body>
void forEachPiece(const Program &program, Body body) {
  for (int stage = 0; stage < program.stages.size; ++stage)
    for (const Parameter &parameter : program.stages[stage].parameters)
      for (int i = 0; i < parameter.count; ++i)
        body(Piece{&parameter, stage, parameter.first + i});
}

/// The pieces of this rank that are not copies.
template <typename Body>
void forEachOwnPiece(Context &context, Body body) {
  forEachPiece(context.program(), [&](const Piece &piece) {
    if (piece.stage == context.stageIndex() && !piece.parameter->copy)
      body(piece);
  });
}

std::vector<int64_t> ownCoordinates(Context &context) {
  return galv::coordinatesOf(context.program(), context.world().rank() -
                                                    context.stage().firstRank);
}

std::vector<int64_t> shapeOf(const Parameter &parameter) {
  return {parameter.checkpointShape,
          parameter.checkpointShape + parameter.rank};
}

std::byte *addressOf(Context &context, const Piece &piece, Part part) {
  return context.address(piece.operand(part),
                         piece.layer - piece.parameter->first);
}

std::string text(const std::vector<int64_t> &shape) {
  std::string result = "[";
  for (size_t i = 0; i < shape.size(); ++i)
    result += (i ? ", " : "") + std::to_string(shape[i]);
  return result + "]";
}

/// Draws one piece. `T` is the master type.
template <typename T>
void initializePiece(Context &context, const Piece &piece,
                     const RestLayout &layout) {
  const Parameter &parameter = *piece.parameter;
  T *values = reinterpret_cast<T *>(addressOf(context, piece, Part::values));
  NormalValues normal(context.seed,
                      layerName(parameter.checkpoint, piece.layer));
  layout.forEachRun(
      [&](int64_t local, int64_t at, int64_t stride, int64_t count) {
        for (int64_t i = 0; i < count; ++i)
          switch (parameter.initializer) {
          case Initializer::zeros:
            values[local + i] = 0;
            break;
          case Initializer::ones:
            values[local + i] = 1;
            break;
          case Initializer::normal:
            values[local + i] =
                static_cast<T>(normal(at + i * stride) * parameter.deviation);
            break;
          }
      });
}

/// Adds this rank's elements of a piece to the checkpoint tensor's bytes.
void placePiece(Context &context, const Piece &piece, Part part,
                std::byte *tensor) {
  if (piece.stage != context.stageIndex())
    return;
  RestLayout layout(context.program(), *piece.parameter,
                    ownCoordinates(context));
  if (!layout.owner())
    return;
  int64_t size = sizeOf(piece.parameter->type);
  const std::byte *values = addressOf(context, piece, part);
  layout.forEachRun(
      [&](int64_t local, int64_t at, int64_t stride, int64_t count) {
        if (stride == 1) {
          std::memcpy(tensor + at * size, values + local * size, count * size);
          return;
        }
        for (int64_t i = 0; i < count; ++i)
          std::memcpy(tensor + (at + i * stride) * size,
                      values + (local + i) * size, size);
      });
}

} // namespace

void galv::checkLoadable(const Program &program,
                         const SafeTensorsReader &file) {
  forEachPiece(program, [&](const Piece &piece) {
    if (piece.parameter->copy)
      return;
    std::string name = layerName(piece.parameter->checkpoint, piece.layer);
    const StoredTensor *tensor = file.find(name);
    if (!tensor)
      fail("'", file.path(), "' has no tensor '", name, "', which ",
           program.name, " needs");
    std::vector<int64_t> shape = shapeOf(*piece.parameter);
    if (tensor->shape != shape)
      fail("tensor '", name, "' of '", file.path(), "' has shape ",
           text(tensor->shape), ", ", program.name, " needs ", text(shape));
    if (tensor->format == StoredTensor::other)
      fail("tensor '", name, "' of '", file.path(), "' has elements of type ",
           tensor->formatName, ", not F16, BF16, F32 or F64");
  });
}

void galv::initialize(Context &context) {
  std::vector<int64_t> coordinates = ownCoordinates(context);
  forEachOwnPiece(context, [&](const Piece &piece) {
    RestLayout layout(context.program(), *piece.parameter, coordinates);
    dispatchFloating(piece.parameter->type, [&](auto zero) {
      initializePiece<decltype(zero)>(context, piece, layout);
    });
  });
}

void galv::load(Context &context, const SafeTensorsReader &file) {
  std::vector<int64_t> coordinates = ownCoordinates(context);
  forEachOwnPiece(context, [&](const Piece &piece) {
    const Parameter &parameter = *piece.parameter;
    const StoredTensor *tensor =
        file.find(layerName(parameter.checkpoint, piece.layer));
    std::byte *values = addressOf(context, piece, Part::values);
    int64_t size = sizeOf(parameter.type);
    RestLayout(context.program(), parameter, coordinates)
        .forEachRun(
            [&](int64_t local, int64_t at, int64_t stride, int64_t count) {
              tensor->read(
                  Frame::view(values + local * size, parameter.type, {count}),
                  at, stride);
            });
  });
}

void galv::store(Context &context, Part part, const std::string &path) {
  const Program &program = context.program();
  std::map<std::string, std::vector<Piece>> tensors;
  SafeTensorsWriter::Declarations declarations;
  forEachPiece(program, [&](const Piece &piece) {
    if (piece.parameter->copy != (part == Part::copies))
      return;
    std::string name = layerName(piece.parameter->checkpoint, piece.layer);
    if (part == Part::copies)
      name += std::string("@") + program.stages[piece.stage].name;
    tensors[name].push_back(piece);
    declarations[name] = {piece.parameter->type, shapeOf(*piece.parameter)};
  });

  bool root = context.world().rank() == 0;
  std::unique_ptr<SafeTensorsWriter> writer;
  if (root)
    writer = std::make_unique<SafeTensorsWriter>(path, declarations);
  for (const auto &[name, pieces] : tensors) {
    const Parameter &parameter = *pieces.front().parameter;
    int64_t bytes = checkpointElements(parameter) * sizeOf(parameter.type);
    int64_t words = ceilDivide(bytes, 8);
    std::vector<int64_t> tensor(words, 0);
    for (const Piece &piece : pieces)
      placePiece(context, piece, part,
                 reinterpret_cast<std::byte *>(tensor.data()));
    // Every element is non-zero on one rank at most, so that the sum of the
    // bit patterns is exact, also for -0 and NaN, and no carry leaves an
    // element.
    View view = Frame::view(tensor.data(), Type::i64, {words});
    context.everyone().allReduce(view, view, Communicator::Reduction::sum);
    if (root)
      writer->append(tensor.data(), bytes);
  }
  if (root)
    writer->commit();
}
