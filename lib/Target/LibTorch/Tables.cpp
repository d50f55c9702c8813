//===- Tables.cpp - segments, order and parameters as data ----------------===//

#include "lib/Analysis/Outline.h"
#include "lib/Target/LibTorch/Printer.h"
#include "lib/Target/LibTorch/Rows.h"
#include "llvm/Support/Format.h"

using namespace mlir;
using namespace galv;

SmallVector<int> GroupTable::getAxes(comm::GroupAttr group) const {
  SmallVector<int> axes;
  if (!group.getAcross())
    for (StringAttr name : group.getNames())
      axes.push_back(mesh.lookup(name.getValue()));
  return axes;
}

std::string ArrayTable::add(StringRef type, StringRef stem,
                            ArrayRef<std::string> elements) {
  if (elements.empty())
    return "{}";
  std::string body;
  for (const std::string &element : elements)
    body += "\n    " + element + ",";
  std::string key = (type + body).str();
  auto [it, fresh] = names.try_emplace(key);
  if (fresh) {
    int number = stems[stem]++;
    it->second = stem.str() + (number ? "_" + std::to_string(number) : "");
    os << "const " << type << ' ' << it->second << "[] = {" << body << "};\n";
  }
  return it->second;
}

static std::string getOperand(const OperandPattern &operand) {
  std::string text = "{" + std::to_string(operand.base) + ", " +
                     std::to_string(operand.stride) + ", " +
                     (operand.slotted ? "true" : "false");
  if (operand.alternate)
    text += ", " + std::to_string(operand.alternate);
  return text + "}";
}

static std::string getAxisArray(ArrayTable &arrays, ArrayRef<int32_t> axes) {
  SmallVector<std::string> elements;
  for (int32_t axis : axes)
    elements.push_back(std::to_string(axis));
  return arrays.add("int", "axes", elements);
}

namespace {
/// Prints one stage's arrays and gives the stage's own entry.
class StagePrinter {
public:
  StagePrinter(rank::StageOp stage, rank::ProgramOp program, ArrayTable &arrays)
      : stage(stage), program(program), arrays(arrays) {}

  std::string print() {
    std::string text;
    llvm::raw_string_ostream os(text);
    os << '{' << quote(stage.getSymName()) << ", " << stage.getFirstRank()
       << ", " << *stage.getArena() << ", " << *stage.getScratch() << ", "
       << *stage.getSlotStride() << ", " << stage.getSlots() << ",\n     "
       << printSegments() << ", " << printTransfers() << ", " << printOrder()
       << ", " << printParameters() << '}';
    return text;
  }

private:
  std::string getBlockName(int64_t block) {
    bool layer =
        block >= 1 && block <= static_cast<int64_t>(program.getLayers());
    return layer        ? (program.getLayerPrefix() + ".{layer}").str()
           : block == 0 ? "embedding"
                        : "head";
  }
  std::string printSegments() {
    SmallVector<std::string> segments;
    for (auto segment : stage.getOps<rank::SegmentOp>()) {
      SmallVector<std::string> rows;
      for (const RowPattern &row : compressRows(segment)) {
        SmallVector<std::string> operands;
        for (const OperandPattern &operand : row.operands)
          operands.push_back(getOperand(operand));
        std::string name = arrays.add("galv::Operand", "operands", operands);
        rank::CallOp call = row.call;
        std::string text = "{" + quote(call.getAction()) + ", " +
                           quote(getBlockName(call.getBlock())) + ", " +
                           call.getCallee().str() + ", " +
                           std::to_string(call.getLayer().value_or(0)) + ", " +
                           std::to_string(row.count) + ", " +
                           std::to_string(row.layerStep) + ", " + name;
        if (row.body != 1)
          text += ", " + std::to_string(row.body);
        rows.push_back(text + "}");
      }
      segments.push_back("{" + quote(segment.getName()) + ", " +
                         arrays.add("galv::Row", "rows", rows) + "}");
    }
    return arrays.add("galv::Segment", "segments", segments);
  }
  std::string printTransfers() {
    SmallVector<std::string> transfers;
    for (auto transfer : stage.getOps<rank::TransferOp>()) {
      auto type = cast<MemRefType>(transfer.getBuffer().getType());
      transfers.push_back(
          (Twine("{") + (transfer.getSend() ? "true" : "false") + ", " +
           Twine(transfer.getPeer()) + ", " + Twine(transfer.getTag()) + ", " +
           getOperand(getPattern(transfer.getBuffer())) + ", " +
           Twine(type.getNumElements() *
                 getElementBytes(type.getElementType())) +
           "}")
              .str());
    }
    return arrays.add("galv::Transfer", "transfers", transfers);
  }
  std::string printOrder() {
    SmallVector<std::string> order;
    for (auto action : stage.getOrder().getAsRange<rank::ActionAttr>()) {
      if (action.getRun()) {
        order.push_back(("{galv::Action::run, " +
                         Twine(action.getNumbers().front()) + ", " +
                         Twine(action.getMicrobatches().front()) + ", {}}")
                            .str());
        continue;
      }
      SmallVector<std::string> group;
      for (auto [number, microbatch] :
           llvm::zip_equal(action.getNumbers(), action.getMicrobatches()))
        group.push_back((Twine(number) + ", " + Twine(microbatch)).str());
      order.push_back("{galv::Action::transfers, 0, 0, " +
                      arrays.add("int", "group", group) + "}");
    }
    return arrays.add("galv::Action", "order", order);
  }
  std::string printParameters() {
    SmallVector<std::string> parameters;
    for (const ParameterFamily &family : collectParameters(stage, program)) {
      ParameterOp op = family.op;
      auto type = cast<RankedTensorType>(op.getType());
      Placement rest = *Placement::of(op.getRestType());
      CheckpointAttr view = op.getCheckpoint();
      auto getPair = [](ArrayRef<int64_t> values) {
        return "{" + std::to_string(values[0]) +
               (values.size() > 1 ? ", " + std::to_string(values[1]) : "") +
               "}";
      };
      std::string axes = getAxisArray(arrays, rest.dims[0].axes);
      if (rest.dims.size() > 1)
        axes += ", " + getAxisArray(arrays, rest.dims[1].axes);
      std::string text;
      llvm::raw_string_ostream os(text);
      os << '{' << quote(family.checkpoint)
         << ", galv::Type::" << getTypeName(type.getElementType()) << ", "
         << type.getRank() << ", " << getPair(type.getShape()) << ", "
         << getPair(view.getShape()) << ", " << getPair(view.getOffset())
         << ", " << (view.getTransposed() ? "true" : "false")
         << ", galv::Initializer::" << op.getInitializer().getKind() << ", "
         << llvm::format("%.17g",
                         op.getInitializer().getDeviation().getValueAsDouble())
         << ", " << (op.getCopyOf() ? "true" : "false") << ", {" << axes
         << "}, " << getAxisArray(arrays, rest.flat) << ", " << family.first
         << ", " << family.count;
      for (const OperandPattern &operand : family.storage)
        os << (&operand == &family.storage[2] ? ", {" : ", ")
           << getOperand(operand);
      os << "}}";
      parameters.push_back(text);
    }
    return arrays.add("galv::Parameter", "parameters", parameters);
  }

