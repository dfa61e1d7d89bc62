// Plugins that say what is called, and misbehave where a test tells them to.
#pragma once

#include <NvInferRuntime.h>
#include <tenon/plugin_host.h>

#include <cstring>
#include <string>
#include <vector>

#include "base/dtype.h"
#include "base/shape.h"

namespace tenon::testing {

using nvinfer1::DimensionOperation;
using nvinfer1::DimsExprs;
using nvinfer1::DynamicPluginTensorDesc;
using nvinfer1::IExprBuilder;
using nvinfer1::PluginTensorDesc;

inline std::vector<std::string> calls;  // the life cycle of the plugins below

// How a plugin below misbehaves.
struct Faults {
  int32_t outputs = 1, version = 0, initialize = 0, enqueue = 0, rank = 2, status = 0;
  int32_t aliased_input = -1;
  bool null_clone = false, null_expression = false, size_tensor = false, divides_by_zero = false;
  DataType type = DataType::kFLOAT;
};

// Version 2: output = input * factor, with rows doubled; the factor is its blob.
class TimesV2 : public nvinfer1::IPluginV2DynamicExt {
 public:
  explicit TimesV2(float factor, Faults faults = {}) : factor_(factor), faults_(faults) {}
  int32_t getTensorRTVersion() const noexcept override {
    return faults_.version != 0 ? faults_.version : IPluginV2DynamicExt::getTensorRTVersion();
  }
  const char* getPluginType() const noexcept override { return "Times"; }
  const char* getPluginVersion() const noexcept override { return "1"; }
  int32_t getNbOutputs() const noexcept override { return faults_.outputs; }
  int32_t initialize() noexcept override {
    calls.push_back("initialize");
    return faults_.initialize;
  }
  void terminate() noexcept override { calls.push_back("terminate"); }
  size_t getSerializationSize() const noexcept override { return sizeof(factor_); }
  void serialize(void* to) const noexcept override { std::memcpy(to, &factor_, sizeof(factor_)); }
  void destroy() noexcept override {
    calls.push_back("destroy");
    delete this;
  }
  TimesV2* clone() const noexcept override {
    calls.push_back("clone");
    return faults_.null_clone ? nullptr : new TimesV2(factor_, faults_);
  }
  void setPluginNamespace(const char* n) noexcept override { name_space_ = n; }
  const char* getPluginNamespace() const noexcept override { return name_space_.c_str(); }
  DataType getOutputDataType(int32_t, const DataType*, int32_t) const noexcept override {
    return faults_.type;
  }
  DimsExprs getOutputDimensions(int32_t, const DimsExprs* in, int32_t,
                                IExprBuilder& build) noexcept override {
    DimsExprs out = in[0];
    out.nbDims = faults_.rank;
    if (faults_.rank < 0) tenonReportPluginError("no rank today");
    const auto divisor = build.constant(faults_.divides_by_zero ? 0 : 1);
    out.d[0] = build.operation(DimensionOperation::kFLOOR_DIV, *in[0].d[0], *divisor);
    out.d[1] = build.operation(DimensionOperation::kPROD, *in[0].d[1], *build.constant(2));
    if (faults_.null_expression) out.d[1] = nullptr;
    if (faults_.size_tensor) out.d[1] = build.declareSizeTensor(1, *out.d[0], *out.d[0]);
    return out;
  }
  bool supportsFormatCombination(int32_t position, const PluginTensorDesc* all, int32_t,
                                 int32_t) noexcept override {
    return all[position].type == DataType::kFLOAT;
  }
  void configurePlugin(const DynamicPluginTensorDesc* in, int32_t, const DynamicPluginTensorDesc*,
                       int32_t) noexcept override {
    calls.push_back("configure " + Shape(in[0].desc.dims).str());
  }
  size_t getWorkspaceSize(const PluginTensorDesc*, int32_t, const PluginTensorDesc*,
                          int32_t) const noexcept override {
    calls.push_back("workspace");
    return sizeof(float);
  }
  void attachToContext(cudnnContext*, cublasContext*,
                       nvinfer1::IGpuAllocator* allocator) noexcept override {
    calls.push_back(allocator != nullptr ? "attach" : "attach without allocator");
  }
  void detachFromContext() noexcept override { calls.push_back("detach"); }
  int32_t enqueue(const PluginTensorDesc* in, const PluginTensorDesc* out,
                  const void* const* inputs, void* const* outputs, void* workspace,
                  cudaStream_t) noexcept override {
    calls.push_back("enqueue");
    *static_cast<float*>(workspace) = factor_;
    const auto* x = static_cast<const float*>(inputs[0]);
    auto* y = static_cast<float*>(outputs[0]);
    for (int64_t i = 0; i < Shape(out[0].dims).volume(); ++i)
      y[i] = x[i % Shape(in[0].dims).volume()] * *static_cast<float*>(workspace);
    return faults_.enqueue;
  }

