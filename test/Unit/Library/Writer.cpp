//===- Writer.cpp - functions as a library of C++ -------------------------===//

#include "test/Unit/Library/Writer.h"
#include "passes/Passes.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace mlir;
using namespace galv;

static MeshAttr makeMesh(MLIRContext *context, unsigned axes) {
  SmallVector<StringAttr> names;
  for (unsigned i = 0; i < axes; ++i)
    names.push_back(StringAttr::get(context, Twine(char('a' + i))));
  SmallVector<int64_t> sizes(axes, 2);
  return MeshAttr::get(context, names, sizes, axes);
}

LibraryWriter::LibraryWriter(MLIRContext *context, int count)
    : manager(context), single(ModuleOp::create(UnknownLoc::get(context))) {
  for (unsigned axes = 0; axes <= 3; ++axes)
    meshes.push_back(makeMesh(context, axes));
  manager.addPass(createLocalisePass());
  manager.addPass(createPlanMemoryPass());
  files.assign(count, "#include \"galv/runtime.h\"\n");
}

/// Bytes of scratch area that a function needs.
static int64_t getScratch(func::FuncOp function) {
  int64_t bytes = 0;
  for (auto local : function.getOps<rank::LocalOp>()) {
    auto type = cast<MemRefType>(local.getResult().getType());
    bytes = std::max<int64_t>(
        bytes, *local.getOffset() + type.getNumElements() *
                                        getElementBytes(type.getElementType()));
  }
  return bytes;
}

std::string LibraryWriter::getInts(ArrayRef<int32_t> values) {
  SmallVector<std::string> elements;
  for (int32_t value : values)
    elements.push_back(std::to_string(value));
  return addArray("int", "ints", elements);
}

FailureOr<SmallVector<CompiledFunction>> LibraryWriter::compile(ModuleOp module,
                                                                MeshAttr mesh) {
  module->setAttr(GalvDialect::placedAttrName,
                  UnitAttr::get(module.getContext()));
  for (auto [i, function] : llvm::enumerate(module.getOps<func::FuncOp>()))
    function.setSymName("f" + std::to_string(i));
  if (failed(manager.run(module)))
    return failure();
  SmallVector<CompiledFunction> result;
  for (func::FuncOp function :
       llvm::make_early_inc_range(module.getOps<func::FuncOp>())) {
    function->remove();
    single->push_back(function);
    GroupTable table(mesh);
    auto print = [&](const std::string &name) {
      function.setSymName(name);
      std::string text;
      llvm::raw_string_ostream os(text);
      printFunctions(*single, table, os);
      return text;
    };
    auto [it, fresh] = numbers.try_emplace(print("f"), codes.size());
    if (fresh) {
      std::string name = "f" + std::to_string(codes.size());
      files[codes.size() % files.size()] += print(name);
      declarations +=
          "void " + name + "(galv::Context &, const galv::Frame &);\n";
      codes.push_back("{" + name + ", " + std::to_string(getScratch(function)) +
                      "}");
    }
    SmallVector<std::string> entries;
    for (const auto &[group, number] : table)
      entries.push_back("{" + getInts(table.getAxes(group)) + ", false}");
    std::string span = addArray("galv::GroupDescription", "groups", entries);
    auto [place, unseen] = groupNumbers.try_emplace(span, groups.size());
    if (unseen)
      groups.push_back(span);
    result.push_back({it->second, place->second});
    function.erase();
  }
  return result;
}

int LibraryWriter::addTensor(Type type) {
  auto [it, fresh] = tensorNumbers.try_emplace(type, tensors.size());
  if (!fresh)
    return it->second;
  auto tensor = cast<RankedTensorType>(type);
  Placement placement = *Placement::of(type);
  SmallVector<std::string> sizes, dims;
  for (int64_t size : tensor.getShape())
    sizes.push_back(std::to_string(size));
  for (const Split &dim : placement.dims)
    dims.push_back(getInts(dim.axes));
  std::string text = "{galv::Type::";
  text += getTypeName(tensor.getElementType());
  text += ", " + addArray("int64_t", "shape", sizes);
  text += ", " + addArray("galv::Span<int>", "dims", dims);
  text += ", " + getInts(placement.flat);
  text += ", " + getInts(placement.partial);
  text += placement.partialMax ? ", true, " : ", false, ";
  tensors.push_back(text + quote(describe(placement)) + "}");
  return it->second;
}

std::string LibraryWriter::getCase(CompiledFunction compiled,
                                   TypeRange operands, TypeRange results) {
  auto getNumbers = [&](TypeRange types) {
    SmallVector<int32_t> numbers;
    for (Type type : types)
      numbers.push_back(addTensor(type));
    return getInts(numbers);
  };
  return "{" + std::to_string(compiled.function) + ", " +
         std::to_string(compiled.groups) + ", " + getNumbers(operands) + ", " +
         getNumbers(results) + "}";
}

bool LibraryWriter::write(StringRef folder) {
  std::string text = "#include \"test/Unit/Library/Library.h\"\n\n" +
                     declarations + "\nnamespace {\n";
  std::string publics = "} // namespace\n\n";
  for (auto [mesh, name] : llvm::zip_equal(
           meshes, ArrayRef<StringRef>{"one", "line", "square", "cube"})) {
    SmallVector<std::string> axes;
    for (unsigned i = 0; i < mesh.getNumAxes(); ++i)
      axes.push_back("{" + quote(mesh.getName(i)) + ", " +
                     std::to_string(mesh.getSize(i)) + "}");
    if (name != "line")
      publics += ("const galv::Span<galv::Axis> galv::library::" + name +
                  " = " + addArray("galv::Axis", "axes", axes) + ";\n")
                     .str();
  }
  auto addTable = [&](StringRef type, StringRef name,
                      ArrayRef<std::string> elements) {
    std::string full = type.str();
    if (!type.contains("::"))
      full = "galv::library::" + full;
    publics += ("const galv::Span<" + full + "> galv::library::" + name +
                " = " + addArray(full, name.drop_back(), elements) + ";\n")
                   .str();
  };
  addTable("Code", "functions", codes);
  addTable("galv::Span<galv::GroupDescription>", "groupings", groups);
  addTable("Tensor", "tensors", tensors);
  addTable("Instance", "instances", instances);
  addTable("Movement", "movements", movements);
  text += tables + publics;

  // A file that stays the same is left alone, and not compiled again.
  auto writeFile = [&](std::string name, StringRef text) {
    std::string path = (folder + "/" + name).str();
    if (auto old = llvm::MemoryBuffer::getFile(path);
        old && (*old)->getBuffer() == text)
      return true;
    std::error_code error;
    llvm::raw_fd_ostream os(path, error);
    if (!error) {
      os << text;
      os.close();
      error = os.error();
      os.clear_error();
    }
    if (error)
      llvm::errs() << "error: cannot write " << path << ": " << error.message()
                   << '\n';
    return !error;
  };
  for (auto [i, file] : llvm::enumerate(files))
    if (!writeFile("functions_" + std::to_string(i) + ".cpp", file))
      return false;
  return writeFile("library.cpp", text);
}
