// An ONNX model as a function from tensors to tensors, for the examples: built with a profile, run
// with whatever shapes lie in it. TensorRT's API only.
#ifndef EXAMPLES_COMMON_MODEL_H
#define EXAMPLES_COMMON_MODEL_H

#include <NvInfer.h>
#include <NvOnnxParser.h>
#include <cuda_runtime_api.h>

#include <cstdio>
#include <cstring>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace examples {

inline void check(bool good, const std::string& what) {
  if (!good) throw std::runtime_error(what);
}
inline void check(cudaError_t status) {
  check(status == cudaSuccess, cudaGetErrorString(status));
}

/// Elements of any type, in host memory.
struct Tensor {
  nvinfer1::DataType type = nvinfer1::DataType::kFLOAT;
  nvinfer1::Dims shape{};
  std::vector<char> bytes;

  /// float32, all zero.
  static Tensor floats(const nvinfer1::Dims& dims) {
    Tensor tensor{nvinfer1::DataType::kFLOAT, dims, {}};
    tensor.bytes.resize(tensor.count() * sizeof(float));
    return tensor;
  }
  size_t count() const {
    size_t product = 1;
    for (int32_t i = 0; i < shape.nbDims; ++i) product *= static_cast<size_t>(shape.d[i]);
    return product;
  }
  template <class T> T* data() { return reinterpret_cast<T*>(bytes.data()); }
  template <class T> const T* data() const { return reinterpret_cast<const T*>(bytes.data()); }
};

class Logger final : public nvinfer1::ILogger {
  void log(Severity severity, const char* message) noexcept override {
    if (severity <= Severity::kERROR) std::fprintf(stderr, "%s\n", message);
  }
};

/// Memory for an output, as large as the run says: shapes may depend on the data.
class Output final : public nvinfer1::IOutputAllocator {
 public:
  ~Output() override { cudaFree(memory_); }
  void* reallocateOutputAsync(const char*, void*, uint64_t size, uint64_t,
                              cudaStream_t) noexcept override {
    if (size <= size_ && memory_ != nullptr) return memory_;
    cudaFree(memory_);
    memory_ = nullptr;
    size_ = size;
    return cudaMalloc(&memory_, size > 0 ? size : 1) == cudaSuccess ? memory_ : nullptr;
  }
  void notifyShape(const char*, const nvinfer1::Dims& dims) noexcept override { shape_ = dims; }

  const nvinfer1::Dims& shape() const { return shape_; }
  const void* memory() const { return memory_; }

 private:
  void* memory_ = nullptr;
  uint64_t size_ = 0;
  nvinfer1::Dims shape_{};
};

/// The smallest, the usual and the largest shape of an input.
struct Range {
  nvinfer1::Dims least, usual, most;
};

class Model {
 public:
  /// Builds an engine, which takes a moment. Throws when the model cannot be used.
  Model(const std::string& path, const std::map<std::string, Range>& ranges) {
    using nvinfer1::OptProfileSelector;
    std::unique_ptr<nvinfer1::IBuilder> builder(nvinfer1::createInferBuilder(logger_));
    std::unique_ptr<nvinfer1::INetworkDefinition> network(builder->createNetworkV2(0));
    std::unique_ptr<nvonnxparser::IParser> parser(nvonnxparser::createParser(*network, logger_));
    check(parser->parseFromFile(path.c_str(), 0), path + " cannot be used");
    std::unique_ptr<nvinfer1::IBuilderConfig> config(builder->createBuilderConfig());
    nvinfer1::IOptimizationProfile* profile = builder->createOptimizationProfile();
    for (const auto& [name, range] : ranges) {
      profile->setDimensions(name.c_str(), OptProfileSelector::kMIN, range.least);
      profile->setDimensions(name.c_str(), OptProfileSelector::kOPT, range.usual);
      profile->setDimensions(name.c_str(), OptProfileSelector::kMAX, range.most);
    }
    config->addOptimizationProfile(profile);
    std::unique_ptr<nvinfer1::IHostMemory> plan(builder->buildSerializedNetwork(*network, *config));
    check(plan != nullptr, path + " cannot be built");
    runtime_.reset(nvinfer1::createInferRuntime(logger_));
    engine_.reset(runtime_->deserializeCudaEngine(plan->data(), plan->size()));
    check(engine_ != nullptr, path + ": its plan cannot be used");
    context_.reset(engine_->createExecutionContext());
    check(context_ != nullptr, path + ": no context");
    check(cudaStreamCreate(&stream_));
  }
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;
  ~Model() { cudaStreamDestroy(stream_); }

  /// The outputs, by name. Throws when a shape lies outside its range.
  std::map<std::string, Tensor> run(const std::map<std::string, Tensor>& inputs) {
    std::vector<std::unique_ptr<void, cudaError_t (*)(void*)>> memory;
    for (const auto& [name, tensor] : inputs) {
      void* data = nullptr;
      check(cudaMalloc(&data, tensor.bytes.size()));
      memory.emplace_back(data, &cudaFree);
      check(cudaMemcpyAsync(data, tensor.bytes.data(), tensor.bytes.size(), cudaMemcpyHostToDevice,
                            stream_));
      check(context_->setInputShape(name.c_str(), tensor.shape)
                && context_->setTensorAddress(name.c_str(), data),
            "input " + name + " does not fit the model");
    }
    std::map<std::string, Output> outputs;
    for (int32_t i = 0; i < engine_->getNbIOTensors(); ++i) {
      const char* name = engine_->getIOTensorName(i);
      if (engine_->getTensorIOMode(name) == nvinfer1::TensorIOMode::kOUTPUT)
        context_->setOutputAllocator(name, &outputs[name]);
    }
    check(context_->enqueueV3(stream_), "the model cannot run");
    check(cudaStreamSynchronize(stream_));
    std::map<std::string, Tensor> results;
    for (const auto& [name, output] : outputs) results[name] = copied(name.c_str(), output);
    return results;
  }

 private:
  Tensor copied(const char* name, const Output& output) const {
    Tensor tensor{engine_->getTensorDataType(name), output.shape(), {}};
    tensor.bytes.resize(tensor.count()
                        * static_cast<size_t>(tensor.type == nvinfer1::DataType::kINT64 ? 8 : 4));
    check(cudaMemcpy(tensor.bytes.data(), output.memory(), tensor.bytes.size(),
                     cudaMemcpyDeviceToHost));
    return tensor;
  }

  Logger logger_;
  std::unique_ptr<nvinfer1::IRuntime> runtime_;
  std::unique_ptr<nvinfer1::ICudaEngine> engine_;
  std::unique_ptr<nvinfer1::IExecutionContext> context_;
  cudaStream_t stream_ = nullptr;
};

}  // namespace examples

#endif  // EXAMPLES_COMMON_MODEL_H
