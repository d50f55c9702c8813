//===- Rows.cpp - calls as loops over layers ------------------------------===//

#include "lib/Target/LibTorch/Rows.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace galv;

OperandPattern galv::getPattern(Value buffer) {
  auto op = buffer.getDefiningOp<rank::BufferOp>();
  return {op.getOffset() ? static_cast<int64_t>(*op.getOffset()) : -1, 0,
          op.getKind() == "slotted", 0};
}

/// Fits `base + i * stride + (i odd) * alternate` to addresses.
static bool fitPattern(ArrayRef<int64_t> addresses, OperandPattern &pattern) {
  pattern.base = addresses[0];
  if (addresses.size() > 2)
    pattern.stride = (addresses[2] - addresses[0]) / 2;
  else if (addresses.size() > 1)
    pattern.stride = addresses[1] - addresses[0];
  if (addresses.size() > 1)
    pattern.alternate = addresses[1] - addresses[0] - pattern.stride;
  for (auto [i, address] : llvm::enumerate(addresses))
    if (address != pattern.base + static_cast<int64_t>(i) * pattern.stride +
                       (i & 1 ? pattern.alternate : 0))
      return false;
  return true;
}

namespace {
/// A loop candidate: `body` calls from `begin`, `count` times.
class LoopFinder {
public:
  explicit LoopFinder(ArrayRef<rank::CallOp> calls)
      : calls(calls.begin(), calls.end()) {}

  /// The longest loop that starts at `begin`, as rows.
  SmallVector<RowPattern> find(size_t begin) {
    size_t bestCovered = 0, bestBody = 1, bestCount = 1;
    for (size_t body = 1; body <= 6 && begin + 2 * body <= calls.size();
         ++body) {
      size_t count = 1;
      while (begin + (count + 1) * body <= calls.size() &&
             fits(begin, body, count + 1))
        ++count;
      if (count > 1 && count * body > bestCovered) {
        bestCovered = count * body;
        bestBody = body;
        bestCount = count;
      }
    }
    SmallVector<RowPattern> rows;
    for (size_t k = 0; k < bestBody; ++k)
      rows.push_back(makeRow(begin + k, bestBody, bestCount));
    rows.front().body = bestBody;
    return rows;
  }

private:
  int64_t getStep(size_t begin, size_t body) {
    return static_cast<int64_t>(calls[begin + body].getBlock()) -
           static_cast<int64_t>(calls[begin].getBlock());
  }
  /// Whether iteration `count - 1` continues the loop.
  bool fits(size_t begin, size_t body, size_t count) {
    for (size_t k = 0; k < body; ++k) {
      rank::CallOp first = calls[begin + k];
      rank::CallOp last = calls[begin + (count - 1) * body + k];
      int64_t step = getStep(begin + k, body);
      if (!first.getLayer() || !last.getLayer() ||
          first.getCallee() != last.getCallee() ||
          first.getAction() != last.getAction() || (step != 1 && step != -1) ||
          step != getStep(begin, body) ||
          static_cast<int64_t>(last.getBlock() - first.getBlock()) !=
              step * static_cast<int64_t>(count - 1))
        return false;
      for (size_t o = 0; o < first.getOperands().size(); ++o) {
        OperandPattern pattern;
        if (getPattern(first.getOperands()[o]).slotted !=
                getPattern(last.getOperands()[o]).slotted ||
            !fitPattern(getAddresses(begin + k, body, count, o), pattern))
          return false;
      }
    }
    return true;
  }
  SmallVector<int64_t> getAddresses(size_t begin, size_t body, size_t count,
                                    size_t operand) {
    SmallVector<int64_t> addresses;
    for (size_t i = 0; i < count; ++i)
      addresses.push_back(
          getPattern(calls[begin + i * body].getOperands()[operand]).base);
    return addresses;
  }
  RowPattern makeRow(size_t begin, size_t body, size_t count) {
    RowPattern row;
    row.call = calls[begin];
    row.count = count;
    row.layerStep = count > 1 ? getStep(begin, body) : 1;
    for (size_t o = 0; o < calls[begin].getOperands().size(); ++o) {
      OperandPattern pattern = getPattern(calls[begin].getOperands()[o]);
      fitPattern(getAddresses(begin, body, count, o), pattern);
      row.operands.push_back(pattern);
    }
    return row;
  }