  rank::StageOp stage;
  rank::ProgramOp program;
  ArrayTable &arrays;
};
} // namespace

LogicalResult galv::printTables(rank::ProgramOp program, GroupTable &groups,
                                raw_ostream &os) {
  ArrayTable arrays(os);
  SmallVector<std::string> stages, axes, groupTexts;
  int64_t loss = 0, norm = 0;
  Type elementType;
  for (auto stage : program.getOps<rank::StageOp>()) {
    stages.push_back(StagePrinter(stage, program, arrays).print());
    for (auto buffer : stage.getOps<rank::BufferOp>())
      if (buffer.getReport()) {
        (*buffer.getReport() == "loss" ? loss : norm) =
            buffer.getOffset().value_or(0);
        elementType =
            cast<MemRefType>(buffer.getResult().getType()).getElementType();
      }
  }
  MeshAttr mesh = program.getMesh();
  for (unsigned axis = 0; axis < mesh.getSpaceAxes(); ++axis)
    axes.push_back("{" + quote(mesh.getName(axis)) + ", " +
                   std::to_string(mesh.getSize(axis)) + "}");
  for (auto &[group, number] : groups) {
    SmallVector<std::string> elements;
    for (int axis : groups.getAxes(group)) {
      if (axis < 0 || mesh.isTime(axis))
        return program.emitError()
               << "group " << group << " names an axis that is not one of the "
               << "ranks of mesh " << mesh;
      elements.push_back(std::to_string(axis));
    }
    groupTexts.push_back("{" + arrays.add("int", "axes", elements) + ", " +
                         (group.getAcross() ? "true" : "false") + "}");
  }
  std::string meshName = arrays.add("galv::Axis", "mesh", axes);
  std::string groupName =
      arrays.add("galv::GroupDescription", "groups", groupTexts);
  std::string stageName = arrays.add("galv::Stage", "stages", stages);
  os << "const galv::Program program = {\n    " << quote(program.getSymName())
     << ",\n    " << quote(program.getConfiguration())
     << ",\n    galv::Type::" << getTypeName(elementType) << ", " << meshName
     << ", " << groupName << ", " << stageName << ", " << program.getBatch()
     << ", " << program.getSequence() << ", " << program.getVocabulary() << ", "
     << program.getMicrobatches() << ", {" << loss << ", 0, false}, {" << norm
     << ", 0, false}};\n";
  return success();
}
