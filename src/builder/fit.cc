#include "builder/fit.h"

#include "backend/targets.h"
#include "builder/rebuild.h"
#include "network/clone.h"
#include "plan/load_steps.h"

namespace tenon {

const Target& target_for(const Plan& plan) {
  if (!plan.is_portable()) return target_named(plan.target);
  try {
    return target_named(plan.target);
  } catch (const Error&) {
    return default_target();
  }
}

Plan fit(Plan plan, const Target& target, const Log& log) {
  const std::string here = target.fingerprint();
  if (plan.is_portable() && !plan.is_stripped) {
    if (plan.target == target.name() && target.is_this_machine(plan.fingerprint)) return plan;
    log.info("the portable plan was built for \"{}\"; it is built again for \"{}\"",
             plan.fingerprint, here);
    Plan again = with_context("building a portable plan again", [&] {
      return rebuild(plan, *clone(*plan.source->network), target, log, KernelsOfRebuild::kMeasured);
    });
    again.libraries = std::move(plan.libraries);
    return again;
  }
  const bool same_target = plan.target == target.name();
  if (!same_target || !target.loads(plan.instruction_set))
    fail(ErrorClass::kPlanElsewhere, "the plan was {}", built_elsewhere(plan, target));
  if (!target.device().is_host() && plan.fingerprint != here)
    log.warning(
        "the plan's kernels were timed on \"{}\", and here is \"{}\": others may be "
        "quicker",
        plan.fingerprint, here);
  return plan;
}

}  // namespace tenon
