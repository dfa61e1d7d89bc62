#include "api/algorithm_selector.h"

#include <algorithm>
#include <string>

#include "api/guard.h"
#include "plan/timing_cache.h"

namespace tenon {
namespace {

using nvinfer1::OptProfileSelector;

// Numbers that applications compare and keep; TensorRT's are positive.
int64_t positive_number(std::string_view name) {
  return static_cast<int64_t>(tactic_number(name) & INT64_MAX);
}

class AlgorithmVariant final : public nvinfer1::IAlgorithmVariant,
                               public nvinfer1::apiv::VAlgorithmVariant {
 public:
  explicit AlgorithmVariant(const Kernel& kernel)
      : implementation_(positive_number(kernel.name)),
        tactic_(positive_number(tactic_name(kernel.name, kernel.variant))) {
    mImpl = this;
  }
  int64_t getImplementation() const noexcept override { return implementation_; }
  int64_t getTactic() const noexcept override { return tactic_; }

 private:
  int64_t implementation_, tactic_;
};

class AlgorithmIOInfo final : public nvinfer1::IAlgorithmIOInfo,
                              public nvinfer1::apiv::VAlgorithmIOInfo {
 public:
  AlgorithmIOInfo(const TensorSpec& spec, Layout layout) : spec_(spec), layout_(layout) {
    mImpl = this;
  }
  DataType getDataType() const noexcept override { return spec_.type; }
  nvinfer1::Dims getStrides() const noexcept override {
    return strides_of(spec_.shape, layout_).dims();
  }
  int64_t getVectorizedDim() const noexcept override {
    return channel_block(layout_) > 1 ? channel_axis(layout_) : -1;
  }
  int64_t getComponentsPerElement() const noexcept override { return channel_block(layout_); }

 private:
  TensorSpec spec_;
  Layout layout_;
};

// Which of the request's tensors an application sees: weights are none of them.
std::vector<size_t> seen_inputs(const KernelRequest& request) {
  std::vector<size_t> list;
  for (size_t i = 0; i < request.inputs.size(); ++i)
    if (request.inputs[i].present && request.constants[i] == nullptr) list.push_back(i);
  return list;
}

}  // namespace

class AlgorithmContext final : public nvinfer1::IAlgorithmContext,
                               public nvinfer1::apiv::VAlgorithmContext {
 public:
  explicit AlgorithmContext(const SelectedLayer& layer) : name_(layer.name) {
    mImpl = this;
    std::vector<size_t> tensors = seen_inputs(layer.request);
    inputs_ = static_cast<int32_t>(tensors.size());
    outputs_ = static_cast<int32_t>(layer.request.outputs.size());
    for (size_t i = 0; i < layer.request.outputs.size(); ++i)
      tensors.push_back(layer.request.inputs.size() + i);
    const std::vector<Shape>* points[] = {&layer.min, &layer.opt, &layer.max};
    for (size_t tensor : tensors) {
      auto& shapes = shapes_.emplace_back();
      for (const auto* point : points) shapes.push_back((*point)[tensor].dims());
    }
  }
  const char* getName() const noexcept override { return name_.c_str(); }
  nvinfer1::Dims getDimensions(int32_t index, OptProfileSelector selector) const noexcept override {
    const auto point = static_cast<size_t>(selector);
    if (index < 0 || index >= inputs_ + outputs_ || point > 2) return {-1, {}};
    return shapes_[static_cast<size_t>(index)][point];
  }
  int32_t getNbInputs() const noexcept override { return inputs_; }
  int32_t getNbOutputs() const noexcept override { return outputs_; }

 private:
  std::string name_;
  int32_t inputs_ = 0, outputs_ = 0;
  std::vector<std::vector<nvinfer1::Dims>> shapes_;  // per tensor: at kMIN, kOPT and kMAX
};

class Algorithm final : public nvinfer1::IAlgorithm, public nvinfer1::apiv::VAlgorithm {
 public:
  Algorithm(const KernelChoice& choice, const KernelRequest& request)
      : variant_(*choice.kernel), milliseconds_(choice.milliseconds), workspace_(choice.workspace) {
    mImpl = this;
    for (size_t i : seen_inputs(request))
      tensors_.push_back(
          std::make_unique<AlgorithmIOInfo>(request.inputs[i], choice.kernel->input_layouts[i]));
    for (size_t i = 0; i < request.outputs.size(); ++i)
      tensors_.push_back(
          std::make_unique<AlgorithmIOInfo>(request.outputs[i], choice.kernel->output_layouts[i]));
  }
  const nvinfer1::IAlgorithmVariant& getAlgorithmVariant() const noexcept override {
    return variant_;
  }
  float getTimingMSec() const noexcept override { return milliseconds_; }
  size_t getWorkspaceSize() const noexcept override { return workspace_; }
  const nvinfer1::IAlgorithmIOInfo* getAlgorithmIOInfoByIndex(
      int32_t index) const noexcept override {
    const bool exists = index >= 0 && static_cast<size_t>(index) < tensors_.size();
    return exists ? tensors_[static_cast<size_t>(index)].get() : nullptr;
  }

