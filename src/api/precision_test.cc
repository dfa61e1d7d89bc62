// Types of single layers and of whole networks through TensorRT's API.
#include <gmock/gmock.h>
#include <tenon/build.h>

#include "api/testing.h"

namespace tenon::testing {
namespace {

using namespace nvinfer1;  // the tests speak as an application does
using ::testing::HasSubstr;

// 2049 is no float16, and 259 no bfloat16.
struct Sums : Session {
  ILayer* layer = nullptr;
  Sums() {
    ITensor& x = input("x", {2});
    layer = network->addElementWise(x, constant(*this, {2}, {1, 3}), ElementWiseOperation::kSUM);
  }
  Floats run_with(BuilderFlag flag) {
    config->setFlag(flag);
    return run_floats(*this, *layer->getOutput(0), {{2048, 256}}, 2);
  }
};

TEST(Precisions, OfALayerIsObeyed) {
  Sums exact;
  EXPECT_EQ(exact.run_with(BuilderFlag::kOBEY_PRECISION_CONSTRAINTS), (Floats{2049, 259}));
  for (const BuilderFlag flag :
       {BuilderFlag::kOBEY_PRECISION_CONSTRAINTS, BuilderFlag::kPREFER_PRECISION_CONSTRAINTS}) {
    Sums half, bfloat;
    half.layer->setPrecision(DataType::kHALF);
    EXPECT_EQ(half.run_with(flag), (Floats{2048, 259}));
    bfloat.layer->setPrecision(DataType::kBF16);
    EXPECT_EQ(bfloat.run_with(flag), (Floats{2048, 260}));
  }
}

TEST(Precisions, OutputTypesAreObeyed) {
  Sums s;
  s.layer->setOutputType(0, DataType::kHALF);
  EXPECT_EQ(s.run_with(BuilderFlag::kOBEY_PRECISION_CONSTRAINTS), (Floats{2048, 259}));
}

TEST(Precisions, AreHintsWithoutAFlag) {
  Sums s;
  ASSERT_TRUE(set_target(*s.config, "cpu"));
  s.layer->setPrecision(DataType::kHALF);
  EXPECT_EQ(s.run_with(BuilderFlag::kFP16), (Floats{2049, 259}));
  const std::string warnings = s.logger.take_warnings();
  EXPECT_THAT(warnings, HasSubstr("the target cpu is no faster in float16 than in float32"));
  EXPECT_THAT(warnings, HasSubstr("its precision float16 is a hint that is not followed here"));
}

TEST(Precisions, InputsMayBeHalvesOfANetworkOfFloats) {
  Sums s;
  ITensor& x = *s.network->getInput(0);
  x.setType(DataType::kHALF);
  EXPECT_EQ(x.getType(), DataType::kHALF);
  EXPECT_EQ(s.layer->getOutput(0)->getType(), DataType::kFLOAT);
  const std::vector<_Float16> numbers{2048, 256};
  EXPECT_EQ(run(s, *s.layer->getOutput(0), {numbers.data()}, 2), (Floats{2049, 259}));
  EXPECT_EQ(s.engine()->getTensorDataType(x.getName()), DataType::kHALF);
}

// The scale is the larger end of the dynamic range / 127.
TEST(Precisions, InputsMayBeInt8OfANetworkOfFloats) {
  Session s;
  ITensor& x = s.input("x", {3});
  ITensor& y = *s.network->addElementWise(x, x, ElementWiseOperation::kSUM)->getOutput(0);
  x.setType(DataType::kINT8);
  EXPECT_EQ(x.getType(), DataType::kINT8);
  EXPECT_EQ(y.getType(), DataType::kFLOAT);
  EXPECT_TRUE(x.setDynamicRange(-254, 127));
  const std::vector<int8_t> quantized{-3, 0, 127};
  EXPECT_EQ(run(s, y, {quantized.data()}, 3), (Floats{-12, 0, 508}));
  EXPECT_EQ(s.engine()->getTensorDataType("x"), DataType::kINT8);
}

TEST(Precisions, Int8InputsOfANetworkOfFloatsNeedARange) {
  for (const bool has_range : {false, true}) {
    Session s;
    ITensor& x = s.input("x", {3});
    s.network->markOutput(*s.network->addActivation(x, ActivationType::kRELU)->getOutput(0));
    x.setType(DataType::kINT8);
    if (has_range) x.setDynamicRange(0, 0);
    EXPECT_EQ(s.build(), nullptr);
    EXPECT_THAT(s.logger.take_errors(), HasSubstr("input 'x' is int8, and layers read it as float"
                                                  "32: call ITensor::setDynamicRange"));
  }
}

// The scale is the larger end of the dynamic range / 127; results are rounded to even and
// saturated.
TEST(Precisions, OutputsMayBeInt8OfANetworkOfFloats) {
  for (const bool has_flag : {false, true}) {
    Session s;
    if (has_flag) s.config->setFlag(BuilderFlag::kINT8);
    ITensor& x = s.input("x", {5});
    ITensor& y = *s.network->addElementWise(x, x, ElementWiseOperation::kSUM)->getOutput(0);
    y.setName("y");
    y.setType(DataType::kINT8);
    EXPECT_TRUE(y.setDynamicRange(-254, 127));  // steps of 2
    s.network->markOutput(*s.network->addUnary(y, UnaryOperation::kNEG)->getOutput(0));
    s.network->markOutput(y);
    EXPECT_EQ(y.getType(), DataType::kINT8);
    const auto engine = s.engine();
    ASSERT_NE(engine, nullptr) << s.logger.take_errors();
    EXPECT_EQ(engine->getTensorDataType("y"), DataType::kINT8);
    EXPECT_STREQ(engine->getIOTensorName(2), "y") << "outputs keep their order";
    const std::unique_ptr<IExecutionContext> context(engine->createExecutionContext());
    const Floats numbers{-3, 2.5f, 0.5f, 1000, -1000};
    Floats negative(5);
    std::vector<int8_t> quantized(5);
    void* bindings[] = {const_cast<float*>(numbers.data()), negative.data(), quantized.data()};
    ASSERT_TRUE(context->executeV2(bindings));
    EXPECT_EQ(quantized, (std::vector<int8_t>{-3, 2, 0, 127, -128}));
    EXPECT_EQ(negative, (Floats{6, -5, -1, -2000, 2000}));
  }
}

TEST(Precisions, Int8OutputsOfANetworkOfFloatsNeedARange) {
  Session s;
  ITensor& y = *s.network->addActivation(s.input("x", {3}), ActivationType::kRELU)->getOutput(0);
  y.setName("y");
  s.network->markOutput(y);
  y.setType(DataType::kINT8);
  EXPECT_EQ(s.build(), nullptr);
  EXPECT_THAT(s.logger.take_errors(),
              HasSubstr("output 'y' is int8, and layers make it as float32: "
                        "call ITensor::setDynamicRange"));
}

TEST(Precisions, Int8OutputsOfQuantizeLayersNeedNoRange) {
  Session s;
  ITensor& x = s.input("x", {3});
  ITensor& y = *s.network->addQuantize(x, constant(s, {}, {0.5f}), DataType::kINT8)->getOutput(0);
  y.setName("y");
  s.network->markOutput(y);
  y.setType(DataType::kINT8);
  const auto engine = s.engine();
  ASSERT_NE(engine, nullptr) << s.logger.take_errors();
  const std::unique_ptr<IExecutionContext> context(engine->createExecutionContext());
  const Floats numbers{-1.5f, 0.2f, 100};
  std::vector<int8_t> quantized(3);
  void* bindings[] = {const_cast<float*>(numbers.data()), quantized.data()};
  ASSERT_TRUE(context->executeV2(bindings));
  EXPECT_EQ(quantized, (std::vector<int8_t>{-3, 0, 127}));
}

TEST(Precisions, Int8InputsThatLayersReadAsSuchNeedNoRange) {
  Session s;
  ITensor& x = s.input("x", {3});
  x.setType(DataType::kINT8);
  ITensor& half = constant(s, {}, {0.5f});
  ITensor& y = *s.network->addDequantize(x, half)->getOutput(0);
  x.setType(DataType::kINT8);
  const std::vector<int8_t> quantized{-3, 0, 127};
  EXPECT_EQ(run(s, y, {quantized.data()}, 3), (Floats{-1.5f, 0, 63.5f}));
}

TEST(Precisions, TargetsAreNamed) {
  Session s;
  EXPECT_STREQ(target(*s.config), "");
  EXPECT_FALSE(set_target(*s.config, "tpu"));
  EXPECT_THAT(s.logger.take_errors(),
              HasSubstr("there is no target \"tpu\"; expected cpu or cuda"));
  EXPECT_TRUE(set_target(*s.config, "cpu"));
  EXPECT_STREQ(target(*s.config), "cpu");
  EXPECT_THAT(known_targets(), ::testing::ElementsAre("cpu", "cuda"));
  EXPECT_FALSE(is_deterministic(*s.config));
  EXPECT_TRUE(set_deterministic(*s.config, true));
  EXPECT_TRUE(is_deterministic(*s.config));
  EXPECT_TRUE(set_portable(*s.config, true));
  EXPECT_EQ(weight_growth_limit(*s.config), SIZE_MAX);
  EXPECT_TRUE(set_weight_growth_limits(*s.config, 1000, 5000));
  EXPECT_EQ(layer_weight_growth_limit(*s.config), 1000u);
  EXPECT_EQ(weight_growth_limit(*s.config), 5000u);
  s.config->reset();
  EXPECT_STREQ(target(*s.config), "");
  EXPECT_FALSE(is_portable(*s.config));
  EXPECT_FALSE(is_deterministic(*s.config));
  EXPECT_EQ(weight_growth_limit(*s.config), SIZE_MAX);
}

TEST(Precisions, StronglyTypedNetworksKeepTheirTypes) {
  Session s;
  s.network.reset(s.builder->createNetworkV2(
      1u << static_cast<uint32_t>(NetworkDefinitionCreationFlag::kSTRONGLY_TYPED)));
  ITensor& x = s.input("x", {2});
  ILayer* cast = s.network->addCast(x, DataType::kHALF);
  ITensor* half = cast->getOutput(0);
  ILayer* sum = s.network->addElementWise(*half, *half, ElementWiseOperation::kSUM);
  EXPECT_EQ(sum->getOutput(0)->getType(), DataType::kHALF);
  sum->setPrecision(DataType::kFLOAT);
  EXPECT_THAT(s.logger.take_errors(), HasSubstr("strongly typed network"));
  s.config->setFlag(BuilderFlag::kBF16);
  ITensor* result = s.network->addCast(*sum->getOutput(0), DataType::kFLOAT)->getOutput(0);
  EXPECT_EQ(run_floats(s, *result, {{2049, 1.5f}}, 2), (Floats{4096, 3}));
  EXPECT_THAT(s.logger.take_warnings(), HasSubstr("a strongly typed network keeps its types"));
}

}  // namespace
}  // namespace tenon::testing
