#include "plan/compile.h"

#include "network/clone.h"
#include "optimize/nest_control_flow.h"
#include "optimize/optimize.h"
#include "plan/borders.h"
#include "plan/emit.h"
#include "plan/measure.h"

namespace tenon {
namespace {

constexpr const char* kPhase = "Building the plan";
constexpr const char* kKernelPhase = "Choosing kernels";

void emit_all(Draft& draft) {
  const auto& layers = draft.schedule.layers();
  BuildProgress* progress = draft.options.progress;
  if (progress != nullptr) progress->begin(kKernelPhase, kPhase, static_cast<int>(layers.size()));
  for (size_t i = 0; i < layers.size(); ++i) {
    draft.position = static_cast<int32_t>(i);
    emit(draft, *layers[i]);
    if (progress != nullptr && !progress->step(kKernelPhase, draft.position))
      fail(ErrorCode::kUNSPECIFIED_ERROR, "the build was cancelled");
  }
  if (progress != nullptr) progress->end(kKernelPhase);
}

}  // namespace

Plan compile(Network& network, const Target& target, const BuildOptions& options) {
  require(!network.outputs().empty(), "the network has no outputs: mark at least one");
  const Schedule schedule(network);
  Draft draft(network, schedule, target, options);
  bind_inputs(draft);
  bind_profiles(draft);
  emit_all(draft);
  bind_outputs(draft);
  if (!options.is_body) measure_memory(draft);
  return std::move(draft.plan);
}

Plan build_plan(Network& network, const Target& target, const BuildOptions& options) {
  if (options.progress != nullptr) options.progress->begin(kPhase, nullptr, 2);
  const auto step = [&](int i) {
    if (options.progress != nullptr && !options.progress->step(kPhase, i))
      fail(ErrorCode::kUNSPECIFIED_ERROR, "the build was cancelled");
  };
  network.infer();
  std::shared_ptr<const PlanSource> source;
  if (options.portable) {
    nest_control_flow(network);
    source = std::make_shared<PlanSource>(PlanSource{clone(network), options.precision,
                                                     options.time_kernels, options.most_workspace,
                                                     options.most_growth});
  }
  OptimizeOptions passes{options.log, options.precision, {}};
  if (options.progress != nullptr)
    passes.progress = [&](const char*) { return options.progress->step(kPhase, 0); };
  optimize(network, target, passes);
  step(0);
  Plan plan = compile(network, target, options);
  plan.source = std::move(source);
  step(1);
  if (options.progress != nullptr) options.progress->end(kPhase);
  return plan;
}

}  // namespace tenon
