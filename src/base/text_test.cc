#include "base/text.h"

#include <gtest/gtest.h>

namespace tenon {
namespace {

TEST(OneLine, SpellsControlCharacters) {
  using std::string_view_literals::operator""sv;
  EXPECT_EQ(one_line("a\nb\r\tc\x1b[1m\x7f\0d"sv), "a\\nb\\r\\tc\\x1b[1m\\x7f\\x00d");
  EXPECT_EQ(one_line("größer 大"), "größer 大");
  EXPECT_EQ(one_line(""), "");
}

TEST(ShortLine, KeepsTheBeginningAndTheEnd) {
  EXPECT_EQ(short_line("a\nb"), "a\\nb");
  const std::string line = short_line("first" + std::string(1 << 20, '\n') + "last");
  EXPECT_LT(line.size(), 20'000u);
  EXPECT_TRUE(line.starts_with("first\\n"));
  EXPECT_TRUE(line.ends_with("\\nlast"));
  EXPECT_NE(line.find(" bytes left out] "), std::string::npos);
  // Characters stay whole.
  std::string text;
  for (int i = 0; i < 4000; ++i) text += "é";
  const std::string cut = short_line(text + "x");
  EXPECT_EQ(cut.find("é [") != std::string::npos, true);
  EXPECT_EQ(cut.find("] é") != std::string::npos, true);
}

}  // namespace
}  // namespace tenon
