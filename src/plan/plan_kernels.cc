#include "plan/plan_kernels.h"

namespace tenon {

PlanKernels::PlanKernels(const Plan& plan) {
  add(plan);
}

void PlanKernels::add(const Plan& plan) {
  for (const PlanStep& step : plan.steps) {
    for (const Plan& body : step.bodies) add(body);
    entries_[{step.name, step.op}].push_back({&plan, &step});
  }
}

std::optional<PlanKernels::Entry> PlanKernels::take(const std::string& layer, std::string_view op) {
  const auto found = entries_.find({layer, std::string(op)});
  if (found == entries_.end() || found->second.empty()) return std::nullopt;
  const Entry entry = found->second.front();
  found->second.pop_front();
  return entry;
}

}  // namespace tenon
