//===- Pipelines.cpp - the phases in order --------------------------------===//
//
//   precision        one element type
//   groups           strategy, mesh, blocks
//   tensor-parallel  placements of parameters and results
//   sequential       block calls
//   redistribute     operands as their rules want: placements are checked by
//                    every verifier from here to localise
//   pipeline         stages and transfers
//   shard            rest of parameters
//   checkpoint       what is kept
//   autodiff         the whole step; before any collective exists
//   fuse
//   localise         collectives
//   schedule         tables and order
//   overlap
//   buffers          addresses
//
//===----------------------------------------------------------------------===//

#include "passes/Pipelines.h"
#include "dialects/Rank/Rank.h"
#include "mlir/Pass/PassRegistry.h"
#include "passes/Passes.h"

using namespace mlir;
using namespace galv;

static constexpr llvm::StringLiteral phaseNames[] = {
    "precision", "groups",   "tensor-parallel", "sequential", "redistribute",
    "pipeline",  "shard",    "checkpoint",      "autodiff",   "fuse",
    "localise",  "schedule", "overlap",         "buffers"};

ArrayRef<llvm::StringLiteral> galv::getPhaseNames() { return phaseNames; }

static std::unique_ptr<Pass> createPhase(StringRef name,
                                         const CompileOptions &options) {
  if (name == "precision") {
    SetPrecisionPassOptions precision;
    precision.precision = options.precision;
    return createSetPrecisionPass(precision);
  }
  if (name == "groups") {
    AssignStrategyPassOptions groups;
    groups.strategy = options.strategy;
    groups.ranks = options.ranks;
    groups.galvatronVersion = options.galvatronVersion;
    return createAssignStrategyPass(groups);
  }
  using Create = std::unique_ptr<Pass> (*)();
  static const llvm::StringMap<Create> create = {
      {"tensor-parallel", createTensorParallelPass},
      {"sequential", createSequentialPartitionPass},
      {"redistribute", createInsertRedistributionPass},
      {"pipeline", createStagePipelinePass},
      {"shard", createShardDataParallelPass},
      {"checkpoint", createAnnotateCheckpointPass},
      {"autodiff", createAutodiffPass},
      {"fuse", createFusePass},
      {"localise", createLocalisePass},
      {"schedule", createSchedulePass},
      {"overlap", createOverlapPass},
      {"buffers", createPlanMemoryPass}};
  return create.lookup(name)();
}

static void addPhase(OpPassManager &manager, StringRef name,
                     const CompileOptions &options) {
  manager.addPass(createPhase(name, options));
  VerifyContractPassOptions contract;
  contract.phase = name.str();
  manager.addPass(createVerifyContractPass(contract));
}

LogicalResult galv::addPhases(OpPassManager &manager,
                              const CompileOptions &options, StringRef from,
                              StringRef to) {
  ArrayRef<llvm::StringLiteral> names = phaseNames;
  size_t first = from.empty() ? 0 : llvm::find(names, from) - names.begin();
  size_t last =
      to.empty() ? names.size() - 1 : llvm::find(names, to) - names.begin();
  if (first >= names.size() || last >= names.size())
    return failure();
  for (size_t i = first; i <= last; ++i)
    addPhase(manager, names[i], options);
  return success();
}

namespace {
struct PipelineOptions : PassPipelineOptions<PipelineOptions> {
  Option<std::string> strategy{*this, "strategy",
                               llvm::cl::desc("strategy file")};
  Option<std::string> precision{*this, "precision",
                                llvm::cl::desc("fp32 or fp64"),
                                llvm::cl::init("fp32")};
  Option<int64_t> ranks{*this, "ranks", llvm::cl::desc("ranks of the job"),
                        llvm::cl::init(0)};
  Option<int64_t> galvatronVersion{*this, "galvatron-version",
                                   llvm::cl::desc("2 or 3"), llvm::cl::init(3)};
  Option<std::string> from{*this, "from", llvm::cl::desc("first phase")};
  Option<std::string> to{*this, "to", llvm::cl::desc("last phase")};

  CompileOptions get() const {
    return {strategy, precision, ranks, galvatronVersion};
  }
};
} // namespace

void galv::registerGalvPipelines() {
  PassPipelineRegistration<PipelineOptions>(
      "galv-pipeline", "All phases from import to buffers",
      [](OpPassManager &manager, const PipelineOptions &options) {
        if (failed(addPhases(manager, options.get(), options.from, options.to)))
          llvm::errs() << "error: no phase from '" << options.from << "' to '"
                       << options.to << "'\n";
      });
  for (StringRef name : phaseNames)
    PassPipelineRegistration<PipelineOptions>(
        ("galv-phase-" + name).str(), ("Phase " + name).str(),
        [name](OpPassManager &manager, const PipelineOptions &options) {
          addPhase(manager, name, options.get());
        });
}
