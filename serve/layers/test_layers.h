// What tests of layers around a network build and run.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>

#include "tenon/serve/engine_instances.h"
#include "tenon/serve/infer.h"
#include "test_networks.h"

namespace tenon::serve {

inline constexpr int64_t kSide = 48, kClasses = 3, kBoxes = 60;

/// An engine of the network, whose unknown extents vary: the batch from 1 to 4, others from 6 to
/// 300.
inline std::shared_ptr<Infer> built(
    const std::function<void(nvinfer1::INetworkDefinition&)>& define) {
  session::ErrorLog log;
  const session::Engine engine =
      session::build_engine(log, [&](auto& builder, auto& network, auto& config) {
        define(network);
        auto* profile = builder.createOptimizationProfile();
        for (int32_t i = 0; i < network.getNbInputs(); ++i) {
          const nvinfer1::ITensor& input = *network.getInput(i);
          const auto shape = [&](int64_t batch, int64_t extent) {
            nvinfer1::Dims dims = input.getDimensions();
            for (int32_t k = 0; k < dims.nbDims; ++k)
              if (dims.d[k] < 0) dims.d[k] = k == 0 ? batch : extent;
            return dims;
          };
          using Selector = nvinfer1::OptProfileSelector;
          profile->setDimensions(input.getName(), Selector::kMIN, shape(1, 6));
          profile->setDimensions(input.getName(), Selector::kOPT, shape(2, 60));
          profile->setDimensions(input.getName(), Selector::kMAX, shape(4, 300));
        }
        config.addOptimizationProfile(profile);
      });
  if (engine.engine == nullptr) return nullptr;
  const std::unique_ptr<nvinfer1::IHostMemory> plan(engine.engine->serialize());
  auto infer = load_infer_from_memory(plan->data(), plan->size());
  EXPECT_TRUE(infer) << infer.error();
  return infer ? *infer : nullptr;
}

/// An input `x` of images, and a copy of it as the output.
inline void copy_input(nvinfer1::INetworkDefinition& network) {
  auto* x = network.addInput("x", DataType::kFLOAT, nvinfer1::Dims4(-1, 3, kSide, kSide));
  session::add_output(network, *network.addIdentity(*x)->getOutput(0), "y");
}

/// What a run on the inputs as they are gives.
inline Tensors outputs_of_run(Infer& infer) {
  const auto ran = infer.forward();
  EXPECT_TRUE(ran) << ran.error();
  Tensors outputs;
  for (int i = 0; i < infer.num_output(); ++i) outputs.push_back(*infer.output(i)->clone());
  return outputs;
}

/// What a call with an empty network gives.
inline std::string network_error(
    const std::function<std::string(nvinfer1::INetworkDefinition&)>& call) {
  session::ErrorLog log;
  const std::unique_ptr<nvinfer1::IBuilder> builder(nvinfer1::createInferBuilder(log));
  const std::unique_ptr<nvinfer1::INetworkDefinition> network(builder->createNetworkV2(0));
  return call(*network);
}

inline void expect_has(const std::string& text, const char* part) {
  EXPECT_NE(text.find(part), std::string::npos) << part << " is not in: " << text;
}

}  // namespace tenon::serve
