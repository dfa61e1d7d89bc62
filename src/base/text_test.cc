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

}  // namespace
}  // namespace tenon
