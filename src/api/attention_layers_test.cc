// Attention, the layers around it, and Einsum: attributes come back, and networks run.
#include <cuda_runtime_api.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "api/testing.h"

namespace tenon::testing {
namespace {

using namespace nvinfer1;  // the tests speak as an application does
using ::testing::ElementsAre;
using ::testing::FloatNear;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pointwise;

TEST(AttentionLayers, Einsum) {
  Session s;
  ITensor* inputs[] = {&s.input("a", {2, 3}), &s.input("b", {2, 3})};
  IEinsumLayer* l = s.network->addEinsum(inputs, 2, "ij,ij->i");
  ASSERT_NE(l, nullptr);
  EXPECT_EQ(l->getType(), LayerType::kEINSUM);
  EXPECT_STREQ(l->getEquation(), "ij,ij->i");
  EXPECT_EQ(list(l->getOutput(0)->getDimensions()), (List{2}));
  EXPECT_TRUE(l->setEquation("ij,ij->j"));
  EXPECT_STREQ(l->getEquation(), "ij,ij->j");
  EXPECT_EQ(list(l->getOutput(0)->getDimensions()), (List{3}));
  const Floats a{1, 2, 3, 4, 5, 6}, b{1, 0, 2, 1, 1, 1};
  EXPECT_THAT(run(s, *l->getOutput(0), {a.data(), b.data()}, 3), ElementsAre(5, 5, 12));
  EXPECT_FALSE(l->setEquation(nullptr));
  EXPECT_THAT(s.logger.take_errors(), HasSubstr("the equation is null"));
  EXPECT_EQ(s.network->addEinsum(inputs, 0, "->"), nullptr);
  EXPECT_EQ(s.network->addEinsum(inputs, 2, nullptr), nullptr);
}

TEST(AttentionLayers, AttentionKeepsItsAttributes) {
  Session s;
  ITensor &q = s.input("q", {1, 2, 3, 4}), &k = s.input("k", {1, 2, 5, 4});
  IAttention* a = s.network->addAttention(q, k, k, AttentionNormalizationOp::kSOFTMAX, false);
  ASSERT_NE(a, nullptr);
  EXPECT_EQ(a->getNbInputs(), 3);
  EXPECT_EQ(a->getNbOutputs(), 1);
  EXPECT_EQ(a->getInput(0), &q);
  EXPECT_EQ(a->getInput(2), &k);
  EXPECT_EQ(a->getInput(3), nullptr);
  EXPECT_EQ(list(a->getOutput(0)->getDimensions()), (List{1, 2, 3, 4}));
  EXPECT_EQ(a->getNormalizationOperation(), AttentionNormalizationOp::kSOFTMAX);
  EXPECT_TRUE(a->setNormalizationOperation(AttentionNormalizationOp::kNONE));
  EXPECT_EQ(a->getNormalizationOperation(), AttentionNormalizationOp::kNONE);
  EXPECT_FALSE(a->getDecomposable());
  EXPECT_TRUE(a->setDecomposable(true));
  EXPECT_TRUE(a->getDecomposable());
  EXPECT_TRUE(a->setName("attention"));
  EXPECT_STREQ(a->getName(), "attention");
  EXPECT_TRUE(a->setMetadata("here"));
  EXPECT_STREQ(a->getMetadata(), "here");
  EXPECT_EQ(a->getMask(), nullptr);
  EXPECT_TRUE(a->setCausal(true));
  EXPECT_TRUE(a->getCausal());
  ITensor& mask = s.input("mask", {1, 1, 3, 5}, DataType::kBOOL);
  EXPECT_FALSE(a->setMask(mask));
  EXPECT_THAT(s.logger.take_errors(), HasSubstr("a causal attention cannot have a mask"));
  EXPECT_TRUE(a->setCausal(false));
  EXPECT_TRUE(a->setMask(mask));
  EXPECT_EQ(a->getMask(), &mask);
  EXPECT_FALSE(a->setCausal(true));
  EXPECT_TRUE(a->setInput(0, s.input("other", {1, 2, 3, 4})));
  EXPECT_FALSE(a->setInput(3, q));
  EXPECT_FALSE(a->setNormalizationQuantizeToType(DataType::kINT8));
  EXPECT_THAT(s.logger.take_errors(), HasSubstr("quantised attention is not supported yet"));
  ILayer* layer = s.network->getLayer(0);
  EXPECT_EQ(layer->getType(), LayerType::kATTENTION_OUTPUT);
  EXPECT_EQ(static_cast<IAttentionOutputLayer*>(layer)->getAttention(), a);
}

TEST(AttentionLayers, AttentionRuns) {
  Session s;
  ITensor& q = s.input("q", {1, 1, 2, 1});
  ITensor &k = s.input("k", {1, 1, 2, 1}), &v = s.input("v", {1, 1, 2, 1});
  IAttention* a = s.network->addAttention(q, k, v, AttentionNormalizationOp::kSOFTMAX, true);
  const Floats queries{1, 1}, keys{0, std::log(3.f)}, values{4, 8};
  EXPECT_THAT(run(s, *a->getOutput(0), {queries.data(), keys.data(), values.data()}, 2),
              Pointwise(FloatNear(1e-6f), Floats{4, 7}));
}

TEST(AttentionLayers, RotaryEmbedding) {
  Session s;
  ITensor& x = s.input("x", {1, 1, 2, 4});
  ITensor &c = s.input("c", {5, 1}), &d = s.input("s", {5, 1});
  IRotaryEmbeddingLayer* l = s.network->addRotaryEmbedding(x, c, d, false, 0);
  ASSERT_NE(l, nullptr);
  EXPECT_EQ(l->getType(), LayerType::kROTARY_EMBEDDING);
  EXPECT_FALSE(l->getInterleaved());
  l->setInterleaved(true);
  EXPECT_TRUE(l->getInterleaved());
  EXPECT_TRUE(l->setRotaryEmbeddingDim(2));
  EXPECT_EQ(l->getRotaryEmbeddingDim(), 2);
  EXPECT_FALSE(l->setRotaryEmbeddingDim(3));
  EXPECT_FALSE(l->setRotaryEmbeddingDim(-2));
  EXPECT_THAT(s.logger.take_errors(), HasSubstr("-2 elements cannot be rotated in pairs"));
  l->setInput(3, s.input("positions", {1, 2}, DataType::kINT32));
  EXPECT_EQ(l->getNbInputs(), 4);
  const Floats data{1, 2, 3, 4, 5, 6, 7, 8}, cosines{1, 0, 1, 1, 1}, sines{0, 1, 0, 0, 0};
  const std::vector<int32_t> positions{0, 1};
  EXPECT_THAT(
      run(s, *l->getOutput(0), {data.data(), cosines.data(), sines.data(), positions.data()}, 8),
      ElementsAre(1, 2, 3, 4, -6, 5, 7, 8));
}

TEST(AttentionLayers, KVCacheUpdate) {
  Session s;
  ITensor &cache = s.input("cache", {2, 1, 3, 1}), &update = s.input("update", {2, 1, 1, 1});
  IKVCacheUpdateLayer* l = s.network->addKVCacheUpdate(
      cache, update, s.input("at", {2}, DataType::kINT32), KVCacheMode::kLINEAR);
  ASSERT_NE(l, nullptr);
  EXPECT_EQ(l->getType(), LayerType::kKVCACHE_UPDATE);
  EXPECT_EQ(l->getCacheMode(), KVCacheMode::kLINEAR);
  EXPECT_TRUE(l->setCacheMode(KVCacheMode::kLINEAR));
  EXPECT_FALSE(l->setCacheMode(static_cast<KVCacheMode>(7)));
  s.logger.take_errors();
  const Floats old{1, 2, 3, 4, 5, 6}, fresh{7, 8};
  const std::vector<int32_t> positions{2, 0};
  EXPECT_THAT(run(s, *l->getOutput(0), {old.data(), fresh.data(), positions.data()}, 6),
              ElementsAre(1, 2, 7, 8, 5, 6));
}

}  // namespace
}  // namespace tenon::testing
