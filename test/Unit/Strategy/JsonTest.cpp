//===- JsonTest.cpp - Located JSON ----------------------------------------===//

#include "lib/Strategy/Json.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/Support/raw_ostream.h"
#include "gtest/gtest.h"

using namespace galv;
using namespace mlir;

namespace {

/// Parses a text; of an error it keeps `line:column: message`.
struct JsonTest : testing::Test {
  MLIRContext context;
  std::string error;
  ScopedDiagnosticHandler handler{
      &context, [&](Diagnostic &diagnostic) {
        auto loc = cast<FileLineColLoc>(diagnostic.getLocation());
        error = std::to_string(loc.getLine()) + ":" +
                std::to_string(loc.getColumn()) + ": " + diagnostic.str();
      }};

  FailureOr<json::Node> parse(StringRef text) {
    return json::parse(&context, text, "text.json");
  }
  std::string errorOf(StringRef text) {
    error.clear();
    EXPECT_TRUE(failed(parse(text)));
    return error;
  }
  std::string print(StringRef text) {
    FailureOr<json::Node> node = parse(text);
    EXPECT_TRUE(succeeded(node)) << error;
    std::string printed;
    llvm::raw_string_ostream os(printed);
    if (succeeded(node))
      json::print(*node, os);
    return printed;
  }
};

TEST_F(JsonTest, KindsAndValues) {
  auto node = parse(R"([null, true, false, -12, 2.5e-1, "a", [], {}])");
  ASSERT_TRUE(succeeded(node));
  ASSERT_TRUE(node->is(json::Kind::array));
  ASSERT_EQ(node->elements.size(), 8u);
  EXPECT_TRUE(node->elements[0].is(json::Kind::null));
  EXPECT_TRUE(node->elements[1].boolean);
  EXPECT_TRUE(node->elements[2].is(json::Kind::boolean));
  EXPECT_FALSE(node->elements[2].boolean);
  EXPECT_EQ(node->elements[3].integer, -12);
  EXPECT_EQ(node->elements[3].real, -12.0);
  EXPECT_TRUE(node->elements[4].is(json::Kind::real));
  EXPECT_EQ(node->elements[4].real, 0.25);
  EXPECT_EQ(node->elements[5].string, "a");
  EXPECT_TRUE(node->elements[6].is(json::Kind::array));
  EXPECT_TRUE(node->elements[7].is(json::Kind::object));
}

TEST_F(JsonTest, IntegersThatDoNotFitAreReal) {
  auto node = parse("[9223372036854775807, 9223372036854775808]");
  ASSERT_TRUE(succeeded(node));
  EXPECT_TRUE(node->elements[0].is(json::Kind::integer));
  EXPECT_EQ(node->elements[0].integer, INT64_MAX);
  EXPECT_TRUE(node->elements[1].is(json::Kind::real));
}

TEST_F(JsonTest, Escapes) {
  auto node = parse(R"("\"\\\/\b\f\n\r\t\u0041\u00e9\u20ac\ud83d\ude00")");
  ASSERT_TRUE(succeeded(node));
  EXPECT_EQ(node->string, "\"\\/\b\f\n\r\tA\u00e9\u20ac\U0001F600");
  EXPECT_EQ(errorOf(R"("\x")"),
            "1:3: expected an escape after '\\', found 'x'");
  EXPECT_EQ(errorOf(R"("\u12g4")"),
            "1:6: expected four hexadecimal digits, found 'g'");
  EXPECT_EQ(errorOf(R"("\ud83d")"), "1:8: expected the second half of a "
                                    "surrogate pair, found '\"'");
  EXPECT_EQ(errorOf(R"("\ude00")"), "1:8: expected the first half of a "
                                    "surrogate pair before this, found '\"'");
}

TEST_F(JsonTest, Places) {
  auto node = parse("{\n  \"a\": 1,\r\n\t\"b\": \"12,34\"}");
  ASSERT_TRUE(succeeded(node));
  ASSERT_EQ(node->members.size(), 2u);
  const json::Member &b = node->members[1];
  EXPECT_EQ(b.loc.getLine(), 3u);
  EXPECT_EQ(b.loc.getColumn(), 2u);
  EXPECT_EQ(b.value.getLoc().getColumn(), 7u);
  EXPECT_EQ(b.value.getLoc(3).getColumn(), 11u);
  // Bytes of a string with escapes have no place of their own.
  auto escaped = parse(R"("\u0031,2")");
  ASSERT_TRUE(succeeded(escaped));
  EXPECT_EQ(escaped->getLoc(2).getColumn(), 1u);
}

TEST_F(JsonTest, Numbers) {
  EXPECT_EQ(errorOf("-"), "1:2: expected a digit, found the end of the file");
  EXPECT_EQ(errorOf("01"), "1:2: expected the end of the file, found '1'");
  EXPECT_EQ(errorOf("1.x"), "1:3: expected a digit after '.', found 'x'");
  EXPECT_EQ(errorOf("1e+"),
            "1:4: expected a digit in the exponent, found the end of the file");
  EXPECT_EQ(errorOf("[-1e400]"), "1:2: number '-1e400' is out of range");
}

TEST_F(JsonTest, BytesThatAreNoText) {
  EXPECT_EQ(errorOf("\n \xff"), "2:2: the file is not valid UTF-8");
  EXPECT_EQ(errorOf("\"a\nb\""), "1:3: expected '\"' at the end of the string, "
                                 "found a control character");
  EXPECT_EQ(errorOf(StringRef("\0", 1)),
            "1:1: expected a value, found a control character");
  EXPECT_EQ(errorOf("\u20ac"), "1:1: expected a value, found '\u20ac'");
}

TEST_F(JsonTest, Depth) {
  std::string open(64, '['), close(64, ']');
  EXPECT_TRUE(succeeded(parse(open + "0" + close)));
  EXPECT_EQ(errorOf("[" + open + close + "]"),
            "1:65: more than 64 levels of arrays and objects");
}

TEST_F(JsonTest, PrintsWhatItRead) {
  std::string printed = print(R"({"b":1e-05,"a":["x\ny",null,12]})");
  EXPECT_EQ(printed, "{\n  \"b\": 1e-05,\n  \"a\": [\n    \"x\\ny\",\n    "
                     "null,\n    12\n  ]\n}");
  EXPECT_EQ(print(printed), printed);
}

} // namespace
