// Quantisation through TensorRT's API.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/testing.h"

namespace tenon::testing {
namespace {

using namespace nvinfer1;  // the tests speak as an application does
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

template <class Layer> void check_attributes(Session& s, Layer* layer, DataType type) {
  EXPECT_EQ(layer->getAxis(), -1);
  EXPECT_EQ(layer->getToType(), type);
  layer->setAxis(1);
  EXPECT_EQ(layer->getAxis(), 1);
  EXPECT_TRUE(layer->setBlockShape(dims({2, -1})));
  EXPECT_EQ(list(layer->getBlockShape()), (List{2, -1}));
  EXPECT_EQ(layer->getOutput(0)->getType(), type);
  EXPECT_THAT(s.logger.take_errors(), IsEmpty());
  EXPECT_FALSE(layer->setBlockShape(dims({2, 0})));
  EXPECT_THAT(s.logger.take_errors(), HasSubstr("each extent must be positive"));
  EXPECT_FALSE(layer->setBlockShape(dims({2})));
  EXPECT_THAT(s.logger.take_errors(), HasSubstr("does not fit data with 2 dimensions"));
  layer->setAxis(-2);
  EXPECT_THAT(s.logger.take_errors(), HasSubstr("axis -2 does not exist"));
  EXPECT_EQ(list(layer->getBlockShape()), (List{2, -1}));
}

TEST(QuantizeLayers, Attributes) {
  const std::vector<float> two = {1, 2};
  Session s;
  ITensor &x = s.input("x", {4, 3}), &scale = constant(s, {2, 1}, two);
  check_attributes(s, s.network->addQuantize(x, scale, DataType::kFP8), DataType::kFP8);
  IQuantizeLayer* q = s.network->addQuantize(x, scale);
  check_attributes(s, q, DataType::kINT8);
  IDequantizeLayer* d = s.network->addDequantize(*q->getOutput(0), scale);
  check_attributes(s, d, DataType::kFLOAT);
  d->setToType(DataType::kHALF);
  EXPECT_EQ(d->getOutput(0)->getType(), DataType::kHALF);
  check_attributes(s, s.network->addDequantize(*q->getOutput(0), scale, DataType::kBF16),
                   DataType::kBF16);
  EXPECT_EQ(s.network->addQuantize(x, scale, static_cast<DataType>(99)), nullptr);
  EXPECT_THAT(s.logger.take_errors(), HasSubstr("addQuantize"));
}

TEST(QuantizeLayers, DynamicAttributes) {
  Session s;
  ITensor& x = s.input("x", {4, 32});
  IDynamicQuantizeLayer* q =
      s.network->addDynamicQuantize(x, 1, 16, DataType::kFP4, DataType::kFP8);
  EXPECT_EQ(q->getAxis(), 1);
  EXPECT_EQ(q->getBlockSize(), 16);
  EXPECT_EQ(q->getToType(), DataType::kFP4);
  EXPECT_EQ(q->getScaleType(), DataType::kFP8);
  EXPECT_EQ(q->getNbOutputs(), 2);
  EXPECT_EQ(list(q->getOutput(1)->getDimensions()), (List{4, 2}));
  q->setAxis(0);
  q->setBlockSize(2);
  q->setToType(DataType::kFP8);
  q->setScaleType(DataType::kE8M0);
  EXPECT_EQ(q->getAxis(), 0);
  EXPECT_EQ(q->getBlockSize(), 2);
  EXPECT_EQ(q->getOutput(0)->getType(), DataType::kFP8);
  EXPECT_EQ(q->getOutput(1)->getType(), DataType::kE8M0);
  EXPECT_EQ(list(q->getOutput(1)->getDimensions()), (List{2, 32}));
  q->setBlockShape(dims({2, -1}));
  EXPECT_EQ(list(q->getBlockShape()), (List{2, -1}));
  EXPECT_EQ(list(q->getOutput(1)->getDimensions()), (List{2, 1}));
  EXPECT_THAT(s.logger.take_errors(), IsEmpty());
  q->setBlockSize(0);
  q->setAxis(-2);
  q->setBlockShape(dims({0, 1}));
  EXPECT_THAT(s.logger.take_errors(),
              ::testing::AllOf(HasSubstr("the block size is 0"), HasSubstr("axis -2"),
                               HasSubstr("each extent must be positive")));
  EXPECT_EQ(s.network->addDynamicQuantizeV2(x, dims({0, 1}), DataType::kFP8, DataType::kE8M0),
            nullptr);
}

// Blocks of 4 in fp4 with scales in fp8, and back: the largest of a block stays.
TEST(QuantizeLayers, DynamicRun) {
  Session s;
  ITensor& x = s.input("x", {1, 8});
  IDynamicQuantizeLayer* q =
      s.network->addDynamicQuantizeV2(x, dims({1, 4}), DataType::kFP4, DataType::kFP8);
  IDequantizeLayer* d =
      s.network->addDequantize(*q->getOutput(0), *q->getOutput(1), DataType::kFLOAT);
  d->setBlockShape(dims({1, 4}));
  s.network->markOutput(*d->getOutput(0));
  const auto engine = s.engine();
  ASSERT_NE(engine, nullptr) << s.logger.take_errors();
  const std::unique_ptr<IExecutionContext> context(engine->createExecutionContext());
  Floats in{6, -1.2f, 0.2f, 3, 12, 5, 1, -12}, out(8);
  void* addresses[] = {in.data(), out.data()};
  ASSERT_TRUE(context->executeV2(addresses)) << s.logger.take_errors();
  EXPECT_THAT(out, ElementsAre(6, -1, 0, 3, 12, 4, 1, -12));
}

// Rounding, saturation and the way back, by hand.
TEST(QuantizeLayers, Run) {
  const std::vector<float> scales = {0.5f, 2, 4};
  Session s;
  ITensor &x = s.input("x", {2, 3}), &scale = constant(s, {3}, scales);
  IQuantizeLayer* q = s.network->addQuantize(x, scale, DataType::kINT8);
  q->setAxis(1);
  IDequantizeLayer* d = s.network->addDequantize(*q->getOutput(0), scale, DataType::kFLOAT);
  d->setAxis(1);
  d->getOutput(0)->setName("y");
  s.network->markOutput(*d->getOutput(0));
  const auto engine = s.engine();
  ASSERT_NE(engine, nullptr) << s.logger.take_errors();
  const std::unique_ptr<IExecutionContext> context(engine->createExecutionContext());
  Floats in{0.75f, 3, 1000, -100, 5, 10}, out(6);
  void* addresses[] = {in.data(), out.data()};
  ASSERT_TRUE(context->executeV2(addresses)) << s.logger.take_errors();
  EXPECT_THAT(out, ElementsAre(1, 4, 508, -64, 4, 8));
}

}  // namespace
}  // namespace tenon::testing
