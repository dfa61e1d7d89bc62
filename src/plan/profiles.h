// Optimization profiles: checked, completed, and evaluated to concrete shapes.
#pragma once

#include "network/network.h"
#include "plan/compile.h"
#include "plan/plan.h"

namespace tenon {

enum class ProfilePoint { kMin, kOpt, kMax };

/// The profiles of a plan: every range complete, min <= opt <= max, fixed extents as declared. A
/// network whose inputs are all fixed needs none and gets one. `is_shape` says which inputs need
/// values.
std::vector<PlanProfile> resolve_profiles(const Network& network,
                                          const std::vector<ProfileRequest>& requests,
                                          const std::vector<bool>& is_shape);

/// Values of the symbols at one point of a profile. Throws when inputs that share a named dimension
/// disagree.
std::vector<SymbolValue> symbols_at(const Plan& plan, const PlanProfile& profile,
                                    ProfilePoint point);

}  // namespace tenon
