// How much device memory the contexts of a plan need.
#pragma once

#include "plan/plan_builder.h"

namespace tenon {

/// Sets PlanProfile::device_memory, from the optimum and the maximum of each profile. Memory of
/// later stages and of bodies is planned when it is known, and not counted.
void measure_memory(PlanBuilder& builder);

}  // namespace tenon
