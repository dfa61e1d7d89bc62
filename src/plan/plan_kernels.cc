#include "plan/plan_kernels.h"

namespace tenon {

PlanKernels::PlanKernels(const Plan& plan) {
  add(plan);
}

void PlanKernels::add(const Plan& plan) {
  for (const PlanStep& step : plan.steps) {
    for (const Plan& body : step.bodies) add(body);
    names_[{step.name, step.op}].push_back({step.kernel, step.variant});
  }
}

std::optional<PlanKernels::Name> PlanKernels::take(const std::string& layer, std::string_view op) {
  const auto found = names_.find({layer, std::string(op)});
  if (found == names_.end() || found->second.empty()) return std::nullopt;
  Name name = std::move(found->second.front());
  found->second.pop_front();
  return name;
}

}  // namespace tenon
