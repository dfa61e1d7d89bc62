#include "run/engine.h"

#include <algorithm>

#include "base/error.h"

namespace tenon {

Engine::Engine(Plan plan, const Target& target, Log log, nvinfer1::IGpuAllocator* allocator,
               bool is_body, int64_t weight_budget)
    : plan_(std::move(plan)),
      steps_(plan_.is_stripped ? std::vector<LoadedStep>() : load_steps(plan_, target, is_body)),
      stages_(stages_of(plan_)),
      streams_(streams_of(plan_)),
      lifetimes_(tenon::lifetimes(plan_, streams_)),
      is_body_(is_body),
      log_(log),
      allocator_(allocator),
      device_(target.device()),
      device_index_(device_.current()),
      weight_budget_(weight_budget),
      weight_memory_(device_, allocator) {
  for (size_t i = 0; i < plan_.bindings.size(); ++i)
    bindings_.emplace(binding_tensor(static_cast<int>(i)).name, static_cast<int>(i));
  if (plan_.is_stripped) return;
  for (PlanStep& step : plan_.steps) {
    auto& engines = bodies_.emplace_back();
    for (const Plan& body : step.bodies)
      with_context(fmt::format("body of layer {} ({})", step.name, step.op), [&] {
        engines.push_back(std::make_shared<const Engine>(body, target, log, allocator, true));
      });
  }
  place_weights();
  find_readers();
}

// A host's kernels read weights where the plan has them; for a device they are copied, as one
// block. What a kernel has packed is a weight of the plan, too.
void Engine::place_weights() {
  packed_.resize(plan_.steps.size());
  for (const Tensor& t : plan_.weights) weights_.push_back(t.data());
  if (device_.is_host()) return;
  try {
    place_weights_on_device();
  } catch (const Error& e) {
    if (e.code() != ErrorCode::kFAILED_ALLOCATION || weight_budget_ != INT64_MAX
        || streaming_.streamable == 0)
      throw;
    log_.warning("{}: {} bytes of weights are streamed from memory of the host instead", e.what(),
                 streaming_.streamable);
    weight_budget_ = 0;
    place_weights_on_device();
  }
}

void Engine::place_weights_on_device() {
  streaming_ = stream_weights(plan_, steps_, weight_budget_);
  int64_t bytes = 0;
  for (size_t i = 0; i < plan_.weights.size(); ++i)
    if (!streaming_.is_streamed[i]) bytes += aligned_bytes(plan_.weights[i]);
  weight_memory_.reserve(bytes);
  packed_.assign(plan_.steps.size(), {});
  std::byte* to = weight_memory_.data();
  for (size_t i = 0; i < plan_.weights.size(); ++i) {
    weights_[i] = nullptr;
    if (streaming_.is_streamed[i]) continue;
    device_.copy_in(to, plan_.weights[i].data(), plan_.weights[i].bytes(), nullptr);
    weights_[i] = to;
    to += aligned_bytes(plan_.weights[i]);
  }
  for (size_t i = 0; i < plan_.steps.size(); ++i)
    for (int32_t w : plan_.steps[i].packed) packed_[i].push_back(weight(w));
  device_.copy_out(nullptr, nullptr, 0, nullptr);  // all are there, for any stream
}

bool Engine::reads_on_host(size_t step, size_t input) const {
  const LoadedStep& loaded = steps_[step];
  return loaded.kernel != nullptr && loaded.kernel->input_on_host[input];
}

void Engine::find_readers() {
  on_device_.assign(plan_.tensors.size(), false);
  const auto obstacle = [&](size_t step, const char* why) {
    if (obstacle_to_capture_.empty())
      obstacle_to_capture_ =
          fmt::format("layer {} ({}) {}", plan_.steps[step].name, plan_.steps[step].op, why);
  };
  for (size_t i = 0; i < plan_.steps.size(); ++i) {
    if (steps_[i].op->traits().runs == Runs::kListener) continue;
    if (streaming_.is_on() && !streaming_.steps[i].empty())
      obstacle(i, "streams weights from memory of the host");
    if (steps_[i].kernel == nullptr || !steps_[i].kernel->can_be_captured)
      obstacle(i, "waits for the device");
    if (makes_data_dependent(plan_, plan_.steps[i]) || !stages_.made_symbols[i].empty())
      obstacle(i, "tells a size that the host waits for");
    for (size_t k = 0; k < plan_.steps[i].inputs.size(); ++k) {
      if (plan_.steps[i].inputs[k] < 0) continue;
      const auto root = static_cast<size_t>(plan_.root_of(plan_.steps[i].inputs[k]));
      if (!reads_on_host(i, k)) {
        on_device_[root] = true;
        continue;
      }
      const auto place = plan_.tensors[root].place;
      if (place == PlanTensor::Place::kArena || place == PlanTensor::Place::kInput
          || place == PlanTensor::Place::kDataDependent)
        obstacle(i, "reads a tensor on the host");
    }
  }
}

int Engine::find_binding(std::string_view name) const {
  const auto found = bindings_.find(name);
  return found == bindings_.end() ? -1 : found->second;
}

Shape Engine::declared_shape(int binding) const {
  const PlanBinding& b = plan_.bindings[static_cast<size_t>(binding)];
  if (b.is_input) return b.declared;
  Shape s;
  for (int32_t slot : binding_tensor(binding).extents) {
    const auto& i = plan_.shapes.instructions[static_cast<size_t>(slot)];
    s.push_back(i.op == ExprOp::kConstant ? i.value.integer : -1);
  }
  return s;
}

int64_t Engine::device_memory(int profile) const {
  int64_t bytes = 0;
  for (size_t p = 0; p < plan_.profiles.size(); ++p)
    if (profile < 0 || profile == static_cast<int>(p))
      bytes = std::max(bytes, plan_.profiles[p].device_memory);
  return bytes;
}

}  // namespace tenon
