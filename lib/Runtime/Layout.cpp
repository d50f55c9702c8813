//===- Layout.cpp - from elements at rest to the checkpoint ---------------===//

#include "Layout.h"
#include "Types.h"

using namespace galv;

namespace {

/// A split over some mesh axes, major to minor.
struct Split {
  int64_t chunks = 1, chunk = 0;
};

Split splitOver(const Program &program, Span<int> axes,
                const std::vector<int64_t> &coordinates) {
  Split split;
  for (int axis : axes) {
    split.chunk = split.chunk * program.mesh[axis].size + coordinates[axis];
    split.chunks *= program.mesh[axis].size;
  }
  return split;
}

} // namespace

RestLayout::RestLayout(const Program &program, const Parameter &parameter,
                       const std::vector<int64_t> &coordinates) {
  // A vector is a matrix of one column.
  int64_t shape[2] = {parameter.shape[0],
                      parameter.rank == 2 ? parameter.shape[1] : 1};
  int64_t local[2], start[2], valid[2];
  for (int d = 0; d < 2; ++d) {
    Split split = splitOver(program, parameter.axes[d], coordinates);
    local[d] = ceilDivide(shape[d], split.chunks);
    start[d] = split.chunk * local[d];
    valid[d] = std::clamp<int64_t>(shape[d] - start[d], 0, local[d]);
  }
  columns = local[1];
  validRows = valid[0];
  validColumns = valid[1];

  Split flat = splitOver(program, parameter.flatAxes, coordinates);
  int64_t piece = ceilDivide(local[0] * local[1], flat.chunks);
  begin = flat.chunk * piece;
  end = begin + piece;

  if (parameter.rank == 2) {
    int64_t width = parameter.checkpointShape[1];
    rowStride = parameter.transposed ? 1 : width;
    columnStride = parameter.transposed ? width : 1;
    origin =
        parameter.checkpointOffset[0] * width + parameter.checkpointOffset[1];
  } else {
    rowStride = columnStride = 1;
    origin = parameter.checkpointOffset[0];
  }
  origin += start[0] * rowStride + start[1] * columnStride;

  std::vector<bool> used(program.mesh.size, false);
  for (Span<int> axes :
       {parameter.axes[0], parameter.axes[1], parameter.flatAxes})
    for (int axis : axes)
      used[axis] = true;
  owner_ = true;
  for (int64_t axis = 0; axis < program.mesh.size; ++axis)
    owner_ &= used[axis] || coordinates[axis] == 0;
}

std::string galv::layerName(const char *pattern, int layer) {
  std::string name = pattern;
  static const std::string place = "{layer}";
  if (size_t at = name.find(place); at != std::string::npos)
    name.replace(at, place.size(), std::to_string(layer));
  return name;
}

int64_t galv::checkpointElements(const Parameter &parameter) {
  return parameter.checkpointShape[0] *
         (parameter.rank == 2 ? parameter.checkpointShape[1] : 1);
}

std::vector<int64_t> galv::coordinatesOf(const Program &program,
                                         int64_t position) {
  std::vector<int64_t> coordinates(program.mesh.size);
  for (int64_t axis = program.mesh.size; axis-- > 0;) {
    coordinates[axis] = position % program.mesh[axis].size;
    position /= program.mesh[axis].size;
  }
  return coordinates;
}
