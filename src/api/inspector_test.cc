// What the engine inspector tells, as TensorRT's tools read it.
#include <tenon/build.h>

#include <nlohmann/json.hpp>

#include "api/cnn_testing.h"

namespace tenon::testing {
namespace {

using namespace nvinfer1;  // the tests speak as an application does
using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using Format = LayerInformationFormat;

class Inspected : public ::testing::Test {
 protected:
  // The engine of a CNN whose batch and extents are dynamic.
  void make(ProfilingVerbosity verbosity) {
    Cnn().add_to(s_, true);
    add_profile(s_, {1, 2, 4, 4}, {1, 2, 8, 8}, {2, 2, 16, 16});
    s_.config->setProfilingVerbosity(verbosity);
    engine_ = s_.engine();
    ASSERT_NE(engine_, nullptr) << s_.logger.take_errors();
    inspector_.reset(engine_->createEngineInspector());
  }
  json engine_json() { return json::parse(inspector_->getEngineInformation(Format::kJSON)); }
  // The layer of that kind.
  json layer_json(const std::string& kind) {
    for (int32_t i = 0; i < engine_->getNbLayers(); ++i) {
      json layer = json::parse(inspector_->getLayerInformation(i, Format::kJSON));
      if (layer["LayerType"] == kind) return layer;
    }
    ADD_FAILURE() << "no layer is a " << kind;
    return {};
  }

  Session s_;
  std::unique_ptr<ICudaEngine> engine_;
  std::unique_ptr<IEngineInspector> inspector_;
};

// Of sums of one product each, which are exact.
TEST_F(Inspected, TellsErrorsOfZeroWhereTheyWereMeasured) {
  ASSERT_TRUE(set_target(*s_.config, "cpu"));
  Floats diagonal(16);
  for (size_t i = 0; i < 4; ++i) diagonal[5 * i] = 2;
  ITensor& x = s_.input("x", {1, 4, 8, 8});
  ITensor& doubled =
      *s_.network->addConvolutionNd(x, 4, Dims2(1, 1), weights(diagonal), kNone)->getOutput(0);
  s_.network->markOutput(*s_.network->addSoftMax(doubled)->getOutput(0));
  s_.config->setProfilingVerbosity(ProfilingVerbosity::kDETAILED);
  engine_ = s_.engine();
  ASSERT_NE(engine_, nullptr) << s_.logger.take_errors();
  inspector_.reset(engine_->createEngineInspector());
  const json convolution = layer_json("Convolution");
  EXPECT_EQ(convolution["LargestError"], 0);
  EXPECT_EQ(convolution["RmsError"], 0);
  EXPECT_FALSE(layer_json("SoftMax").contains("LargestError"));
}

TEST_F(Inspected, TellsAllInDetail) {
#ifdef TENON_THREAD_SANITIZER
  GTEST_SKIP() << "this build has no convolution that takes a ReLU";
#endif
  make(ProfilingVerbosity::kDETAILED);
  const json engine = engine_json();
  EXPECT_EQ(engine["Bindings"], json({"image", "features"}));
  ASSERT_EQ(engine["Layers"].size(), static_cast<size_t>(engine_->getNbLayers()));
  for (int32_t i = 0; i < engine_->getNbLayers(); ++i) {
    const json& layer = engine["Layers"][static_cast<size_t>(i)];
    EXPECT_EQ(layer, json::parse(inspector_->getLayerInformation(i, Format::kJSON)));
    for (const char* name : {"Name", "LayerType", "Inputs", "Outputs", "ParameterType",
                             "TacticName", "TacticValue", "StreamId", "Metadata"})
      EXPECT_TRUE(layer.contains(name)) << name << " of " << layer;
    for (const char* list : {"Inputs", "Outputs"})
      for (const json& tensor : layer[list]) {
        for (const char* name : {"Name", "Location", "Dimensions", "Format/Datatype"})
          EXPECT_TRUE(tensor.contains(name)) << name << " of " << tensor;
        for (const json& extent : tensor["Dimensions"]) EXPECT_TRUE(extent.is_number_integer());
      }
  }
  const json conv = layer_json("Convolution");
  EXPECT_THAT(conv["Name"].get<std::string>(), StartsWith("conv + "));
  EXPECT_EQ(conv["Kernel"], json({3, 3}));
  EXPECT_EQ(conv["PrePadding"], json({1, 1}));
  EXPECT_EQ(conv["PostPadding"], json({1, 1}));
  EXPECT_EQ(conv["Stride"], json({1, 1}));
  EXPECT_EQ(conv["Dilation"], json({1, 1}));
  EXPECT_EQ(conv["PaddingMode"], "kEXPLICIT_ROUND_DOWN");
  EXPECT_EQ(conv["OutMaps"], 3);
  EXPECT_EQ(conv["Groups"], 1);
  EXPECT_EQ(conv["Weights"], json({{"Type", "Float"}, {"Count", 54}}));
  EXPECT_EQ(conv["Bias"], json({{"Type", "Float"}, {"Count", 3}}));
  EXPECT_EQ(conv["HasBias"], 1);
  EXPECT_EQ(conv["HasReLU"], 1);
  EXPECT_EQ(conv["Activation"], "RELU");
  const json pool = layer_json("Pooling");
  EXPECT_EQ(pool["PoolingType"], "MAX");
  EXPECT_EQ(pool["WindowSize"], json({2, 2}));
  // The last layer writes an output as the caller reads it.
  const json& out = engine["Layers"].back()["Outputs"][0];
  EXPECT_EQ(out["Name"], "features");
  EXPECT_EQ(out["Location"], "Device");
  EXPECT_EQ(out["Dimensions"], json({-1, 3, -1, -1}));
  EXPECT_EQ(out["Format/Datatype"], "Row major linear FP32");

  const std::string text = inspector_->getEngineInformation(Format::kONELINE);
  EXPECT_THAT(text, StartsWith("Layers:\nName: "));
  EXPECT_THAT(text, HasSubstr("\n\nBindings:\nimage\nfeatures\n"));
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), engine_->getNbLayers() + 5);
  EXPECT_THAT(text, AllOf(HasSubstr(", LayerType: Convolution, Inputs: [ { Name: "),
                          HasSubstr(", Dimensions: [-1,2,-1,-1], Format/Datatype: "),
                          HasSubstr(" }], Outputs: [ { Name: "), HasSubstr(", Kernel: [3,3], "),
                          HasSubstr("Weights: {\"Type\": \"Float\", \"Count\": 54}")));
}

