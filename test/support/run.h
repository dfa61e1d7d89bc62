// Runs of engines on arrays, as applications make them: device memory, addresses, a run, a copy.
#pragma once

#include <NvInfer.h>
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "array.h"

namespace tenon::testing {

/// Device memory of a test.
class DeviceArray {
 public:
  explicit DeviceArray(size_t bytes) { EXPECT_EQ(cudaMalloc(&data_, bytes), cudaSuccess); }
  explicit DeviceArray(const tool::Array& array) : DeviceArray(array.bytes.size()) {
    EXPECT_EQ(cudaMemcpy(data_, array.bytes.data(), array.bytes.size(), cudaMemcpyHostToDevice),
              cudaSuccess);
  }
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;
  ~DeviceArray() { cudaFree(data_); }
  void* data() const { return data_; }
  void read(tool::Array& array) const {
    EXPECT_EQ(cudaMemcpy(array.bytes.data(), data_, array.bytes.size(), cudaMemcpyDeviceToHost),
              cudaSuccess);
  }

 private:
  void* data_ = nullptr;
};

/// Memory for an output whose shape only the run tells.
class LateOutput final : public nvinfer1::IOutputAllocator {
 public:
  void* reallocateOutputAsync(const char*, void*, uint64_t size, uint64_t,
                              cudaStream_t) noexcept override {
    memory_ = std::make_unique<DeviceArray>(static_cast<size_t>(size));
    return memory_->data();
  }
  void notifyShape(const char*, const nvinfer1::Dims& dims) noexcept override { shape_ = dims; }
  const nvinfer1::Dims& shape() const { return shape_; }
  void read(tool::Array& array) const {
    if (!array.bytes.empty()) memory_->read(array);
  }

 private:
  std::unique_ptr<DeviceArray> memory_;
  nvinfer1::Dims shape_{};
};

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

/// Runs an engine once; `inputs` has all inputs by name. Outputs whose shape depends on data get
/// their memory when the run asks for it. Empty, after
/// failures of the test, when something fails.
inline tool::Arrays run_engine(nvinfer1::ICudaEngine& engine, const tool::Arrays& inputs, Way way) {
  using nvinfer1::TensorIOMode;
  const std::unique_ptr<nvinfer1::IExecutionContext> context(engine.createExecutionContext());
  EXPECT_NE(context, nullptr);
  if (context == nullptr) return {};
  std::vector<std::unique_ptr<DeviceArray>> memory(static_cast<size_t>(engine.getNbIOTensors()));
  std::vector<void*> bindings(memory.size());
  std::map<std::string, LateOutput> late;
  for (const TensorIOMode mode : {TensorIOMode::kINPUT, TensorIOMode::kOUTPUT})
    for (int32_t i = 0; i < engine.getNbIOTensors(); ++i) {
      const char* name = engine.getIOTensorName(i);
      if (engine.getTensorIOMode(name) != mode) continue;
      auto& own = memory[static_cast<size_t>(i)];
      if (mode == TensorIOMode::kINPUT) {
        const tool::Array& array = inputs.at(name);
        EXPECT_TRUE(context->setInputShape(name, tool::to_dims(array.shape))) << name;
        own = std::make_unique<DeviceArray>(array);
      } else if (const auto shape = tool::to_vector(context->getTensorShape(name));
                 std::find(shape.begin(), shape.end(), -1) != shape.end()) {
        EXPECT_TRUE(context->setOutputAllocator(name, &late[name])) << name;
        continue;
      } else {
        own = std::make_unique<DeviceArray>(static_cast<size_t>(context->getMaxOutputSize(name)));
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
    const auto found = late.find(name);
    outputs[name] =
        tool::make_array(engine.getTensorDataType(name),
                         tool::to_vector(found != late.end() ? found->second.shape()
                                                             : context->getTensorShape(name)));
    if (found != late.end())
      found->second.read(outputs[name]);
    else
      memory[static_cast<size_t>(i)]->read(outputs[name]);
  }
  return outputs;
}

}  // namespace tenon::testing
