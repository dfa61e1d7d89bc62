// What the tests of the API share: an application's logger and error recorder, and short names.
#pragma once

#include <NvInfer.h>
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace tenon::testing {

/// Keeps what was logged at kWARNING or worse.
class CapturingLogger final : public nvinfer1::ILogger {
 public:
  void log(Severity severity, const char* message) noexcept override {
    const std::lock_guard lock(mutex_);
    if (severity <= Severity::kERROR)
      errors_ += std::string(message) + "\n";
    else if (severity == Severity::kWARNING)
      warnings_ += std::string(message) + "\n";
  }
  /// What was logged since the last call.
  std::string take_errors() {
    const std::lock_guard lock(mutex_);
    return std::exchange(errors_, "");
  }
  std::string take_warnings() {
    const std::lock_guard lock(mutex_);
    return std::exchange(warnings_, "");
  }

 private:
  std::mutex mutex_;
  std::string errors_, warnings_;
};

class Recorder final : public nvinfer1::IErrorRecorder {
 public:
  int32_t getNbErrors() const noexcept override { return static_cast<int32_t>(list.size()); }
  nvinfer1::ErrorCode getErrorCode(int32_t i) const noexcept override {
    return list[static_cast<size_t>(i)].first;
  }
  ErrorDesc getErrorDesc(int32_t i) const noexcept override {
    return list[static_cast<size_t>(i)].second.c_str();
  }
  bool hasOverflowed() const noexcept override { return false; }
  void clear() noexcept override { list.clear(); }
  bool reportError(nvinfer1::ErrorCode code, ErrorDesc text) noexcept override {
    list.emplace_back(code, text);
    return true;
  }
  RefCount incRefCount() noexcept override { return ++references; }
  RefCount decRefCount() noexcept override { return --references; }

  std::vector<std::pair<nvinfer1::ErrorCode, std::string>> list;
  int32_t references = 0;
};

using List = std::vector<int64_t>;
using Floats = std::vector<float>;

inline nvinfer1::Dims dims(std::initializer_list<int64_t> extents) {
  nvinfer1::Dims d{static_cast<int32_t>(extents.size()), {}};
  std::copy(extents.begin(), extents.end(), d.d);
  return d;
}

inline List list(const nvinfer1::Dims& d) {
  if (d.nbDims < 0) return {-100};  // "none", told apart from a scalar
  return {d.d, d.d + d.nbDims};
}

inline nvinfer1::Weights weights(const std::vector<float>& values) {
  return {nvinfer1::DataType::kFLOAT, values.data(), static_cast<int64_t>(values.size())};
}

constexpr nvinfer1::Weights kNone{nvinfer1::DataType::kFLOAT, nullptr, 0};

/// A builder, and a network and configuration of it.
struct Session {
  CapturingLogger logger;
  std::unique_ptr<nvinfer1::IBuilder> builder{nvinfer1::createInferBuilder(logger)};
  std::unique_ptr<nvinfer1::INetworkDefinition> network{builder->createNetworkV2(0)};
  std::unique_ptr<nvinfer1::IBuilderConfig> config{builder->createBuilderConfig()};
  std::unique_ptr<nvinfer1::IRuntime> runtime{nvinfer1::createInferRuntime(logger)};

  nvinfer1::ITensor& input(const char* name, std::initializer_list<int64_t> extents,
                           nvinfer1::DataType type = nvinfer1::DataType::kFLOAT) {
    return *network->addInput(name, type, dims(extents));
  }
  std::unique_ptr<nvinfer1::IHostMemory> build() {
    return std::unique_ptr<nvinfer1::IHostMemory>(
        builder->buildSerializedNetwork(*network, *config));
  }
  std::unique_ptr<nvinfer1::ICudaEngine> engine() {
    const auto plan = build();
    if (plan == nullptr) return nullptr;
    return std::unique_ptr<nvinfer1::ICudaEngine>(
        runtime->deserializeCudaEngine(plan->data(), plan->size()));
  }
};

inline nvinfer1::ITensor& constant(Session& s, std::initializer_list<int64_t> extents,
                                   const Floats& values) {
  return *s.network->addConstant(dims(extents), weights(values))->getOutput(0);
}

/// What a network of one output of `count` floats gives for its inputs' data.
inline Floats run(Session& s, nvinfer1::ITensor& result, const std::vector<const void*>& inputs,
                  size_t count) {
  s.network->markOutput(result);
  result.setName("result");
  const auto engine = s.engine();
  EXPECT_EQ(s.logger.take_errors(), "");
  if (engine == nullptr) return {};
  const std::unique_ptr<nvinfer1::IExecutionContext> context(engine->createExecutionContext());
  Floats out(count);
  for (size_t i = 0; i < inputs.size(); ++i)
    context->setTensorAddress(s.network->getInput(static_cast<int32_t>(i))->getName(),
                              const_cast<void*>(inputs[i]));
  context->setTensorAddress("result", out.data());
  EXPECT_TRUE(context->enqueueV3(nullptr));
  EXPECT_EQ(cudaStreamSynchronize(nullptr), cudaSuccess);
  return out;
}
inline Floats run_floats(Session& s, nvinfer1::ITensor& result, const std::vector<Floats>& inputs,
                         size_t count) {
  std::vector<const void*> addresses;
  for (const Floats& values : inputs) addresses.push_back(values.data());
  return run(s, result, addresses, count);
}

}  // namespace tenon::testing
