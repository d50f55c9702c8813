//===- Manifest.cpp - what a program holds and moves, as JSON -------------===//
//
// Symbolic: stages, axes, groups and formulas, nothing a rank. Bytes of a
// collective are those that one rank receives (ring algorithms), a step.
//
//===----------------------------------------------------------------------===//

#include "lib/Target/LibTorch/Printer.h"
#include "lib/Target/LibTorch/Rows.h"
#include "llvm/Support/JSON.h"

using namespace mlir;
using namespace galv;

namespace {
struct Traffic {
  int64_t calls = 0, bytes = 0;
};
/// By function of the runtime and group.
using TrafficMap =
    llvm::MapVector<std::pair<StringRef, comm::GroupAttr>, Traffic>;
} // namespace

static int64_t getBytes(Value buffer) {
  auto type = cast<MemRefType>(buffer.getType());
  return type.getNumElements() * getElementBytes(type.getElementType());
}

/// Bytes that one rank receives in one collective.
static int64_t getReceived(rank::RunOp run, int64_t ranks) {
  if (run.getFrom().size() != 1 || run.getInto().size() != 1)
    return 0;
  int64_t in = getBytes(run.getFrom()[0]), out = getBytes(run.getInto()[0]);
  return llvm::StringSwitch<int64_t>(run.getFunction())
      .Case("all_gather", (ranks - 1) * in)
      .Case("reduce_scatter", (ranks - 1) * out)
      .Case("all_reduce", 2 * (ranks - 1) * ((in + ranks - 1) / ranks))
      .Case("all_to_all", (ranks - 1) * (in / ranks))
      .Default(0);
}

static void addTraffic(rank::StageOp stage, SymbolTable &symbols,
                       TrafficMap &traffic) {
  SmallVector<rank::SegmentOp> segments(stage.getOps<rank::SegmentOp>());
  SmallVector<int64_t> runs(segments.size(), 0);
  for (auto action : stage.getOrder().getAsRange<rank::ActionAttr>())
    if (action.getRun())
      ++runs[action.getNumbers().front()];
  for (auto [segment, times] : llvm::zip_equal(segments, runs))
    for (auto call : segment.getBody().front().getOps<rank::CallOp>())
      for (auto run :
           symbols.lookup<func::FuncOp>(call.getCallee()).getOps<rank::RunOp>())
        for (Attribute attr : run.getSettings()) {
          auto group = dyn_cast<comm::GroupAttr>(attr);
          if (!group || group.getRanks() < 2)
            continue;
          int64_t bytes = getReceived(run, group.getRanks());
          if (!bytes)
            continue;
          Traffic &entry = traffic[{run.getFunction(), group}];
          entry.calls += times;
          entry.bytes += times * bytes;
        }
}

static void printParameters(llvm::json::OStream &json, rank::StageOp stage,
                            rank::ProgramOp program) {
  json.attributeArray("parameters", [&] {
    for (const ParameterFamily &family : collectParameters(stage, program)) {
      ParameterOp op = family.op;
      json.object([&] {
        json.attribute("checkpoint", family.checkpoint);
        json.attribute("first_layer", family.first);
        json.attribute("count", family.count);
        auto type = cast<RankedTensorType>(op.getType());
        json.attribute("shape", llvm::json::Array(type.getShape()));
        json.attribute("rest", describe(*Placement::of(op.getRestType())));
        json.attribute("zero", static_cast<int64_t>(op.getZero()));
        json.attribute("copy", op.getCopyOf().has_value());
        json.attribute("offset", family.storage[0].base);
        json.attribute("stride", family.storage[0].stride);
      });
    }
  });
}

void galv::printManifest(rank::ProgramOp program, GroupTable &groups,
                         raw_ostream &os) {
  SymbolTable symbols(program->getParentOfType<ModuleOp>());
  MeshAttr mesh = program.getMesh();
  llvm::json::OStream json(os, 1);
  json.object([&] {
    json.attribute("program", program.getSymName());
    json.attribute("batch", static_cast<int64_t>(program.getBatch()));
    json.attribute("sequence", static_cast<int64_t>(program.getSequence()));
    json.attribute("microbatches",
                   static_cast<int64_t>(program.getMicrobatches()));
    json.attribute("schedule", program.getSchedule());
    json.attributeArray("mesh", [&] {
      for (unsigned axis = 0; axis < mesh.getSpaceAxes(); ++axis)
        json.object([&] {
          json.attribute("axis", mesh.getName(axis));
          json.attribute("size", mesh.getSize(axis));
        });
    });
    int64_t stages = 0;
    for (auto stage : program.getOps<rank::StageOp>())
      stages += !!stage;
    json.attribute("ranks", mesh.getRanks() * stages);
    json.attributeArray("stages", [&] {
      for (auto stage : program.getOps<rank::StageOp>())
        json.object([&] {
          json.attribute("name", stage.getSymName());
          json.attribute("first_rank",
                         static_cast<int64_t>(stage.getFirstRank()));
          json.attribute("peak_bytes",
                         static_cast<int64_t>(stage.getArena().value_or(0)));
          json.attribute("microbatches_in_flight",
                         static_cast<int64_t>(stage.getSlots()));
          TrafficMap traffic;
          addTraffic(stage, symbols, traffic);
          json.attributeArray("collectives", [&] {
            for (auto &[key, entry] : traffic)
              json.object([&] {
                json.attribute("function", key.first);
                std::string axes;
                for (auto [i, name] : llvm::enumerate(key.second.getNames()))
                  axes += (i ? "," : "") + name.getValue().str();
                json.attribute("over", axes);
                json.attribute("calls", entry.calls);
                json.attribute("bytes_received", entry.bytes);
              });
          });
          int64_t sent = 0;
          SmallVector<rank::TransferOp> transfers(
              stage.getOps<rank::TransferOp>());
          for (auto action : stage.getOrder().getAsRange<rank::ActionAttr>())
            if (!action.getRun())
              for (int32_t number : action.getNumbers())
                if (transfers[number].getSend())
                  sent += getBytes(transfers[number].getBuffer());
          json.attribute("transfer_bytes_sent", sent);
          printParameters(json, stage, program);
        });
    });
  });
  os << '\n';
}
