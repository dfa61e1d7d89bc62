// Small networks for the tests of this folder.
#pragma once

#include <NvInfer.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>

#include "tenon/session/engine.h"

namespace tenon::session {

using nvinfer1::DataType;
using nvinfer1::Dims;
using nvinfer1::OptProfileSelector;

/// Defines a network, and its profiles, which the builder makes.
using Define = std::function<void(nvinfer1::IBuilder&, nvinfer1::INetworkDefinition&,
                                  nvinfer1::IBuilderConfig&)>;

inline Engine build_engine(ErrorLog& log, const Define& define) {
  const std::unique_ptr<nvinfer1::IBuilder> builder(nvinfer1::createInferBuilder(log));
  const std::unique_ptr<nvinfer1::INetworkDefinition> network(builder->createNetworkV2(0));
  const std::unique_ptr<nvinfer1::IBuilderConfig> config(builder->createBuilderConfig());
  define(*builder, *network, *config);
  const std::unique_ptr<nvinfer1::IHostMemory> plan(
      builder->buildSerializedNetwork(*network, *config));
  EXPECT_NE(plan, nullptr) << log.take_error();
  if (plan == nullptr) return {};
  auto engine = Engine::load(*plan, log);
  EXPECT_TRUE(engine) << engine.error();
  return engine ? *std::move(engine) : Engine();
}

inline void add_output(nvinfer1::INetworkDefinition& network, nvinfer1::ITensor& tensor,
                       const char* name) {
  tensor.setName(name);
  network.markOutput(tensor);
}

/// y = x + x of shape (-1, 3); profile 0 has 1 to 2 rows, at best 2, profile 1 has 3 to 5, at
/// best 4.
inline Engine build_sum(ErrorLog& log) {
  return build_engine(log, [](auto& builder, auto& network, auto& config) {
    auto* x = network.addInput("x", DataType::kFLOAT, Dims{2, {-1, 3}});
    add_output(network,
               *network.addElementWise(*x, *x, nvinfer1::ElementWiseOperation::kSUM)->getOutput(0),
               "y");
    constexpr int64_t kRows[2][3] = {{1, 2, 2}, {3, 4, 5}};
    for (const auto& [min, opt, max] : kRows) {
      auto* profile = builder.createOptimizationProfile();
      profile->setDimensions("x", OptProfileSelector::kMIN, Dims{2, {min, 3}});
      profile->setDimensions("x", OptProfileSelector::kOPT, Dims{2, {opt, 3}});
      profile->setDimensions("x", OptProfileSelector::kMAX, Dims{2, {max, 3}});
      config.addOptimizationProfile(profile);
    }
  });
}

/// y = factor * x of shape (-1, 3), of 1 to `max` rows.
inline Engine build_scaled(ErrorLog& log, float factor, int64_t max) {
  return build_engine(log, [=](auto& builder, auto& network, auto& config) {
    auto* x = network.addInput("x", DataType::kFLOAT, Dims{2, {-1, 3}});
    const nvinfer1::Weights weights{DataType::kFLOAT, &factor, 1};
    auto* constant = network.addConstant(Dims{2, {1, 1}}, weights)->getOutput(0);
    using Operation = nvinfer1::ElementWiseOperation;
    add_output(network, *network.addElementWise(*x, *constant, Operation::kPROD)->getOutput(0),
               "y");
    auto* profile = builder.createOptimizationProfile();
    profile->setDimensions("x", OptProfileSelector::kMIN, Dims{2, {1, 3}});
    profile->setDimensions("x", OptProfileSelector::kOPT, Dims{2, {max, 3}});
    profile->setDimensions("x", OptProfileSelector::kMAX, Dims{2, {max, 3}});
    config.addOptimizationProfile(profile);
  });
}

/// The plan that an engine was made of, as a file has it.
inline std::string plan_of(const Engine& built) {
  const std::unique_ptr<nvinfer1::IHostMemory> plan(built.engine->serialize());
  return {static_cast<const char*>(plan->data()), plan->size()};
}

/// y is the first min(count, 10) elements of x, and echo is count; count is a shape tensor of
/// `type`, at best `opt`.
inline Engine build_first(ErrorLog& log, DataType type, int64_t opt) {
  return build_engine(log, [=](auto& builder, auto& network, auto& config) {
    auto* x = network.addInput("x", DataType::kFLOAT, Dims{1, {10}});
    auto* count = network.addInput("count", type, Dims{1, {1}});
    static constexpr int64_t kTen = 10;
    nvinfer1::ITensor* wide = count;
    if (type != DataType::kINT64) wide = network.addCast(*count, DataType::kINT64)->getOutput(0);
    auto* ten = network.addConstant(Dims{1, {1}}, {DataType::kINT64, &kTen, 1})->getOutput(0);
    auto* size = network.addElementWise(*wide, *ten, nvinfer1::ElementWiseOperation::kMIN);
    auto* slice = network.addSlice(*x, Dims{1, {0}}, Dims{1, {10}}, Dims{1, {1}});
    slice->setInput(2, *size->getOutput(0));
    add_output(network, *slice->getOutput(0), "y");
    add_output(network, *network.addIdentity(*count)->getOutput(0), "echo");
    auto* profile = builder.createOptimizationProfile();
    const int64_t min = 0, max = type == DataType::kINT64 ? INT64_MAX : INT32_MAX;
    profile->setShapeValuesV2("count", OptProfileSelector::kMIN, &min, 1);
    profile->setShapeValuesV2("count", OptProfileSelector::kOPT, &opt, 1);
    profile->setShapeValuesV2("count", OptProfileSelector::kMAX, &max, 1);
    config.addOptimizationProfile(profile);
  });
}

/// y has the positions of what is not zero in x, of shape (6).
inline Engine build_non_zero(ErrorLog& log) {
  return build_engine(log, [](auto&, auto& network, auto&) {
    auto* x = network.addInput("x", DataType::kFLOAT, Dims{1, {6}});
    add_output(network, *network.addNonZero(*x)->getOutput(0), "y");
  });
}

}  // namespace tenon::session
