//===- Json.cpp - Takes typed values out of located JSON ------------------===//

#include "lib/Strategy/Json.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

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
  std::string text;
  llvm::raw_string_ostream os(text);
  switch (kind) {
  case Kind::null:
    os << "null";
    break;
  case Kind::boolean:
    os << (boolean ? "true" : "false");
    break;
  case Kind::integer:
    os << integer;
    break;
  case Kind::real:
    os << llvm::format("%g", real);
    break;
  case Kind::string:
    os << '"' << string << '"';
    break;
  case Kind::array:
    os << "an array";
    break;
  case Kind::object:
    os << "an object";
    break;
  }
  return text;
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
