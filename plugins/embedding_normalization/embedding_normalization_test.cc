// What the fronts for sequences of several lengths say of numbers that do not fit.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <tenon/plugin/testing.h>

namespace tenon::plugins {
namespace {

using kit::DataType;
using kit::testing::PluginCase;
using ::testing::HasSubstr;

// One token with embeddings of one number.
std::string answer(double token, const std::vector<double>& starts) {
  PluginCase test("CustomEmbLayerNormPluginDynamic", "2");
  for (const char* list : {"layernorm_beta", "layernorm_gamma", "word_embeddings",
                           "token_type_embeddings", "position_embeddings"})
    test.attribute((std::string("bert_embeddings_") + list).c_str(), std::vector<float>{1});
  return test.in("token_id", DataType::kINT32, {1}, {token})
      .in("segment_id", DataType::kINT32, {1}, {0})
      .in("cu_seqlen", DataType::kINT32, {static_cast<int64_t>(starts.size())}, starts)
      .in("max_seqlen", DataType::kINT32, {1}, {0})
      .out("embedded", DataType::kFLOAT, {1, 1, 1, 1}, {1})
      .out("mask_idx", DataType::kFLOAT, {}, {0})
      .check();
}

TEST(EmbeddingNormalizationTest, NumbersWithoutAnEmbeddingAreRefused) {
  EXPECT_EQ(answer(0, {0, 1}), "");
  EXPECT_THAT(answer(7, {0, 1}), HasSubstr("token 7 has no embedding; there are 1"));
  EXPECT_THAT(answer(0, {-1, 1}), HasSubstr("position 1 has no embedding; there are 1"));
  EXPECT_THAT(answer(0, {1, 1}), HasSubstr("position -1 has no embedding; there are 1"));
}

TEST(EmbeddingNormalizationTest, TokensHaveASequence) {
  EXPECT_THAT(answer(0, {0}), HasSubstr("cu_seqlen's length must be at least 2, found 1"));
}

}  // namespace
}  // namespace tenon::plugins
