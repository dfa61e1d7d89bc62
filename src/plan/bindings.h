// What a plan says of its inputs and outputs, and the shape program and profiles that follow.
#pragma once

#include "plan/plan_builder.h"

namespace tenon {

/// Bindings of the inputs, the symbols of the shape program, and what it must compute for the
/// scheduled layers. Comes first.
void bind_inputs(PlanBuilder& builder);

/// The profiles, each checked at its extremes, and with them the builder's estimates.
void bind_profiles(PlanBuilder& builder);

/// Bindings of the outputs, with steps that copy what does not lie at the border; and who tells
/// data-dependent symbols. Comes last.
void bind_outputs(PlanBuilder& builder);

}  // namespace tenon