 private:
  AlgorithmVariant variant_;
  float milliseconds_;
  size_t workspace_;
  std::vector<std::unique_ptr<AlgorithmIOInfo>> tensors_;
};

AlgorithmSelection::AlgorithmSelection(nvinfer1::IAlgorithmSelector& selector, bool reject_empty)
    : selector_(selector), reject_empty_(reject_empty) {}

AlgorithmSelection::~AlgorithmSelection() = default;

size_t AlgorithmSelection::select(const SelectedLayer& layer,
                                  std::span<const KernelChoice> choices) {
  auto context = std::make_unique<AlgorithmContext>(layer);
  std::vector<std::unique_ptr<Algorithm>> algorithms;
  std::vector<const nvinfer1::IAlgorithm*> list;
  for (const KernelChoice& choice : choices) {
    algorithms.push_back(std::make_unique<Algorithm>(choice, layer.request));
    list.push_back(algorithms.back().get());
  }
  const auto count = static_cast<int32_t>(choices.size());
  std::vector<int32_t> selection(choices.size(), -1);
  const int32_t selected =
      selector_.selectAlgorithms(*context, list.data(), count, selection.data());
  require(selected >= 0 && selected <= count,
          "layer {}: selectAlgorithms() selects {} of {} algorithms", layer.name, selected, count);
  selection.resize(static_cast<size_t>(selected));
  require(!selection.empty() || !reject_empty_,
          "layer {}: selectAlgorithms() selects none of {} algorithms, which "
          "BuilderFlag::kREJECT_EMPTY_ALGORITHMS makes an error",
          layer.name, count);
  if (selection.empty())
    for (int32_t i = 0; i < count; ++i) selection.push_back(i);
  for (int32_t i : selection)
    require(i >= 0 && i < count, "layer {}: selectAlgorithms() selects algorithm {} of {}",
            layer.name, i, count);
  const auto best = static_cast<size_t>(
      *std::min_element(selection.begin(), selection.end(), [&](int32_t a, int32_t b) {
        return choices[static_cast<size_t>(a)].milliseconds
               < choices[static_cast<size_t>(b)].milliseconds;
      }));
  contexts_.push_back(std::move(context));
  taken_.push_back(std::move(algorithms[best]));
  return best;
}

void AlgorithmSelection::report() const {
  std::vector<const nvinfer1::IAlgorithmContext*> contexts;
  std::vector<const nvinfer1::IAlgorithm*> algorithms;
  for (const auto& context : contexts_) contexts.push_back(context.get());
  for (const auto& algorithm : taken_) algorithms.push_back(algorithm.get());
  selector_.reportAlgorithms(contexts.data(), algorithms.data(),
                             static_cast<int32_t>(algorithms.size()));
}

}  // namespace tenon
