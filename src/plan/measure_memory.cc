#include "plan/measure_memory.h"

#include "plan/load_steps.h"
#include "plan/memory.h"
#include "plan/profiles.h"

namespace tenon {
namespace {

int64_t bytes_at(const PlanBuilder& builder, const Lifetimes& lives, const Stages& stages,
                 const std::vector<SymbolValue>& symbols, ProfilePoint point) {
  const Plan& plan = builder.plan;
  const auto values = plan.shapes.evaluate(symbols);
  std::vector<Shape> shapes;
  for (size_t i = 0; i < plan.tensors.size(); ++i)
    shapes.push_back(shape_of(plan, static_cast<int32_t>(i), values));
  std::vector<size_t> scratch(plan.steps.size(), 0);
  for (size_t i = 0; i < plan.steps.size(); ++i) {
    const PlanStep& step = plan.steps[i];
    if (stages.steps[i] > 0) continue;
    with_context(fmt::format("layer {}", step.name), [&] {
      // The extremes of several inputs need not fit together.
      if (point == ProfilePoint::kOpt)
        check_step(plan, step, *op_of(step), {symbols, values, shapes});
      if (builder.kernels[i] == nullptr) return;  // its bodies have memory of their own
      scratch[i] = builder.kernels[i]
                       ->prepare(specs_of(plan, step.inputs, shapes),
                                 output_specs(plan, step, symbols, shapes))
                       ->scratch_bytes();
    });
  }
  return plan_context_memory(plan, stages, 0, lives, shapes, scratch, INT64_MAX).bytes;
}

}  // namespace

void measure_memory(PlanBuilder& builder) {
  const auto lives = lifetimes(builder.plan, streams_of(builder.plan));
  const Stages stages = stages_of(builder.plan);
  for (PlanProfile& profile : builder.plan.profiles) {
    const auto at_opt = symbols_at(builder.plan, profile, ProfilePoint::kOpt);
    const auto at_max = symbols_at(builder.plan, profile, ProfilePoint::kMax);
    int64_t bytes = bytes_at(builder, lives, stages, at_opt, ProfilePoint::kOpt);
    if (at_max != at_opt)
      bytes = std::max(bytes, bytes_at(builder, lives, stages, at_max, ProfilePoint::kMax));
    profile.device_memory = bytes;
  }
}

}  // namespace tenon