 private:
  float factor_;
  Faults faults_;
  std::string name_space_;
};

class TimesV2Creator final : public nvinfer1::IPluginCreator {
 public:
  const char* getPluginName() const noexcept override { return "Times"; }
  const char* getPluginVersion() const noexcept override { return "1"; }
  const nvinfer1::PluginFieldCollection* getFieldNames() noexcept override { return nullptr; }
  nvinfer1::IPluginV2* createPlugin(const char*,
                                    const nvinfer1::PluginFieldCollection*) noexcept override {
    return nullptr;
  }
  nvinfer1::IPluginV2* deserializePlugin(const char*, const void* data,
                                         size_t size) noexcept override {
    float factor = 0;
    if (size != sizeof(factor)) return nullptr;
    std::memcpy(&factor, data, size);
    return new TimesV2(factor);
  }
  void setPluginNamespace(const char*) noexcept override {}
  const char* getPluginNamespace() const noexcept override { return ""; }
};

// Version 3: fills the shape that its shape input says with the sum of the input, times factor.
class FillV3 final : public nvinfer1::IPluginV3,
                     public nvinfer1::IPluginV3OneCore,
                     public nvinfer1::IPluginV3OneBuildV2,
                     public nvinfer1::IPluginV3OneRuntime {
 public:
  explicit FillV3(std::vector<int64_t> factors, Faults faults = {})
      : factors_(std::move(factors)), faults_(faults) {}
  nvinfer1::IPluginCapability* getCapabilityInterface(
      nvinfer1::PluginCapabilityType type) noexcept override {
    if (type == nvinfer1::PluginCapabilityType::kCORE) return static_cast<IPluginV3OneCore*>(this);
    if (type == nvinfer1::PluginCapabilityType::kBUILD)
      return static_cast<nvinfer1::IPluginV3OneBuildV2*>(this);
    return static_cast<IPluginV3OneRuntime*>(this);
  }
  FillV3* clone() noexcept override { return new FillV3(factors_, faults_); }
  const char* getPluginName() const noexcept override { return "Fill"; }
  const char* getPluginVersion() const noexcept override { return "2"; }
  const char* getPluginNamespace() const noexcept override { return "mine"; }
  int32_t getNbOutputs() const noexcept override { return faults_.outputs; }
  int32_t getAliasedInput(int32_t) noexcept override { return faults_.aliased_input; }
  int32_t configurePlugin(const DynamicPluginTensorDesc*, int32_t, const DynamicPluginTensorDesc*,
                          int32_t) noexcept override {
    calls.push_back("configure");
    return 0;
  }
  int32_t getOutputDataTypes(DataType* out, int32_t, const DataType* in,
                             int32_t) const noexcept override {
    out[0] = in[0];
    return faults_.status;
  }
  int32_t getOutputShapes(const DimsExprs*, int32_t, const DimsExprs* shapes, int32_t count,
                          DimsExprs* out, int32_t, IExprBuilder&) noexcept override {
    if (count != 1) return 7;
    out[0] = shapes[0];
    return 0;
  }
  bool supportsFormatCombination(int32_t, const DynamicPluginTensorDesc*, int32_t,
                                 int32_t) noexcept override {
    return true;
  }
  int32_t getNbTactics() noexcept override { return 2; }
  int32_t getValidTactics(int32_t* tactics, int32_t) noexcept override {
    tactics[0] = 41;
    tactics[1] = 42;
    return 0;
  }
  int32_t setTactic(int32_t tactic) noexcept override {
    calls.push_back("tactic " + std::to_string(tactic));
    return 0;
  }
  int32_t onShapeChange(const PluginTensorDesc*, int32_t count, const PluginTensorDesc*,
                        int32_t) noexcept override {
    calls.push_back("shapes of " + std::to_string(count));
    return 0;
  }
  int32_t enqueue(const PluginTensorDesc* in, const PluginTensorDesc* out,
                  const void* const* inputs, void* const* outputs, void*,
                  cudaStream_t) noexcept override {
    calls.push_back("enqueue");
    float sum = 0;
    for (int64_t i = 0; i < Shape(in[0].dims).volume(); ++i)
      sum += static_cast<const float*>(inputs[0])[i];
    for (int64_t i = 0; i < Shape(out[0].dims).volume(); ++i)
      static_cast<float*>(outputs[0])[i] = sum * static_cast<float>(factors_[i % factors_.size()]);
    return faults_.enqueue;
  }
  nvinfer1::IPluginV3* attachToContext(nvinfer1::IPluginResourceContext* c) noexcept override {
    calls.push_back(c != nullptr ? "attach" : "attach to nothing");
    return clone();
  }
  const nvinfer1::PluginFieldCollection* getFieldsToSerialize() noexcept override {
    field_ = {"factors", factors_.data(), nvinfer1::PluginFieldType::kINT64,
              static_cast<int32_t>(factors_.size())};
    collection_ = {1, &field_};
    return &collection_;
  }

 private:
  std::vector<int64_t> factors_;
  Faults faults_;
  nvinfer1::PluginField field_;
  nvinfer1::PluginFieldCollection collection_{};
};

class FillV3Creator final : public nvinfer1::IPluginCreatorV3One {
 public:
  nvinfer1::IPluginV3* createPlugin(const char*, const nvinfer1::PluginFieldCollection* fields,
                                    nvinfer1::TensorRTPhase phase) noexcept override {
    if (phase != nvinfer1::TensorRTPhase::kRUNTIME || fields->nbFields != 1) return nullptr;
    const auto* data = static_cast<const int64_t*>(fields->fields[0].data);
    return new FillV3({data, data + fields->fields[0].length});
  }
  const nvinfer1::PluginFieldCollection* getFieldNames() noexcept override { return nullptr; }
  const char* getPluginName() const noexcept override { return "Fill"; }
  const char* getPluginVersion() const noexcept override { return "2"; }
  const char* getPluginNamespace() const noexcept override { return "mine"; }
};

}  // namespace tenon::testing
