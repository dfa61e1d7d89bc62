// From a layer of the network to steps of the plan.
#pragma once

#include "plan/plan_builder.h"

namespace tenon {

/// Chooses a kernel for the layer and adds it as a step, with the steps that bring its inputs into
/// the layouts which the kernel wants. A layer that only renames or reshapes becomes a view without
/// a step; the bodies of loops and conditionals become plans inside its step. Errors name the
/// layer.
void emit(PlanBuilder& builder, const Node& node);

/// Steps that tell debug listeners of what the layer made and nobody marked, behind emit().
void emit_unfused(PlanBuilder& builder, const Node& node);

}  // namespace tenon
