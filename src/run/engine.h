// A plan made ready to run: its kernels are loaded. Immutable, shared by its contexts.
#pragma once

#include <memory>
#include <string_view>
#include <unordered_map>

#include "base/log.h"
#include "plan/load_steps.h"
#include "plan/memory.h"
#include "plan/plan.h"
#include "run/device_memory.h"
#include "run/weight_streaming.h"

namespace tenon {

class Engine {
 public:
  /// Throws when the plan does not fit the target or a plugin is missing. Of a stripped plan
  /// nothing is loaded, and it has no contexts.
  /// @param is_body the plan is of a body, which any shape may come to.
  /// @param weight_budget bytes of streamable weights that lie on the device; others are streamed,
  /// and so are all where INT64_MAX asks for more than there is memory for.
  Engine(Plan plan, const Target& target, Log log, nvinfer1::IGpuAllocator* allocator = nullptr,
         bool is_body = false, int64_t weight_budget = INT64_MAX);

  const Plan& plan() const { return plan_; }
  const std::vector<LoadedStep>& steps() const { return steps_; }
  const Lifetimes& lifetimes() const { return lifetimes_; }
  const Stages& stages() const { return stages_; }
  const Streams& streams() const { return streams_; }
  /// Engines for the bodies of a step.
  std::span<const std::shared_ptr<const Engine>> bodies(size_t step) const { return bodies_[step]; }
  /// Whether the plan is of a body, whose inputs and outputs another context gives.
  bool is_body() const { return is_body_; }
  const Log& log() const { return log_; }
  /// Where its kernels work, and which of the machine's devices that is.
  const Device& device() const { return device_; }
  int device_index() const { return device_index_; }
  /// Which weights lie on the host until a step reads them; none where that is the device.
  const WeightStreaming& streaming() const { return streaming_; }
  int64_t weight_budget() const { return weight_budget_; }
  /// A weight of the plan in the device's memory; null for one that is streamed.
  const void* weight(int32_t i) const { return weights_[static_cast<size_t>(i)]; }
  /// The packed constants of a step's kernel there; none on the host.
  std::span<const void* const> packed(size_t step) const { return packed_[step]; }
  /// Whether a step reads its input on the host.
  bool reads_on_host(size_t step, size_t input) const;
  /// Whether a step reads the tensor in the device's memory.
  bool reads_on_device(int32_t tensor) const { return on_device_[static_cast<size_t>(tensor)]; }
  /// Why runs cannot be captured into a CUDA graph, naming a layer; "" when they can.
  const std::string& obstacle_to_capture() const { return obstacle_to_capture_; }
  /// Where the engine and its contexts get device memory from; null for our own.
  nvinfer1::IGpuAllocator* allocator() const { return allocator_; }
  /// Index of the input or output with that name, -1 for none.
  int find_binding(std::string_view name) const;
  const PlanTensor& binding_tensor(int binding) const {
    return plan_.tensors[static_cast<size_t>(plan_.bindings[static_cast<size_t>(binding)].tensor)];
  }
  /// Extents of a binding: -1 for those known only at run time.
  Shape declared_shape(int binding) const;
  /// Device memory for a context of that profile; -1 for the largest.
  int64_t device_memory(int profile) const;

 private:
  Plan plan_;
  std::vector<LoadedStep> steps_;
  Stages stages_;
  Streams streams_;
  Lifetimes lifetimes_;
  std::vector<std::vector<std::shared_ptr<const Engine>>> bodies_;  // per step
  void place_weights();
  void place_weights_on_device();
  void find_readers();

  bool is_body_;
  Log log_;
  nvinfer1::IGpuAllocator* allocator_;
  const Device& device_;
  int device_index_;
  int64_t weight_budget_;
  WeightStreaming streaming_;
  DeviceMemory weight_memory_;
  std::vector<const void*> weights_;
  std::vector<std::vector<const void*>> packed_;  // per step
  std::vector<bool> on_device_;                   // per tensor
  std::string obstacle_to_capture_;
  std::unordered_map<std::string_view, int> bindings_;  // by name
};

}  // namespace tenon
