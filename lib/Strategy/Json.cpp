//===- Json.cpp - Takes typed values out of located JSON ------------------===//

#include "lib/Strategy/Json.h"

#include "llvm/Support/JSON.h"

using namespace galv::json;
using namespace mlir;

Node::Node(Kind kind, FileLineColLoc loc) : kind(kind), loc(loc) {}

FileLineColLoc Node::getLoc(size_t offset) const {
  if (!verbatim)
    return loc;
  return FileLineColLoc::get(loc.getFilename(), loc.getLine(),
                             loc.getColumn() + 1 + offset);
}

std::string Node::describe() const {
  switch (kind) {
  case Kind::null:
    return "null";
  case Kind::boolean:
    return boolean ? "true" : "false";
  case Kind::integer:
  case Kind::real:
    return string;
  case Kind::string:
    return '"' + string + '"';
  case Kind::array:
    return "an array";
  case Kind::object:
    return "an object";
  }
  return "";
}

static void print(const Node &value, llvm::json::OStream &os) {
  switch (value.getKind()) {
  case Kind::array:
    os.array([&] {
      for (const Node &element : value.elements)
        print(element, os);
    });
    return;
  case Kind::object:
    os.object([&] {
      for (const Member &member : value.members) {
        os.attributeBegin(member.key);
        print(member.value, os);
        os.attributeEnd();
      }
    });
    return;
  case Kind::string:
    os.value(value.string);
    return;
  default:
    os.rawValue(value.describe());
  }
}

void galv::json::print(const Node &value, llvm::raw_ostream &os) {
  llvm::json::OStream stream(os, /*IndentSize=*/2);
  ::print(value, stream);
}

/// The error of a value that is not what its reader wants.
static LogicalResult unexpected(const Node &value, StringRef what,
                                const Twine &wanted) {
  return value.emitError() << what << " must be " << wanted << ", found "
                           << value.describe();
}

FailureOr<int64_t> galv::json::getInteger(const Node &value, StringRef what,
                                          int64_t min, int64_t max) {
  if (!value.is(Kind::integer))
    return unexpected(value, what, "an integer");
  if (value.integer < min)
    return unexpected(value, what, "at least " + Twine(min));
  if (value.integer > max)
    return unexpected(value, what, "at most " + Twine(max));
  return value.integer;
}

FailureOr<double> galv::json::getReal(const Node &value, StringRef what) {
  if (!value.is(Kind::integer) && !value.is(Kind::real))
    return unexpected(value, what, "a number");
  return value.real;
}

FailureOr<bool> galv::json::getBoolean(const Node &value, StringRef what) {
  if (!value.is(Kind::boolean))
    return unexpected(value, what, "true or false");
  return value.boolean;
}

FailureOr<StringRef> galv::json::getString(const Node &value, StringRef what) {
  if (!value.is(Kind::string))
    return unexpected(value, what, "a string");
  return StringRef(value.string);
}

FailureOr<ObjectReader> ObjectReader::get(const Node &value, StringRef what) {
  if (!value.is(Kind::object))
    return unexpected(value, what, "an object");
  return ObjectReader(value, what);
}

const Node *ObjectReader::find(StringRef key) {
  asked.insert(key);
  for (const Member &member : object->members)
    if (member.key == key)
      return &member.value;
  return nullptr;
}

FailureOr<const Node *> ObjectReader::require(StringRef key) {
  if (const Node *value = find(key))
    return value;
  return object->emitError() << what << " has no '" << key << "'";
}

static std::string quoted(StringRef key) { return ("'" + key + "'").str(); }

FailureOr<int64_t> ObjectReader::getInteger(StringRef key, int64_t otherwise,
                                            int64_t min, int64_t max) {
  const Node *value = find(key);
  if (!value)
    return otherwise;
  return galv::json::getInteger(*value, quoted(key), min, max);
}

FailureOr<double> ObjectReader::getReal(StringRef key, double otherwise) {
  const Node *value = find(key);
  if (!value)
    return otherwise;
  return galv::json::getReal(*value, quoted(key));
}

FailureOr<bool> ObjectReader::getBoolean(StringRef key, bool otherwise) {
  const Node *value = find(key);
  if (!value)
    return otherwise;
  return galv::json::getBoolean(*value, quoted(key));
}

LogicalResult ObjectReader::finish() const {
  for (const Member &member : object->members)
    if (!asked.contains(member.key))
      return emitError(member.loc)
             << what << " has no key '" << member.key << "'";
  return success();
}
