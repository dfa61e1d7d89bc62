// What a plan says of its inputs and outputs, and the shape program and profiles that follow.
#pragma once

#include "plan/draft.h"

namespace tenon {

/// Bindings of the inputs, the symbols of the shape program, and what it must compute for the
/// scheduled layers. Comes first.
void bind_inputs(Draft& draft);

/// The profiles, each checked at its extremes, and with them the draft's estimates.
void bind_profiles(Draft& draft);

/// Bindings of the outputs, with steps that copy what does not lie at the border; and who tells
/// data-dependent symbols. Comes last.
void bind_outputs(Draft& draft);

}  // namespace tenon
