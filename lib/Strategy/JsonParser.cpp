//===- JsonParser.cpp - Reads JSON and keeps every place ------------------===//
//
// RFC 8259, by recursive descent. Stricter than the RFC in one point: a key
// that stands twice in an object is an error.
//
//===----------------------------------------------------------------------===//

#include "lib/Strategy/Json.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/ConvertUTF.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"

#include <cmath>

using namespace galv::json;
using namespace mlir;

namespace {

constexpr int maxDepth = 64;

class Parser {
public:
  Parser(MLIRContext *context, StringRef text, StringRef name)
      : name(StringAttr::get(context, name)), text(text) {}

  FailureOr<Node> parseDocument();

private:
  FailureOr<Node> parseValue(int depth);
  FailureOr<Node> parseObject(int depth);
  FailureOr<Node> parseArray(int depth);
  FailureOr<Node> parseString();
  FailureOr<Node> parseNumber();
  FailureOr<Node> parseWord();
  LogicalResult parseEscape(std::string &into);
  FailureOr<unsigned> parseCodeUnit();

  char peek() const { return at < text.size() ? text[at] : '\0'; }
  bool atEnd() const { return at == text.size(); }
  bool consume(char c) {
    if (atEnd() || text[at] != c)
      return false;
    ++at;
    return true;
  }
  void skipSpace();
  size_t skipDigits();
  FileLineColLoc here() {
    return FileLineColLoc::get(name, line, at - lineStart + 1);
  }
  /// Fails at the next byte: `expected X, found Y`.
  LogicalResult expected(StringRef what);

  StringAttr name;
  StringRef text;
  size_t at = 0, lineStart = 0;
  unsigned line = 1;
};

} // namespace

LogicalResult Parser::expected(StringRef what) {
  InFlightDiagnostic diagnostic = emitError(here())
                                  << "expected " << what << ", found ";
  if (atEnd())
    return diagnostic << "the end of the file";
  if (static_cast<unsigned char>(peek()) < 0x20)
    return diagnostic << "a control character";
  return diagnostic << "'" << text.substr(at, llvm::getNumBytesForUTF8(peek()))
                    << "'";
}

void Parser::skipSpace() {
  for (; !atEnd(); ++at) {
    char c = text[at];
    if (c == '\n') {
      ++line;
      lineStart = at + 1;
    } else if (c != ' ' && c != '\t' && c != '\r') {
      return;
    }
  }
}

size_t Parser::skipDigits() {
  size_t start = at;
  while (llvm::isDigit(peek()))
    ++at;
  return at - start;
}

FailureOr<Node> Parser::parseDocument() {
  size_t invalid = 0;
  if (!llvm::json::isUTF8(text, &invalid)) {
    StringRef before = text.take_front(invalid);
    size_t newline = before.rfind('\n');
    size_t start = newline == StringRef::npos ? 0 : newline + 1;
    return emitError(FileLineColLoc::get(name, before.count('\n') + 1,
                                         invalid - start + 1))
           << "the file is not valid UTF-8";
  }
  skipSpace();
  FailureOr<Node> value = parseValue(/*depth=*/0);
  if (failed(value))
    return failure();
  skipSpace();
  if (!atEnd())
    return expected("the end of the file");
  return value;
}

FailureOr<Node> Parser::parseValue(int depth) {
  if (depth == maxDepth && (peek() == '{' || peek() == '['))
    return emitError(here())
           << "more than " << maxDepth << " levels of arrays and objects";
  switch (peek()) {
  case '{':
    return parseObject(depth);
  case '[':
    return parseArray(depth);
  case '"':
    return parseString();
  default:
    return peek() == '-' || llvm::isDigit(peek()) ? parseNumber() : parseWord();
  }
}

FailureOr<Node> Parser::parseObject(int depth) {
  Node object(Kind::object, here());
  llvm::StringMap<Location> seen;
  consume('{');
  skipSpace();
  if (consume('}'))
    return object;
  do {
    skipSpace();
    if (peek() != '"')
      return expected("a key in double quotes");
    FailureOr<Node> key = parseString();
    if (failed(key))
      return failure();
    auto [first, isNew] = seen.try_emplace(key->string, key->getLoc());
    if (!isNew) {
      InFlightDiagnostic diagnostic = key->emitError()
                                      << "key '" << key->string
                                      << "' stands twice in this object";
      diagnostic.attachNote(first->second) << "the first is here";
      return diagnostic;
    }
    skipSpace();
    if (!consume(':'))
      return expected("':' after the key");
    skipSpace();
    FailureOr<Node> value = parseValue(depth + 1);
    if (failed(value))
      return failure();
    object.members.push_back(
        Member{std::move(key->string), key->getLoc(), std::move(*value)});
    skipSpace();
  } while (consume(','));
  if (!consume('}'))
    return expected("',' or '}'");
  return object;
}

