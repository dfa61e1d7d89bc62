#include "options.h"

#include <gtest/gtest.h>

#include "files.h"

namespace tenon::tool {
namespace {

TEST(Options, NamesWithAStar) {
  EXPECT_TRUE(matches("a*c", "abbc"));
  EXPECT_TRUE(matches("*", ""));
  EXPECT_FALSE(matches("ab*bc", "abc"));  // no letter counts twice
  EXPECT_FALSE(matches("a", "ab"));
  const Shapes given = {{"in*", {1}}, {"in2", {2}}, {"other*", {3}}};
  const Shapes expected = {{"in1", {1}}, {"in2", {2}}, {"other*", {3}}};
  EXPECT_EQ(shapes_of_inputs(given, {"in1", "in2", "x"}), expected);
}

TEST(Options, NamesOfFiles) {
  using Parts = std::pair<std::string, std::string>;
  EXPECT_EQ(split_file("in:a:b"), Parts("in", "a:b"));
  EXPECT_EQ(split_file("'in:0':a"), Parts("in:0", "a"));
  EXPECT_EQ(split_file("a"), Parts("", "a"));
}

}  // namespace
}  // namespace tenon::tool
