#include "builder/rebuild.h"

#include "builder/build_plan.h"
#include "plan/plan_kernels.h"
#include "plan/timing_cache.h"

namespace tenon {
namespace {

// The profiles of a plan as a caller would ask for them.
std::vector<ProfileRequest> requests_of(const Plan& plan) {
  std::vector<ProfileRequest> requests;
  for (const PlanProfile& profile : plan.profiles) {
    ProfileRequest& request = requests.emplace_back();
    for (size_t i = 0; i < profile.inputs.size(); ++i) {
      const auto tensor = static_cast<size_t>(plan.bindings[i].tensor);
      const PlanProfile::Range& r = profile.inputs[i];
      request.inputs[plan.tensors[tensor].name] = {r.min,        r.opt,        r.max,
                                                   r.min_values, r.opt_values, r.max_values};
    }
  }
  return requests;
}

}  // namespace

Plan rebuild(const Plan& plan, Network& network, const Target& target, const Log& log,
             KernelsOfRebuild kernels) {
  const PlanSource& source = *plan.source;
  TimingCache timings;
  std::optional<PlanKernels> of_plan;
  if (kernels == KernelsOfRebuild::kOfPlan) of_plan.emplace(plan);
  BuildOptions options;
  options.profiles = requests_of(plan);
  options.timing_cache = &timings;
  options.log = log;
  options.verbosity = plan.verbosity;
  options.time_kernels = source.time_kernels;
  options.measure = kernels == KernelsOfRebuild::kMeasured;
  options.kernels = of_plan ? &*of_plan : nullptr;
  options.max_workspace = source.max_workspace;
  options.max_growth = source.max_growth;
  options.precision = source.precision;
  options.tf32 = plan.tf32;
  options.portable = source.portable;
  options.refit = source.refittable ? RefitScope::kMarked : RefitScope::kNone;
  options.max_batch = plan.max_batch;
  options.aux_streams = plan.aux_streams;
  return build_plan(network, target, options);
}

}  // namespace tenon