TEST_F(Inspected, TellsTheShapesOfAContext) {
  make(ProfilingVerbosity::kDETAILED);
  const Context context(engine_->createExecutionContext());
  ASSERT_TRUE(inspector_->setExecutionContext(context.get()));
  context->setInputShape("image", dims({2, 2, 6, 8}));
  EXPECT_EQ(engine_json()["Layers"].back()["Outputs"][0]["Dimensions"], json({2, 3, 3, 4}));
  context->setInputShape("image", dims({1, 2, 4, 4}));
  EXPECT_EQ(engine_json()["Layers"].back()["Outputs"][0]["Dimensions"], json({1, 3, 2, 2}));
  EXPECT_THAT(inspector_->getEngineInformation(Format::kONELINE),
              HasSubstr("Name: features, Location: Device, Dimensions: [1,3,2,2], "
                        "Format/Datatype: Row major linear FP32 }"));
}

TEST_F(Inspected, TellsNamesAlone) {
  make(ProfilingVerbosity::kLAYER_NAMES_ONLY);
  const json engine = engine_json();
  EXPECT_EQ(engine["Bindings"], json({"image", "features"}));
  ASSERT_EQ(engine["Layers"].size(), static_cast<size_t>(engine_->getNbLayers()));
  std::string lines = "Layers:\n";
  for (int32_t i = 0; i < engine_->getNbLayers(); ++i) {
    const json& name = engine["Layers"][static_cast<size_t>(i)];
    ASSERT_TRUE(name.is_string()) << name;
    EXPECT_EQ(json::parse(inspector_->getLayerInformation(i, Format::kJSON)), name);
    EXPECT_EQ(inspector_->getLayerInformation(i, Format::kONELINE), name.get<std::string>() + "\n");
    lines += name.get<std::string>() + "\n";
  }
  EXPECT_EQ(inspector_->getEngineInformation(Format::kONELINE),
            lines + "\nBindings:\nimage\nfeatures\n");
}

TEST_F(Inspected, TellsNothingOfLayers) {
  make(ProfilingVerbosity::kNONE);
  EXPECT_EQ(engine_json(), json({{"Layers", json::array()}, {"Bindings", {"image", "features"}}}));
  EXPECT_STREQ(inspector_->getLayerInformation(0, Format::kONELINE), "\n");
  EXPECT_EQ(inspector_->getLayerInformation(9999, Format::kONELINE), nullptr);
}

}  // namespace
}  // namespace tenon::testing
