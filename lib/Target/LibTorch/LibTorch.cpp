//===- LibTorch.cpp - from rank programs to C++ ---------------------------===//

#include "lib/Target/LibTorch/LibTorch.h"
#include "lib/Target/LibTorch/Printer.h"

using namespace mlir;
using namespace galv;

FailureOr<std::vector<EmittedFile>> galv::emitLibTorch(ModuleOp module) {
  SmallVector<rank::ProgramOp> programs(module.getOps<rank::ProgramOp>());
  if (programs.size() != 1)
    return module.emitError() << "holds " << programs.size()
                              << " rank programs, one can be emitted";
  rank::ProgramOp program = programs.front();
  for (auto stage : program.getOps<rank::StageOp>())
    if (!stage.getArena())
      return stage.emitError(
          "has no arena: galv-plan-memory comes before emission");
  std::string name = program.getSymName().str();
  GroupTable groups(program.getMesh());
  std::string functions, tables, manifest, declarations;
  llvm::raw_string_ostream functionsOs(functions), tablesOs(tables),
      manifestOs(manifest), declarationsOs(declarations);
  functionsOs << "// " << name << ": what blocks and actions compute.\n\n"
              << "#include \"galv/runtime.h\"\n";
  printFunctions(module, groups, functionsOs);
  for (auto function : module.getOps<func::FuncOp>())
    declarationsOs << "void " << function.getSymName()
                   << "(galv::Context &, const galv::Frame &);\n";
  tablesOs << "// " << name << ": which stage runs what, where and when.\n\n"
           << "#include \"galv/runtime.h\"\n\n"
           << declarations << "\nnamespace {\n";
  if (failed(printTables(program, groups, tablesOs)))
    return failure();
  tablesOs << "} // namespace\n\nint main(int argc, char **argv) {\n"
           << "  return galv::main(program, argc, argv);\n}\n";
  printManifest(program, groups, manifestOs);
  return std::vector<EmittedFile>{{name + "_functions.cpp", functions},
                                  {name + ".cpp", tables},
                                  {"manifest.json", manifest}};
}