FailureOr<Node> Parser::parseArray(int depth) {
  Node array(Kind::array, here());
  consume('[');
  skipSpace();
  if (consume(']'))
    return array;
  do {
    skipSpace();
    FailureOr<Node> element = parseValue(depth + 1);
    if (failed(element))
      return failure();
    array.elements.push_back(std::move(*element));
    skipSpace();
  } while (consume(','));
  if (!consume(']'))
    return expected("',' or ']'");
  return array;
}

FailureOr<Node> Parser::parseString() {
  Node value(Kind::string, here());
  value.verbatim = true;
  consume('"');
  while (!consume('"')) {
    if (atEnd() || static_cast<unsigned char>(peek()) < 0x20)
      return expected("'\"' at the end of the string");
    if (!consume('\\')) {
      value.string += text[at++];
      continue;
    }
    value.verbatim = false;
    if (failed(parseEscape(value.string)))
      return failure();
  }
  return value;
}

LogicalResult Parser::parseEscape(std::string &into) {
  constexpr StringRef letters = "\"\\/bfnrt", meanings = "\"\\/\b\f\n\r\t";
  size_t index = atEnd() ? StringRef::npos : letters.find(peek());
  if (index != StringRef::npos) {
    into += meanings[index];
    ++at;
    return success();
  }
  if (!consume('u'))
    return expected("an escape after '\\'");
  FailureOr<unsigned> unit = parseCodeUnit();
  if (failed(unit))
    return failure();
  unsigned code = *unit;
  if (code >= 0xD800 && code < 0xDC00) {
    if (!consume('\\') || !consume('u'))
      return expected("the second half of a surrogate pair");
    FailureOr<unsigned> low = parseCodeUnit();
    if (failed(low))
      return failure();
    if (*low < 0xDC00 || *low > 0xDFFF)
      return expected("the second half of a surrogate pair before this");
    code = 0x10000 + ((code - 0xD800) << 10) + (*low - 0xDC00);
  } else if (code >= 0xDC00 && code < 0xE000) {
    return expected("the first half of a surrogate pair before this");
  }
  char bytes[UNI_MAX_UTF8_BYTES_PER_CODE_POINT], *end = bytes;
  llvm::ConvertCodePointToUTF8(code, end);
  into.append(bytes, end);
  return success();
}

FailureOr<unsigned> Parser::parseCodeUnit() {
  unsigned unit = 0;
  for (int digit = 0; digit < 4; ++digit, ++at) {
    if (!llvm::isHexDigit(peek()))
      return expected("four hexadecimal digits");
    unit = unit * 16 + llvm::hexDigitValue(peek());
  }
  return unit;
}

FailureOr<Node> Parser::parseNumber() {
  FileLineColLoc loc = here();
  size_t start = at;
  bool isInteger = true;
  consume('-');
  if (!consume('0') && !skipDigits())
    return expected("a digit");
  if (consume('.')) {
    isInteger = false;
    if (!skipDigits())
      return expected("a digit after '.'");
  }
  if (consume('e') || consume('E')) {
    isInteger = false;
    if (!consume('+'))
      consume('-');
    if (!skipDigits())
      return expected("a digit in the exponent");
  }
  StringRef token = text.slice(start, at);
  Node value(Kind::integer, loc);
  if (!isInteger || token.getAsInteger(10, value.integer))
    value = Node(Kind::real, loc);
  value.string = token.str();
  if (token.getAsDouble(value.real) || !std::isfinite(value.real))
    return emitError(loc) << "number '" << token << "' is out of range";
  return value;
}

FailureOr<Node> Parser::parseWord() {
  FileLineColLoc loc = here();
  StringRef word =
      text.drop_front(at).take_while([](char c) { return llvm::isAlpha(c); });
  if (word != "true" && word != "false" && word != "null") {
    if (word.empty())
      return expected("a value");
    return emitError(loc) << "expected a value, found '" << word << "'";
  }
  at += word.size();
  Node value(word == "null" ? Kind::null : Kind::boolean, loc);
  value.boolean = word == "true";
  return value;
}

FailureOr<Node> galv::json::parse(MLIRContext *context, StringRef text,
                                  StringRef name) {
  return Parser(context, text, name).parseDocument();
}

FailureOr<Node> galv::json::parseFile(MLIRContext *context, StringRef path) {
  StringRef name = path == "-" ? "<stdin>" : path;
  auto buffer = llvm::MemoryBuffer::getFileOrSTDIN(path, /*IsText=*/false);
  if (std::error_code error = buffer.getError())
    return emitError(FileLineColLoc::get(context, name, 1, 1))
           << "cannot read the file: " << error.message();
  return parse(context, (*buffer)->getBuffer(), name);
}
