#include "builder/build_plan.h"

#include "base/error.h"
#include "builder/fixed_extents.h"
#include "network/clone.h"
#include "optimize/nest_control_flow.h"
#include "optimize/optimize.h"

namespace tenon {

Plan build_plan(Network& network, const Target& target, const BuildOptions& options) {
  if (options.progress != nullptr) options.progress->begin(kBuildPhase, nullptr, 2);
  const auto step = [&](int i) {
    if (options.progress != nullptr && !options.progress->step(kBuildPhase, i))
      fail(ErrorCode::kUNSPECIFIED_ERROR, "the build was cancelled");
  };
  if (options.max_batch == 0) fix_extents(network, options.profiles);
  network.infer();
  std::shared_ptr<const PlanSource> source;
  if (options.portable) {
    nest_control_flow(network);
    source = std::make_shared<PlanSource>(PlanSource{clone(network), options.precision,
                                                     options.time_kernels && options.measure,
                                                     options.max_workspace, options.max_growth});
  }
  OptimizeOptions passes{options.log, options.precision, {}};
  if (options.progress != nullptr)
    passes.progress = [&](const char*) { return options.progress->step(kBuildPhase, 0); };
  optimize(network, target, passes);
  step(0);
  Plan plan = compile(network, target, options);
  plan.source = std::move(source);
  step(1);
  if (options.progress != nullptr) options.progress->end(kBuildPhase);
  return plan;
}

}  // namespace tenon
