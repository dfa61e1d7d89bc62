#include "error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace tenon::tool {
namespace {

template <class... Args>
std::string failure(fmt::format_string<Shown<Args>...> text, const Args&... args) {
  try {
    fail(text, args...);
  } catch (const Failure& e) {
    return e.what();
  }
}

TEST(Fail, NamesForgeNoLinesAndCommandNoTerminal) {
  const std::vector<std::string> names = {"a\nb", "c"};
  EXPECT_EQ(
      failure("no '{}' in {}: {:.1f}", std::string("x\ny\x1b[2J"), fmt::join(names, ", "), 0.5),
      "no 'x\\ny\\x1b[2J' in a\\nb, c: 0.5");
  EXPECT_EQ(failure("{}", "größer"), "größer");
}

TEST(Fail, SaysItsClass) {
  try {
    fail(ErrorClass::kFile, "{}: gone", "x");
  } catch (const std::exception& e) {
    EXPECT_EQ(class_of(e), ErrorClass::kFile);
    EXPECT_EQ(printed(e.what(), class_of(e)), "x: gone [TN2005]");
  }
  EXPECT_EQ(class_of(Failure("x")), ErrorClass::kCommand);
  EXPECT_EQ(class_of(std::runtime_error("x")), ErrorClass::kCommand);
}

TEST(Printed, HasOneCodeAtItsEnd) {
  EXPECT_EQ(printed("a shape [TN5001]", ErrorClass::kCommand), "a shape [TN5001]");
  EXPECT_EQ(continued("a shape [TN5001]", "; choose another"), "a shape; choose another [TN5001]");
  EXPECT_EQ(continued("a shape", "; choose another"), "a shape; choose another");
}

TEST(Printable, KeepsLineBreaksWhenTold) {
  EXPECT_EQ(printable("gr\xc3\xb6\xc3\x9f"
                      "er \xe2\x82\xac"),
            "größer €");
  EXPECT_EQ(printable("\xc3( \xe2\x82 \xc0\xaf \xed\xa0\x80 \xf5"),
            "\\xc3( \\xe2\\x82 \\xc0\\xaf \\xed\\xa0\\x80 \\xf5");
  EXPECT_EQ(printable("two\nlines\r\x1b[31m\x07", true), "two\nlines\\r\\x1b[31m\\x07");
}

}  // namespace
}  // namespace tenon::tool
