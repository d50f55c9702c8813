//===- galv-import.cpp - From a model's configuration to IR ---------------===//
//
//   galv-import config.json --sequence-length 1024 --batch-size 64 -o gpt2.mlir
//   galv-import --check-strategy s.json --layers 12
//
//===----------------------------------------------------------------------===//

#include "dialects/Galv/Galv.h"
#include "lib/Import/Import.h"
#include "lib/Strategy/Strategy.h"
#include "lib/Support/Output.h"
#include "models/gpt2/Gpt2.h"

#include "mlir/IR/MLIRContext.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/SourceMgr.h"

using namespace galv;
using namespace mlir;
namespace cl = llvm::cl;

static cl::OptionCategory category("galv-import");

static cl::opt<std::string> configPath(cl::Positional, cl::cat(category),
                                       cl::desc("<config.json>"));
static cl::opt<int64_t> sequenceLength("sequence-length", cl::cat(category),
                                       cl::value_desc("tokens"),
                                       cl::desc("Tokens of one sequence"),
                                       cl::init(0));
static cl::opt<int64_t>
    batchSize("batch-size", cl::cat(category), cl::value_desc("sequences"),
              cl::desc("Sequences of one training step, over all ranks"),
              cl::init(0));
static cl::list<std::string>
    overrides("set", cl::cat(category), cl::value_desc("key=value"),
              cl::desc("Replace or add a field of the configuration"));
static cl::opt<std::string>
    outputPath("o", cl::cat(category), cl::value_desc("file"),
               cl::desc("Where to write; standard output by default"),
               cl::init("-"));
static cl::opt<std::string> strategyPath(
    "check-strategy", cl::cat(category), cl::value_desc("file"),
    cl::desc("Check a strategy file and write it in galv's own format instead "
             "of importing a model"));
static cl::opt<int64_t>
    layers("layers", cl::cat(category), cl::value_desc("count"),
           cl::desc("With --check-strategy: the layers of the model"),
           cl::init(0));
static cl::opt<int64_t> ranks(
    "ranks", cl::cat(category), cl::value_desc("count"),
    cl::desc("With --check-strategy: the ranks of the job, where the file "
             "does not say"),
    cl::init(0));
static cl::opt<int>
    galvatronVersion("galvatron-version", cl::cat(category),
                     cl::value_desc("2|3"),
                     cl::desc("How to read Galvatron's files: tensor parallel "
                              "implies sequence parallel in 3, not in 2"),
                     cl::init(3));

/// The error of an option that does not hold a count of 1 or more.
static LogicalResult checkCount(const cl::opt<int64_t> &option) {
  if (option.getNumOccurrences() && option >= 1 && option <= json::maxCount)
    return success();
  llvm::errs() << "galv-import: error: --" << option.ArgStr;
  if (!option.getNumOccurrences())
    llvm::errs() << " is not given\n";
  else
    llvm::errs() << " must be from 1 to " << json::maxCount << ", found "
                 << option.getValue() << "\n";
  return failure();
}

/// Writes all of the output or nothing.
static LogicalResult
write(llvm::function_ref<void(llvm::raw_ostream &)> print) {
  std::string text;
  llvm::raw_string_ostream os(text);
  print(os);
  return success(writeOutput(outputPath, text));
}

static LogicalResult checkStrategy(MLIRContext *context) {
  if (failed(checkCount(layers)) ||
      (ranks.getNumOccurrences() && failed(checkCount(ranks))))
    return failure();
  if (galvatronVersion != 2 && galvatronVersion != 3) {
    llvm::errs() << "galv-import: error: --galvatron-version must be 2 or 3, "
                 << "found " << galvatronVersion << "\n";
    return failure();
  }
  FailureOr<Strategy> strategy = readStrategy(
      context, strategyPath, layers,
      ranks ? std::optional<int64_t>(ranks) : std::nullopt, galvatronVersion);
  if (failed(strategy))
    return failure();
  return write([&](llvm::raw_ostream &os) { writeStrategy(*strategy, os); });
}

static LogicalResult importConfig(MLIRContext *context) {
  if (configPath.empty()) {
    llvm::errs() << "galv-import: error: no configuration is given\n";
    return failure();
  }
  if (failed(checkCount(sequenceLength)) || failed(checkCount(batchSize)))
    return failure();
  context->loadDialect<GalvDialect>();
  auto module = importModel(context, configPath, overrides,
                            {batchSize, sequenceLength}, getGpt2Family());
  if (failed(module))
    return failure();
  return write([&](llvm::raw_ostream &os) {
    (*module)->print(os);
    os << "\n";
  });
}

int main(int argc, char **argv) {
  llvm::InitLLVM initialize(argc, argv);
  cl::HideUnrelatedOptions(category);
  cl::ParseCommandLineOptions(
      argc, argv, "Reads a Hugging Face config.json and writes its program\n");
  MLIRContext context(MLIRContext::Threading::DISABLED);
  llvm::SourceMgr sources;
  SourceMgrDiagnosticHandler handler(sources, &context);
  return failed(strategyPath.empty() ? importConfig(&context)
                                     : checkStrategy(&context));
}
