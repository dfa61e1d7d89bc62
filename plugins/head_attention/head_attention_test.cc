// What cases of CustomQKVToContextPluginDynamic cannot say: those of PyTorch have no tokens beyond
// the last sequence, and lengths that fit.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <tenon/plugin/testing.h>

namespace tenon::plugins {
namespace {

using kit::DataType;
using kit::testing::PluginCase;
using ::testing::HasSubstr;

// Three tokens of one head with one feature: q, k and v side by side.
PluginCase tokens(const char* version, std::vector<double> starts) {
  const bool is_interleaved = version[0] == '3' || version[0] == '6';
  PluginCase test("CustomQKVToContextPluginDynamic", version);
  test.attribute("hidden_size", 1).attribute("num_heads", 1);
  if (is_interleaved) {
    test.in("qkv", {1, 3, 3, 1}, {1, 2, 3, 4, 5, 6, 7, 8, 9});
  } else {
    test.attribute("type_id", 0).attribute("has_mask", 1).attribute("var_seqlen", 1);
    test.in("qkv", {3, 3, 1, 1}, {1, 4, 7, 2, 5, 8, 3, 6, 9});
    test.in("mask", DataType::kINT32, {1, 1}, {0});
  }
  const auto count = static_cast<int64_t>(starts.size());
  test.in("cu_seqlens", DataType::kINT32, {count}, std::move(starts));
  test.in("max_seqlen", DataType::kINT32, {1}, {0});
  return test;
}
PluginCase& with_result(PluginCase& test, std::vector<double> y) {
  const bool is_interleaved = test.version() == "3" || test.version() == "6";
  return is_interleaved ? test.out("context", {1, 1, 3, 1}, std::move(y))
                        : test.out("context", {3, 1, 1, 1}, std::move(y));
}

TEST(HeadAttentionTest, TokensOfNoSequenceAreZero) {
  for (const char* version : {"2", "3", "5", "6"}) {
    PluginCase test = tokens(version, {1, 2});  // a sequence of one token is its own mean
    EXPECT_EQ(with_result(test, {0, 8, 0}).check(), "") << version;
  }
}

TEST(HeadAttentionTest, SequencesBeyondTheTokensAreRefused) {
  for (const char* version : {"2", "3", "5", "6"}) {
    PluginCase test = tokens(version, {3, 4});
    EXPECT_THAT(with_result(test, {0, 0, 0}).check(),
                HasSubstr("sequence 0 has tokens 3 to 4; there are 3"))
        << version;
    PluginCase longer = tokens(version, {0, 2});
    EXPECT_THAT(with_result(longer, {0, 0, 0}).check(), HasSubstr("a sequence has at most 1"))
        << version;
  }
}

}  // namespace
}  // namespace tenon::plugins
