// Engines for tests, made through the public interface as applications make them.
#pragma once

#include <NvInfer.h>
#include <NvInferPlugin.h>
#include <NvOnnxParser.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace tenon::testing {

/// Every error and warning is a failure of the test, or every error.
class Logger final : public nvinfer1::ILogger {
 public:
  explicit Logger(Severity worst = Severity::kWARNING) : worst_(worst) {}
  void log(Severity severity, const char* text) noexcept override {
    if (severity <= worst_) ADD_FAILURE() << text;
  }

 private:
  Severity worst_;
};

/// Shapes of an input, one per case that an engine must serve.
using InputShapes = std::map<std::string, std::vector<nvinfer1::Dims>>;

using Adjust = std::function<void(nvinfer1::INetworkDefinition&, nvinfer1::IBuilderConfig&)>;

/// The plan of an ONNX model for the smallest profile that holds all `shapes`; the first of each is
/// its optimum. `adjust` may change network and configuration first. Null, after failures of the
/// test, when it cannot be built.
inline std::unique_ptr<nvinfer1::IHostMemory> build_plan(nvinfer1::ILogger& logger,
                                                         const std::string& model,
                                                         const InputShapes& shapes,
                                                         const Adjust& adjust = {}) {
  using nvinfer1::OptProfileSelector;
  initLibNvInferPlugins(&logger, "");
  const std::unique_ptr<nvinfer1::IBuilder> builder(nvinfer1::createInferBuilder(logger));
  const std::unique_ptr<nvinfer1::INetworkDefinition> network(builder->createNetworkV2(0));
  const std::unique_ptr<nvonnxparser::IParser> parser(nvonnxparser::createParser(*network, logger));
  if (!parser->parseFromFile(model.c_str(),
                             static_cast<int>(nvinfer1::ILogger::Severity::kWARNING)))
    return nullptr;
  const std::unique_ptr<nvinfer1::IBuilderConfig> config(builder->createBuilderConfig());
  nvinfer1::IOptimizationProfile* profile = builder->createOptimizationProfile();
  for (const auto& [name, list] : shapes) {
    nvinfer1::Dims least = list.at(0), most = list.at(0);
    for (const nvinfer1::Dims& one : list)
      for (int32_t axis = 0; axis < least.nbDims; ++axis) {
        least.d[axis] = std::min(least.d[axis], one.d[axis]);
        most.d[axis] = std::max(most.d[axis], one.d[axis]);
      }
    EXPECT_TRUE(profile->setDimensions(name.c_str(), OptProfileSelector::kMIN, least));
    EXPECT_TRUE(profile->setDimensions(name.c_str(), OptProfileSelector::kOPT, list[0]));
    EXPECT_TRUE(profile->setDimensions(name.c_str(), OptProfileSelector::kMAX, most));
  }
  EXPECT_EQ(config->addOptimizationProfile(profile), 0);
  config->clearFlag(nvinfer1::BuilderFlag::kTF32);  // expected values are those of float32
  if (adjust) adjust(*network, *config);
  return std::unique_ptr<nvinfer1::IHostMemory>(builder->buildSerializedNetwork(*network, *config));
}

}  // namespace tenon::testing
