// Runs of engines on arrays, as applications make them: device memory, addresses, a run, a copy.
#pragma once

#include <NvInfer.h>
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "array.h"
#include "late_memory.h"
#include "test/support/device_array.h"

namespace tenon::testing {

enum class Way { kEnqueueV3, kExecuteV2 };

inline bool start(nvinfer1::IExecutionContext& context, const std::vector<void*>& bindings,
                  Way way) {
  if (way == Way::kExecuteV2) return context.executeV2(bindings.data());
  cudaStream_t stream;
  EXPECT_EQ(cudaStreamCreate(&stream), cudaSuccess);
  const bool fine = context.enqueueV3(stream);
  EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
  EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
  return fine;
}

/// Runs an engine once; `inputs` has all inputs by name. Outputs get their memory from an
/// allocator. Empty, after failures of the test, when something fails.
inline tool::Arrays run_engine(nvinfer1::ICudaEngine& engine, const tool::Arrays& inputs, Way way) {
  using nvinfer1::TensorIOMode;
  const std::unique_ptr<nvinfer1::IExecutionContext> context(engine.createExecutionContext());
  EXPECT_NE(context, nullptr);
  if (context == nullptr) return {};
  std::vector<std::unique_ptr<DeviceArray>> memory(static_cast<size_t>(engine.getNbIOTensors()));
  std::vector<void*> bindings(memory.size());
  std::map<std::string, tool::LateMemory> results;
  for (const TensorIOMode mode : {TensorIOMode::kINPUT, TensorIOMode::kOUTPUT})
    for (int32_t i = 0; i < engine.getNbIOTensors(); ++i) {
      const char* name = engine.getIOTensorName(i);
      if (engine.getTensorIOMode(name) != mode) continue;
      auto& own = memory[static_cast<size_t>(i)];
      if (mode == TensorIOMode::kINPUT) {
        const tool::Array& array = inputs.at(name);
        EXPECT_TRUE(context->setInputShape(name, tool::to_dims(array.shape))) << name;
        own = std::make_unique<DeviceArray>(array.bytes.data(), array.bytes.size());
      } else {
        tool::LateMemory& result = results.try_emplace(name, engine).first->second;
        EXPECT_TRUE(context->setOutputAllocator(name, &result)) << name;
        continue;
      }
      bindings[static_cast<size_t>(i)] = own->data();
      EXPECT_TRUE(context->setTensorAddress(name, own->data())) << name;
    }
  const bool fine = start(*context, bindings, way);
  EXPECT_TRUE(fine);
  tool::Arrays outputs;
  for (int32_t i = 0; fine && i < engine.getNbIOTensors(); ++i) {
    const char* name = engine.getIOTensorName(i);
    if (engine.getTensorIOMode(name) == TensorIOMode::kINPUT) continue;
    const tool::LateMemory& result = results.at(name);
    const auto shape = tool::to_vector(context->getTensorShape(name));
    EXPECT_EQ(shape, result.shape()) << name;
    tool::Array& output = outputs[name] = tool::make_array(engine.getTensorDataType(name), shape);
    EXPECT_EQ(
        cudaMemcpy(output.bytes.data(), result.data(), output.bytes.size(), cudaMemcpyDeviceToHost),
        cudaSuccess);
  }
  return outputs;
}

}  // namespace tenon::testing
