// A plan on the machine that loads it: taken as it is, built again, or refused.
#pragma once

#include "backend/target.h"
#include "base/log.h"
#include "plan/plan.h"

namespace tenon {

/// What runs the plan here: the target that it was built for, or for a portable plan the default
/// one where the machine lacks that. Throws, saying what is missing.
const Target& target_for(const Plan& plan);

/// The plan for `target`. A portable one that was built for another target or machine is built
/// again, which takes as long as building does; `log` is told. Throws when it was built for another
/// target, or for another instruction set, and is not portable.
Plan fit(Plan plan, const Target& target, const Log& log);

}  // namespace tenon
