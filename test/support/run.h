// Runs of engines on arrays, as applications make them: memory, addresses, a run, a copy.
#pragma once

#include <NvInfer.h>
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>
#include <tenon/session/array.h>
#include <tenon/session/context.h>
#include <tenon/session/output.h>

#include <memory>
#include <vector>

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
inline session::Arrays run_engine(nvinfer1::ICudaEngine& engine, const session::Arrays& inputs,
                                  Way way) {
  const auto made = session::Context::make(engine, 0, nullptr, nullptr);
  EXPECT_TRUE(made) << made.error();
  if (!made) return {};
  session::Context& context = **made;
  const size_t count = context.tensors().size();
  std::vector<session::Memory> memory;
  std::vector<std::unique_ptr<session::GrowingOutput>> results(count);
  std::vector<void*> bindings(count);
  for (size_t i = 0; i < count; ++i) {
    const session::Tensor& tensor = context.tensors()[i];
    if (!tensor.is_input) {
      results[i] = std::make_unique<session::GrowingOutput>(session::Memory(engine));
      EXPECT_TRUE(context.set_output(i, results[i].get())) << tensor.name;
      continue;
    }
    const session::Array& array = inputs.at(tensor.name);
    session::Memory& own = memory.emplace_back(engine);
    EXPECT_EQ(own.reserve(array.bytes.size()), cudaSuccess);
    bindings[i] = own.data();
    EXPECT_EQ(
        cudaMemcpy(own.data(), array.bytes.data(), array.bytes.size(), cudaMemcpyHostToDevice),
        cudaSuccess);
    EXPECT_TRUE(context.set_shape(i, *session::to_dims(array.shape))) << tensor.name;
    EXPECT_TRUE(context.set_address(i, own.data())) << tensor.name;
  }
  const bool fine = start(context.get(), bindings, way);
  EXPECT_TRUE(fine);
  session::Arrays outputs;
  for (size_t i = 0; fine && i < count; ++i) {
    if (results[i] == nullptr) continue;
    const session::Tensor& tensor = context.tensors()[i];
    const auto shape = session::to_shape(context.shape(i));
    EXPECT_EQ(shape, session::to_shape(results[i]->shape())) << tensor.name;
    session::Array& output = outputs[tensor.name] = *session::make_array(tensor.type, shape);
    EXPECT_EQ(cudaMemcpy(output.bytes.data(), results[i]->data(), output.bytes.size(),
                         cudaMemcpyDeviceToHost),
              cudaSuccess);
  }
  return outputs;
}

}  // namespace tenon::testing
