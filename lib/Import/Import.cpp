//===- Import.cpp - From a model's configuration to a program -------------===//

#include "lib/Import/Import.h"

#include "mlir/IR/Verifier.h"
#include "llvm/ADT/StringExtras.h"

using namespace galv;
using namespace mlir;

/// Puts one `key=value` into the configuration.
static LogicalResult applyOverride(MLIRContext *context, json::Node &config,
                                   StringRef text) {
  auto [key, word] = text.split('=');
  std::string name = ("--set " + key).str();
  if (key.empty() || word.empty())
    return emitError(FileLineColLoc::get(context, "--set", 1, 1))
           << "expected key=value, found '" << text << "'";
  // A bare word is a string.
  std::string value = word.str();
  if (llvm::isAlpha(word.front()) && word != "true" && word != "false" &&
      word != "null")
    value = '"' + value + '"';
  FailureOr<json::Node> node = json::parse(context, value, name);
  if (failed(node))
    return failure();
  for (json::Member &member : config.members)
    if (member.key == key) {
      member.value = std::move(*node);
      return success();
    }
  FileLineColLoc loc = node->getLoc();
  config.members.push_back(json::Member{key.str(), loc, std::move(*node)});
  return success();
}

static FailureOr<const ModelFamily *>
findFamily(json::ObjectReader &config, ArrayRef<ModelFamily> families) {
  FailureOr<const json::Node *> node = config.require("model_type");
  if (failed(node))
    return failure();
  FailureOr<StringRef> type = json::getString(**node, "'model_type'");
  if (failed(type))
    return failure();
  for (const ModelFamily &family : families)
    if (family.modelType == *type)
      return &family;
  InFlightDiagnostic diagnostic =
      (*node)->emitError() << "'model_type' is \"" << *type << "\", but only ";
  llvm::interleaveComma(families, diagnostic, [&](const ModelFamily &family) {
    diagnostic << "\"" << family.modelType << "\"";
  });
  return diagnostic << " is supported";
}

FailureOr<OwningOpRef<ModuleOp>>
galv::importModel(MLIRContext *context, StringRef path,
                  ArrayRef<std::string> overrides, const StepSizes &sizes,
                  ArrayRef<ModelFamily> families) {
  FailureOr<json::Node> file = json::parseFile(context, path);
  if (failed(file))
    return failure();
  FailureOr<json::ObjectReader> config =
      json::ObjectReader::get(*file, "a model configuration");
  if (failed(config))
    return failure();
  for (const std::string &text : overrides)
    if (failed(applyOverride(context, *file, text)))
      return failure();
  FailureOr<const ModelFamily *> family = findFamily(*config, families);
  if (failed(family))
    return failure();
  OwningOpRef<ModuleOp> module = ModuleOp::create(file->getLoc());
  if (failed((*family)->read(*config, sizes, *module)) ||
      failed(verify(*module)))
    return failure();
  return module;
}
