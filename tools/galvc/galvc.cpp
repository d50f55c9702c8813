//===- galvc.cpp - from IR and a strategy to a training program -----------===//

#include "dialects/Rank/Rank.h"
#include "lib/Support/Output.h"
#include "lib/Target/LibTorch/LibTorch.h"
#include "mlir/IR/AsmState.h"
#include "mlir/Parser/Parser.h"
#include "passes/Passes.h"
#include "passes/Pipelines.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/ToolOutputFile.h"

using namespace mlir;
namespace cl = llvm::cl;

namespace {
struct Arguments {
  cl::OptionCategory category{"galvc options"};
  cl::opt<std::string> input{cl::Positional, cl::Required,
                             cl::desc("<model.mlir>"), cl::cat(category)};
  cl::opt<std::string> strategy{
      "strategy", cl::desc("strategy file (galv's or Galvatron's JSON)"),
      cl::cat(category)};
  cl::opt<int64_t> ranks{
      "ranks", cl::desc("ranks of the job, where the strategy does not say"),
      cl::init(0), cl::cat(category)};
  cl::opt<std::string> precision{"precision", cl::desc("fp32 or fp64"),
                                 cl::init("fp32"), cl::cat(category)};
  cl::opt<int64_t> galvatronVersion{
      "galvatron-version", cl::desc("how a Galvatron file is read: 2 or 3"),
      cl::init(3), cl::cat(category)};
  cl::opt<std::string> output{
      "o", cl::desc("folder of the program; with an earlier phase the IR file"),
      cl::cat(category)};
  cl::opt<std::string> compileTo{
      "compile-to",
      cl::desc("stop after this phase: precision, groups, tensor-parallel, "
               "sequential, redistribute, pipeline, shard, checkpoint, "
               "autodiff, fuse, localise, schedule, overlap, buffers, or emit "
               "(C++ but no executable)"),
      cl::cat(category)};
  cl::opt<std::string> compileFrom{"compile-from",
                                   cl::desc("first phase to run on the input"),
                                   cl::cat(category)};
};
} // namespace

static int fail(const llvm::Twine &message) {
  llvm::errs() << "error: " << message << '\n';
  return 1;
}

/// Compiles the emitted files and links them with the runtime.
static int compile(llvm::StringRef folder,
                   const std::vector<galv::EmittedFile> &files) {
  std::string program = (folder + "/train").str();
  std::string temporary = program + ".part";
  llvm::StringRef compiler = GALV_CXX_COMPILER;
  llvm::SmallVector<std::string> words = {compiler.str(), "-std=c++17", "-O0",
                                          "-fno-exceptions",
                                          "-I" GALV_INCLUDE_DIR};
  for (const galv::EmittedFile &file : files)
    if (llvm::StringRef(file.name).ends_with(".cpp"))
      words.push_back((folder + "/" + file.name).str());
  for (llvm::StringRef word :
       {"-o", temporary.c_str(), "-L" GALV_LIBRARY_DIR, "-lgalv_runtime",
        "-Wl,-rpath," GALV_LIBRARY_DIR, "-Wl,--allow-shlib-undefined"})
    words.push_back(word.str());
  if (compiler.contains("clang"))
    words.push_back("-fuse-ld=lld");
  llvm::SmallVector<llvm::StringRef> argv(words.begin(), words.end());
  std::string message;
  int code = llvm::sys::ExecuteAndWait(compiler, argv, std::nullopt, {}, 0, 0,
                                       &message);
  if (code != 0)
    return fail("the C++ compiler failed on " + folder + " " + message);
  if (llvm::sys::fs::rename(temporary, program))
    return fail("cannot write " + program);
  return 0;
}

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  Arguments arguments;
  cl::HideUnrelatedOptions(arguments.category);
  cl::ParseCommandLineOptions(
      argc, argv, "galvc: from a model and a strategy to a training program\n");

  DialectRegistry registry;
  registry.insert<galv::GalvDialect, galv::comm::CommDialect,
                  galv::rank::RankDialect, func::FuncDialect>();
  MLIRContext context(registry);
  llvm::SourceMgr sources;
  SourceMgrDiagnosticHandler handler(sources, &context);
  context.printOpOnDiagnostic(false);

  bool emit = arguments.compileTo.empty() || arguments.compileTo == "emit";
  auto names = galv::getPhaseNames();
  if (!emit && !llvm::is_contained(names, arguments.compileTo.getValue()))
    return fail("'" + arguments.compileTo + "' is not a phase");
  if (!arguments.compileFrom.empty() &&
      !llvm::is_contained(names, arguments.compileFrom.getValue()))
    return fail("'" + arguments.compileFrom + "' is not a phase");
  if (arguments.ranks < 0)
    return fail("--ranks is " + llvm::Twine(arguments.ranks.getValue()) +
                ", not a number of ranks");
  if (!emit &&
      llvm::find(names, arguments.compileFrom.getValue()) >
          llvm::find(names, arguments.compileTo.getValue()) &&
      !arguments.compileFrom.empty())
    return fail("phase " + arguments.compileFrom + " comes after phase " +
                arguments.compileTo);
  if (emit && (arguments.output.empty() || arguments.output == "-"))
    return fail("a program needs a folder: -o <folder>");
  bool readsStrategy = arguments.compileFrom.empty() ||
                       arguments.compileFrom == "precision" ||
                       arguments.compileFrom == "groups";
  if (readsStrategy && arguments.compileTo != "precision" &&
      arguments.strategy.empty())
    return fail("a program needs a strategy: --strategy <file>");

  OwningOpRef<ModuleOp> module =
      parseSourceFile<ModuleOp>(arguments.input, sources, &context);
  if (!module)
    return 1;
  PassManager manager(&context);
  galv::CompileOptions options{arguments.strategy, arguments.precision,
                               arguments.ranks, arguments.galvatronVersion};
  if (failed(galv::addPhases(manager, options, arguments.compileFrom,
                             emit ? llvm::StringRef()
                                  : llvm::StringRef(arguments.compileTo))))
    return fail("no such phases");
  if (failed(manager.run(*module)))
    return 1;

  if (!emit) {
    std::string text;
    llvm::raw_string_ostream os(text);
    module->print(os);
    os << '\n';
    return galv::writeOutput(arguments.output, text) ? 0 : 1;
  }
  FailureOr<std::vector<galv::EmittedFile>> files = galv::emitLibTorch(*module);
  if (failed(files))
    return 1;
  if (std::error_code error =
          llvm::sys::fs::create_directories(arguments.output))
    return fail("cannot make " + arguments.output + ": " + error.message());
  for (const galv::EmittedFile &file : *files)
    if (!galv::writeOutput(arguments.output + "/" + file.name, file.text))
      return 1;
  return arguments.compileTo == "emit" ? 0 : compile(arguments.output, *files);
}
