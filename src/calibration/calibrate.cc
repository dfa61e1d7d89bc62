#include "calibration/calibrate.h"

#include <exception>

#include "base/cuda_stream.h"
#include "builder/build_plan.h"
#include "network/clone.h"
#include "ops/activation.h"
#include "ops/debug_tensor.h"
#include "optimize/debug_layers.h"
#include "optimize/match.h"
#include "run/context.h"

namespace tenon {
namespace {

constexpr const char* kPhase = "Calibrating";

bool is_observable(const Value& value) {
  return value.type == DataType::kFLOAT && !value.constant && !value.content
         && (value.is_input || value.producer != nullptr);
}

// A copy whose layers compute in float32 and whose tensors are marked for the listener.
std::unique_ptr<Network> observable(const Network& network, bool observe_all) {
  auto copy = clone(network);
  copy->debugs_unfused = false;
  copy->infer();
  std::unordered_set<const Node*> listeners;
  for (const auto& node : copy->nodes()) {
    node->precision.reset();
    std::ranges::fill(node->output_types, std::nullopt);
    if (node->as<DebugTensor>() != nullptr) listeners.insert(node.get());
  }
  copy->remove_nodes(listeners);
  const Uses uses(*copy);
  for (const auto& value : copy->values()) {
    const Node* user = uses.only(*value);
    const bool is_fused = !observe_all && user != nullptr && user->as<Activation>() != nullptr;
    value->is_debug = is_observable(*value) && !is_fused;
  }
  add_debug_layers(*copy);
  return copy;
}

// Takes the tensors of a run into histograms.
class Listener final : public nvinfer1::IDebugListener {
 public:
  explicit Listener(const Device& device) : device_(device) {}

  bool processDebugTensor(const void* address, nvinfer1::TensorLocation location, DataType,
                          const nvinfer1::Dims& shape, const char* name,
                          cudaStream_t stream) override {
    const auto count = static_cast<size_t>(Shape(shape).volume());
    if (count == 0) return true;
    const auto* values = static_cast<const float*>(address);
    if (location == nvinfer1::TensorLocation::kDEVICE && !device_.is_host()) {
      copy_.resize(std::max(copy_.size(), count));
      device_.copy_out(copy_.data(), address, count * sizeof(float), from_cuda(stream));
      values = copy_.data();
    }
    require(observed[name].add({values, count}),
            "tensor '{}' holds NaN or infinity in batch {} of the calibration (they are counted "
            "from 0): check what the calibrator gives",
            name, batch);
    return true;
  }

  Observations observed;
  int64_t batch = 0;

 private:
  const Device& device_;
  std::vector<float> copy_;  // of a device's tensor
};

// Holds outputs, which nobody reads.
class OutputMemory final : public nvinfer1::IOutputAllocator {
 public:
  explicit OutputMemory(const Device& device) : device_(device) {}
  void* reallocateOutput(const char*, void*, uint64_t size, uint64_t) noexcept override {
    try {
      if (size > memory_.bytes()) memory_ = DeviceBuffer(device_, size);
      return memory_.data();
    } catch (const Error&) {
      return nullptr;
    }
  }
  void notifyShape(const char*, const nvinfer1::Dims&) noexcept override {}

 private:
  const Device& device_;
  DeviceBuffer memory_;
};

std::shared_ptr<const Engine> engine_of(const Network& network, const Target& target,
                                        const CalibrationOptions& options) {
  const auto copy = observable(network, options.observe_all);
  BuildOptions build;
  if (options.profile) build.profiles.push_back(*options.profile);
  build.time_kernels = build.measure = false;  // a single run of each would take longer
  return std::make_shared<const Engine>(build_plan(*copy, target, build), target, options.log);
}

void set_shapes(Context& context, const CalibrationOptions& options) {
  const Engine& engine = context.engine();
  for (int i = 0; i < engine.plan().input_count(); ++i) {
    Shape shape = engine.declared_shape(i);
    const std::string& name = engine.binding_tensor(i).name;
    if (options.profile)
      if (const auto range = options.profile->inputs.find(name);
          range != options.profile->inputs.end() && range->second.opt)
        shape = *range->second.opt;
    context.set_input_shape(i, shape);
  }
}

class Progress {
 public:
  explicit Progress(BuildProgress* progress) : progress_(progress) {
    if (progress_ != nullptr) progress_->begin(kPhase, nullptr, 1);
  }
  ~Progress() {
    if (progress_ != nullptr) progress_->end(kPhase);
  }
  void step() {
    if (progress_ != nullptr && !progress_->step(kPhase, 0))
      fail(ErrorCode::kUNSPECIFIED_ERROR, "the build was cancelled");
  }

 private:
  BuildProgress* progress_;
};

}  // namespace

Observations observe(const Network& network, const Target& target, const NextBatch& next_batch,
                     const CalibrationOptions& options) {
  const auto engine = engine_of(network, target, options);
  Context context(engine, true);
  Listener listener(engine->device());
  std::list<OutputMemory> outputs;
  const int input_count = engine->plan().input_count();
  for (int i = input_count; i < static_cast<int>(engine->plan().bindings.size()); ++i)
    context.set_output_allocator(i, &outputs.emplace_back(engine->device()));
  context.set_debug_listener(&listener);
  for (size_t i = 0; i < engine->plan().debug_tensors.size(); ++i) context.set_debug_state(i, true);
  set_shapes(context, options);
  Progress progress(options.progress);
  std::vector<void*> addresses(static_cast<size_t>(input_count));
  for (; next_batch(addresses); ++listener.batch) {
    for (int i = 0; i < input_count; ++i) {
      const auto at = static_cast<size_t>(i);
      require(addresses[at] != nullptr, "the calibrator gave no address for input '{}' in batch {}",
              engine->binding_tensor(i).name, listener.batch);
      context.set_address(i, addresses[at]);
    }
    context.execute();
    progress.step();
    std::ranges::fill(addresses, nullptr);
  }
  require(listener.batch > 0, "the calibrator gave no batch");
  return std::move(listener.observed);
}

}  // namespace tenon
