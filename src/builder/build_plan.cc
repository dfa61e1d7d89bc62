#include "builder/build_plan.h"

#include "base/error.h"
#include "builder/fixed_extents.h"
#include "builder/refit.h"
#include "network/clone.h"
#include "optimize/nest_control_flow.h"
#include "optimize/optimize.h"

namespace tenon {

namespace {

// The network as it is now, for a plan that is built again from it; null for one that is not.
std::shared_ptr<PlanSource> source_of(Network& network, const BuildOptions& options) {
  const bool refittable = options.refit != RefitScope::kNone;
  if (!options.portable && !refittable) return nullptr;
  nest_control_flow(network);
  network.remove_unused_weights();
  if (options.refit == RefitScope::kAll) mark_refittable(network);
  if (options.refit == RefitScope::kMarked) check_refittable(network, options.log);
  auto source = std::make_shared<PlanSource>();
  source->network = clone(network);
  source->portable = options.portable;
  source->refittable = refittable;
  source->precision = options.precision;
  source->time_kernels = options.time_kernels && options.measure;
  source->max_workspace = options.max_workspace;
  source->max_growth = options.max_growth;
  return source;
}

}  // namespace

Plan build_plan(Network& network, const Target& target, const BuildOptions& options) {
  if (options.progress != nullptr) options.progress->begin(kBuildPhase, nullptr, 2);
  const auto step = [&](int i) {
    if (options.progress != nullptr && !options.progress->step(kBuildPhase, i))
      fail(ErrorCode::kUNSPECIFIED_ERROR, "the build was cancelled");
  };
  if (options.max_batch == 0) fix_extents(network, options.profiles);
  network.infer();
  const auto source = source_of(network, options);
  OptimizeOptions passes{options.log, options.precision, {}};
  if (options.progress != nullptr)
    passes.progress = [&](const char*) { return options.progress->step(kBuildPhase, 0); };
  optimize(network, target, passes);
  step(0);
  Plan plan = compile(network, target, options);
  plan.source = source;
  step(1);
  if (options.progress != nullptr) options.progress->end(kBuildPhase);
  return plan;
}

}  // namespace tenon
