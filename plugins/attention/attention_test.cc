#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <tenon/plugin/testing.h>

namespace {

using tenon::kit::testing::PluginCase;
using ::testing::HasSubstr;

std::string check_attention(int64_t key_features, const std::vector<int64_t>& mask) {
  return PluginCase("ScaledDotProductAttentionTRT")
      .in("q", {1, 1, 2}, {1, 2})
      .in("k", {1, 2, key_features}, std::vector<double>(static_cast<size_t>(2 * key_features)))
      .in("v", {1, 2, key_features}, std::vector<double>(static_cast<size_t>(2 * key_features), 3))
      .in("mask", mask, {0, 0})
      .out("y", {1, 1, 2}, {3, 3})
      .out("weights", {1, 1, 2}, {0.5, 0.5})
      .check();
}

TEST(AttentionTest, RefusesShapesThatDoNotFit) {
  EXPECT_EQ(check_attention(2, {1, 2}), "");
  EXPECT_THAT(check_attention(3, {1, 2}),
              HasSubstr("found q (1, 1, 2), k (1, 2, 3) and v (1, 2, 3)"));
  EXPECT_THAT(check_attention(2, {2, 1}), HasSubstr("Nt = 1 and Ns = 2; found (2, 1)"));
  EXPECT_THAT(check_attention(2, {2}), HasSubstr("found (2)"));
}

}  // namespace
