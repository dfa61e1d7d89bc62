#include "run/engine.h"

#include <algorithm>

#include "base/error.h"

namespace tenon {

Engine::Engine(Plan plan, const Target& target, Log log, nvinfer1::IGpuAllocator* allocator,
               bool is_body)
    : plan_(std::move(plan)),
      steps_(load_steps(plan_, target, is_body)),
      lifetimes_(tenon::lifetimes(plan_)),
      stages_(stages_of(plan_)),
      log_(log),
      allocator_(allocator) {
  for (PlanStep& step : plan_.steps) {
    auto& engines = bodies_.emplace_back();
    for (const Plan& body : step.bodies)
      with_context(fmt::format("body of layer {} ({})", step.name, step.op), [&] {
        engines.push_back(std::make_shared<const Engine>(body, target, log, allocator, true));
      });
  }
}

int Engine::find_binding(std::string_view name) const {
  for (size_t i = 0; i < plan_.bindings.size(); ++i)
    if (binding_tensor(static_cast<int>(i)).name == name) return static_cast<int>(i);
  return -1;
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
