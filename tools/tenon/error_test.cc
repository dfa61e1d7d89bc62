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
