// Plugins of both authoring layers in the engine: from ONNX and by addPluginV2, built, written as a
// plan, read back and run, against PyTorch and NumPy.
#include <gmock/gmock.h>

#include <array>
#include <cmath>

#include "npz.h"
#include "onnxplugin/onnxplugin.hpp"
#include "tenon_source_dir.h"
#include "test/support/engine.h"
#include "test/support/run.h"

namespace tenon {
namespace {

using namespace nvinfer1;  // NOLINT: a client of TensorRT
using ::testing::HasSubstr;

const std::string kFolder = TENON_SOURCE_DIR "/test/authoring/";

std::vector<double> values_of(const session::Array& array) {
  std::vector<double> values;
  for (int64_t i = 0; i < array.count(); ++i)
    values.push_back(array.type == DataType::kHALF ? static_cast<double>(array.as<_Float16>()[i])
                                                   : static_cast<double>(array.as<float>()[i]));
  return values;
}

void expect_close(const session::Array& actual, const session::Array& expected) {
  ASSERT_EQ(actual.shape, expected.shape);
  ASSERT_EQ(actual.type, expected.type);
  const bool half = expected.type == DataType::kHALF;
  const std::vector<double> a = values_of(actual), b = values_of(expected);
  for (size_t i = 0; i < a.size(); ++i)
    ASSERT_NEAR(a[i], b[i], (half ? 2e-3 : 1e-5) * (1 + std::abs(b[i]))) << i;
}

void expect_result(IHostMemory* plan, const session::Arrays& golden) {
  ASSERT_NE(plan, nullptr);
  testing::Logger logger;
  const std::unique_ptr<IRuntime> runtime(createInferRuntime(logger));
  const std::unique_ptr<ICudaEngine> engine(
      runtime->deserializeCudaEngine(plan->data(), plan->size()));
  ASSERT_NE(engine, nullptr);
  for (const testing::Way way : {testing::Way::kEnqueueV3, testing::Way::kExecuteV2}) {
    const session::Arrays outputs = testing::run_engine(*engine, {{"x", golden.at("x")}}, way);
    ASSERT_EQ(outputs.count("y"), 1u);
    expect_close(outputs.at("y"), golden.at("y"));
  }
}

class FromOnnx : public ::testing::TestWithParam<const char*> {};

TEST_P(FromOnnx, ComputesWhatPyTorchDoes) {
  const session::Arrays golden = tool::read_npz(kFolder + GetParam() + ".npz");
  testing::Logger logger;
  const auto plan = testing::build_plan(logger, kFolder + GetParam() + ".onnx",
                                        {{"x", {*session::to_dims(golden.at("x").shape)}}});
  expect_result(plan.get(), golden);
}

INSTANTIATE_TEST_SUITE_P(Models, FromOnnx,
                         ::testing::Values("biased_hswish", "biased_hswish_fp16", "tutorial_selu",
                                           "scaled_repeat"));

// A network of one plugin layer on x.
void expect_in_network(IPluginV2& plugin, const char* golden_name) {
  const session::Arrays golden = tool::read_npz(kFolder + golden_name + ".npz");
  testing::Logger logger;
  const std::unique_ptr<IBuilder> builder(createInferBuilder(logger));
  const std::unique_ptr<INetworkDefinition> network(builder->createNetworkV2(0));
  ITensor* x = network->addInput("x", DataType::kFLOAT, *session::to_dims(golden.at("x").shape));
  IPluginV2Layer* layer = network->addPluginV2(&x, 1, plugin);
  ASSERT_NE(layer, nullptr);
  layer->getOutput(0)->setName("y");
  network->markOutput(*layer->getOutput(0));
  const std::unique_ptr<IBuilderConfig> config(builder->createBuilderConfig());
  const std::unique_ptr<IHostMemory> plan(builder->buildSerializedNetwork(*network, *config));
  expect_result(plan.get(), golden);
}

struct Destroy {
  void operator()(IPluginV2* plugin) const { plugin->destroy(); }
};
using Plugin = std::unique_ptr<IPluginV2, Destroy>;

Plugin create(const char* name, std::vector<PluginField> fields) {
  IPluginCreator* creator = getPluginRegistry()->getPluginCreator(name, "1");
  EXPECT_NE(creator, nullptr) << name;
  const PluginFieldCollection collection{static_cast<int32_t>(fields.size()), fields.data()};
  return Plugin(creator->createPlugin("layer", &collection));
}

TEST(AddPluginV2, RunsAPluginOfMMDeploysKind) {
  const float scale = -2;
  const int32_t repeats[] = {2, 3};
  const Plugin plugin = create("ScaledRepeat", {{"scale", &scale, PluginFieldType::kFLOAT32, 1},
                                                {"repeats", repeats, PluginFieldType::kINT32, 2},
                                                {"mode", "repeat", PluginFieldType::kCHAR, 6}});
  expect_in_network(*plugin, "scaled_repeat");
}

TEST(AddPluginV2, RunsAPluginOfTensorRTProsKind) {
  expect_in_network(*create("TutorialSELU", {}), "tutorial_selu");
}

// An image's scale and bias for BiasedHSwish; the bias has as many elements as `count` says.
Plugin biased(const std::string& info, int32_t count) {
  static const std::array<float, 3> kBias{0.5f, 0, -0.5f};
  static const int32_t kShape[] = {3};
  return create("BiasedHSwish",
                {{"info", info.data(), PluginFieldType::kCHAR, static_cast<int32_t>(info.size())},
                 {"weights", kBias.data(), PluginFieldType::kFLOAT32, count},
                 {"weights_shape", kShape, PluginFieldType::kINT32, 1}});
}

TEST(TensorRTProLayer, RefusesWhatDoesNotFit) {
  EXPECT_NE(biased(R"({"scale": 2})", 3), nullptr);
  EXPECT_EQ(biased(R"({"scale": 2})", 2), nullptr);
  EXPECT_EQ(biased("no JSON", 3), nullptr);
  const Plugin plugin = biased(R"({"scale": 2})", 3);
  std::string bytes(plugin->getSerializationSize(), 0);
  plugin->serialize(bytes.data());
  IPluginCreator* creator = getPluginRegistry()->getPluginCreator("BiasedHSwish", "1");
  for (size_t size = 0; size < bytes.size(); ++size)
    ASSERT_EQ(creator->deserializePlugin("layer", bytes.data(), size), nullptr) << size;
  const Plugin again(creator->deserializePlugin("layer", bytes.data(), bytes.size()));
  ASSERT_NE(again, nullptr);
  std::string same(again->getSerializationSize(), 0);
  again->serialize(same.data());
  EXPECT_EQ(same, bytes);
}

// Contexts run clones at the same time.
TEST(TensorRTProLayer, ClonesHaveConfigurationsOfTheirOwn) {
  const Plugin first = biased(R"({"scale": 2})", 3);
  auto& original = static_cast<IPluginV2DynamicExt&>(*first);
  const std::unique_ptr<IPluginV2DynamicExt, Destroy> clone(original.clone());
  std::string before(original.getSerializationSize(), 0), after = before;
  original.serialize(before.data());
  DynamicPluginTensorDesc half{};
  half.desc.type = DataType::kHALF;
  half.max = Dims{1, {9}};
  clone->configurePlugin(&half, 1, &half, 1);
  EXPECT_LT(clone->getSerializationSize(), before.size());  // its weights are 16-bit now
  ASSERT_EQ(original.getSerializationSize(), before.size());
  original.serialize(after.data());
  EXPECT_EQ(after, before);
}

TEST(TensorRTProLayer, TensorsAndWeightsFindTheirElements) {
  const int extents[] = {2, 3, 4, 5};
  std::array<float, 120> memory{};
  const ONNXPlugin::GTensor tensor(memory.data(), 4, extents);
  EXPECT_EQ(tensor.count(), 120);
  EXPECT_EQ(tensor.count(2), 20);
  EXPECT_EQ(tensor.count(4), 0);
  EXPECT_EQ(tensor.offset(1, 2, 3, 4), 119);
  EXPECT_EQ(tensor.ptr<float>(1, 1), memory.data() + 80);
  EXPECT_EQ(tensor.width(), 5);
  EXPECT_THROW(tensor.offset(0, 0, 0, 0, 0), std::out_of_range);

  ONNXPlugin::Weight weight({2, 2}, ONNXPlugin::DataType::Float32);
  weight.at<float>(1, 0) = 1.5f;
  weight.to_float16();
  EXPECT_EQ(weight.data_bytes_, 8u);
  weight.to_float32();
  EXPECT_EQ(weight.at<float>(1, 0), 1.5f);
  EXPECT_STREQ(weight.shape_string(), "2 x 2");
  EXPECT_EQ(static_cast<float*>(weight.gpu())[2], 1.5f);
  EXPECT_THROW(ONNXPlugin::Weight({1 << 30, 1 << 30, 1 << 30}), std::invalid_argument);
}

}  // namespace
}  // namespace tenon
