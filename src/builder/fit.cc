#include "builder/fit.h"

#include "backend/targets.h"
#include "builder/build_plan.h"
#include "network/clone.h"
#include "plan/kernels.h"

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

Plan built_again(const Plan& plan, const Target& target, const Log& log) {
  const PlanSource& source = *plan.source;
  BuildOptions options;
  options.profiles = requests_of(plan);
  options.log = log;
  options.verbosity = plan.verbosity;
  options.time_kernels = source.time_kernels;
  options.max_workspace = source.max_workspace;
  options.max_growth = source.max_growth;
  options.precision = source.precision;
  options.tf32 = plan.tf32;
  options.portable = true;
  options.max_batch = plan.max_batch;
  options.aux_streams = plan.aux_streams;
  const std::unique_ptr<Network> network = clone(*source.network);
  return build_plan(*network, target, options);
}

}  // namespace

const Target& target_for(const Plan& plan) {
  if (plan.source == nullptr) return target_named(plan.target);
  try {
    return target_named(plan.target);
  } catch (const Error&) {
    return default_target();
  }
}

Plan fit(Plan plan, const Target& target, const Log& log) {
  const std::string here = target.fingerprint();
  if (plan.source != nullptr) {
    if (plan.target == target.name() && target.is_this_machine(plan.fingerprint)) return plan;
    log.info("the portable plan was built for \"{}\"; it is built again for \"{}\"",
             plan.fingerprint, here);
    Plan again = with_context("building a portable plan again",
                              [&] { return built_again(plan, target, log); });
    again.libraries = std::move(plan.libraries);
    return again;
  }
  const bool same_target = plan.target == target.name();
  if (!same_target || !target.loads(plan.instruction_set))
    fail(ErrorCode::kFAILED_INITIALIZATION, "the plan was {}", built_elsewhere(plan, target));
  if (!target.device().is_host() && plan.fingerprint != here)
    log.warning(
        "the plan's kernels were timed on \"{}\", and here is \"{}\": others may be "
        "quicker",
        plan.fingerprint, here);
  return plan;
}

}  // namespace tenon