  SmallVector<rank::CallOp> calls;
};
} // namespace

SmallVector<RowPattern> galv::compressRows(rank::SegmentOp segment) {
  SmallVector<rank::CallOp> calls(
      segment.getBody().front().getOps<rank::CallOp>());
  LoopFinder finder(calls);
  SmallVector<RowPattern> rows;
  for (size_t begin = 0; begin < calls.size();) {
    SmallVector<RowPattern> loop = finder.find(begin);
    for (RowPattern &row : loop)
      begin += row.count;
    llvm::append_range(rows, loop);
  }
  return rows;
}

/// "transformer.h.3.ln_1.weight" with prefix "h" as layer 3 of
/// "transformer.h.{layer}.ln_1.weight".
static std::string splitLayer(StringRef name, StringRef prefix,
                              std::optional<int64_t> &layer) {
  std::string mark = (prefix + ".").str();
  size_t at = name.find(mark);
  while (at != StringRef::npos && at != 0 && name[at - 1] != '.')
    at = name.find(mark, at + 1);
  int64_t number;
  StringRef rest = at == StringRef::npos ? "" : name.substr(at + mark.size());
  if (at == StringRef::npos || rest.consumeInteger(10, number) ||
      !rest.starts_with("."))
    return name.str();
  layer = number;
  return (name.take_front(at) + mark + "{layer}" + rest).str();
}

SmallVector<ParameterFamily> galv::collectParameters(rank::StageOp stage,
                                                     rank::ProgramOp program) {
  SymbolTable symbols(program->getParentOfType<ModuleOp>());
  llvm::MapVector<StringRef, ParameterFamily> single;
  for (auto buffer : stage.getOps<rank::BufferOp>()) {
    if (!buffer.getParameter())
      continue;
    auto op = symbols.lookup<ParameterOp>(*buffer.getParameter());
    ParameterFamily &family = single[op.getSymName()];
    family.op = op;
    int index = llvm::StringSwitch<int>(buffer.getKind())
                    .Case("rest", 0)
                    .Case("gradient", 1)
                    .Case("exp_avg", 2)
                    .Default(3);
    family.storage[index] = getPattern(buffer.getResult());
  }
  // Families whose members follow one another at one distance.
  SmallVector<ParameterFamily> families;
  llvm::StringMap<size_t> last;
  for (auto &[name, family] : single) {
    std::optional<int64_t> layer;
    CheckpointAttr view = family.op.getCheckpoint();
    family.checkpoint =
        splitLayer(view.getName(), program.getLayerPrefix(), layer);
    family.first = layer.value_or(0);
    std::string key;
    llvm::raw_string_ostream(key)
        << family.checkpoint << view.getOffset()[0] << ','
        << view.getOffset().back() << family.op.getRestType()
        << family.op.getInitializer();
    auto it = last.find(key);
    if (layer && it != last.end()) {
      ParameterFamily &whole = families[it->second];
      bool follows = family.first == whole.first + whole.count;
      for (int i = 0; i < 4 && follows; ++i) {
        int64_t distance = family.storage[i].base - whole.storage[i].base;
        follows = whole.count == 1 ||
                  distance == whole.storage[i].stride * whole.count;
      }
      if (follows) {
        for (int i = 0; i < 4; ++i)
          if (whole.count == 1)
            whole.storage[i].stride =
                family.storage[i].base - whole.storage[i].base;
        ++whole.count;
        continue;
      }
    }
    last[key] = families.size();
    families.push_back(family);
  }
  return families;
}
