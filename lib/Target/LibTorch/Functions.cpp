//===- Functions.cpp - block functions as C++ -----------------------------===//

#include "lib/Target/LibTorch/Printer.h"
#include "llvm/Support/Format.h"

using namespace mlir;
using namespace galv;

StringRef galv::getTypeName(Type elementType) {
  return elementType.isF64() ? "f64" : elementType.isF32() ? "f32" : "i64";
}

std::string galv::quote(StringRef text) {
  std::string quoted = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\')
      quoted += '\\';
    if (c == '\n')
      quoted += "\\n";
    else
      quoted += c;
  }
  return quoted + "\"";
}

static std::string getShape(MemRefType type) {
  std::string shape = "{";
  for (auto [i, size] : llvm::enumerate(type.getShape()))
    shape += (i ? ", " : "") + std::to_string(size);
  return shape + "}";
}

static void printAttribute(Attribute attr, GroupTable &groups,
                           raw_ostream &os) {
  if (auto group = dyn_cast<comm::GroupAttr>(attr))
    os << "galv::Group{" << groups.getNumber(group) << '}';
  else if (auto boolean = dyn_cast<BoolAttr>(attr))
    os << (boolean.getValue() ? "true" : "false");
  else if (auto integer = dyn_cast<IntegerAttr>(attr))
    os << integer.getInt();
  else if (auto real = dyn_cast<FloatAttr>(attr))
    os << llvm::format("%.17g", real.getValueAsDouble());
  else if (auto text = dyn_cast<StringAttr>(attr))
    os << quote(text.getValue());
}

namespace {
/// Names and prints the values of one function.
class FunctionPrinter {
public:
  FunctionPrinter(GroupTable &groups, raw_ostream &os)
      : groups(groups), os(os) {}

  void print(func::FuncOp function) {
    os << "\nvoid " << function.getSymName()
       << "(galv::Context &context, const galv::Frame &frame) {\n";
    for (BlockArgument argument : function.getArguments()) {
      std::string name = "a" + std::to_string(argument.getArgNumber());
      auto type = cast<MemRefType>(argument.getType());
      names[argument] = name;
      if (argument.use_empty())
        continue;
      os << "  const galv::View " << name << " = frame.argument("
         << argument.getArgNumber()
         << ", galv::Type::" << getTypeName(type.getElementType()) << ", "
         << getShape(type) << ");";
      if (auto parameter = function.getArgAttrOfType<StringAttr>(
              argument.getArgNumber(), "galv.parameter"))
        os << " // " << parameter.getValue();
      os << '\n';
    }
    StringRef module;
    int locals = 0;
    for (Operation &op : function.getBody().front()) {
      if (auto local = dyn_cast<rank::LocalOp>(op)) {
        std::string name = "x" + std::to_string(locals++);
        auto type = cast<MemRefType>(local.getResult().getType());
        names[local.getResult()] = name;
        os << "  const galv::View " << name << " = frame.local("
           << local.getOffset().value_or(0)
           << ", galv::Type::" << getTypeName(type.getElementType()) << ", "
           << getShape(type) << ");\n";
      } else if (auto run = dyn_cast<rank::RunOp>(op)) {
        auto path = run->getAttrOfType<StringAttr>("module");
        if (path && path.getValue() != module) {
          module = path.getValue();
          os << "  // " << module << '\n';
        }
        printRun(run);
      }
    }
    os << "}\n";
  }

private:
  void printRun(rank::RunOp run) {
    os << "  galv::" << run.getFunction() << "(context";
    for (Value value : run->getOperands())
      os << ", " << names.lookup(value);
    for (Attribute attr : run.getSettings()) {
      os << ", ";
      printAttribute(attr, groups, os);
    }
    os << ");\n";
  }

  GroupTable &groups;
  raw_ostream &os;
  llvm::DenseMap<Value, std::string> names;
};
} // namespace

void galv::printFunctions(ModuleOp module, GroupTable &groups,
                          raw_ostream &os) {
  for (auto function : module.getOps<func::FuncOp>())
    FunctionPrinter(groups, os).print(function);
}
