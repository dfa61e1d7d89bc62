#include "run/engine.h"

#include <algorithm>

namespace tenon {

Engine::Engine(Plan plan, const Target& target, Log log, nvinfer1::IGpuAllocator* allocator)
    : plan_(std::move(plan)),
      steps_(load_steps(plan_, target)),
      lifetimes_(tenon::lifetimes(plan_)),
      log_(log),
      allocator_(allocator) {}

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
