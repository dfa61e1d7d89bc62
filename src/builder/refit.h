// New weights for a plan: its network gets them, and is built again with the kernels that were
// chosen before.
#pragma once

#include <NvInfer.h>

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "backend/target.h"
#include "base/log.h"
#include "plan/plan.h"

namespace tenon {

/// Weights of a refittable plan's network that new ones may replace.
struct RefittableWeights {
  struct Use {
    std::string layer;
    nvinfer1::WeightsRole role;
  };
  std::string name;       // of the initializer or setWeightsName; "" for none
  std::vector<Use> uses;  // layers that take them in a role; none for those that have no roles
  Tensor current;         // without data where the plan is stripped of them
  bool is_float64;        // whose bits the elements of int64 are
};

/// Marks the weights of the network, and of its bodies, that may be refitted: all but integers of
/// 32 and 64 bits and booleans, which shapes may depend on. Float64 is no integer.
void mark_refittable(Network& network);
/// Takes the mark from weights that may not be refitted; `log` is warned of each.
void check_refittable(Network& network, const Log& log);

/// In the order of the network, then of its bodies; empty for a plan that is not refittable.
std::vector<RefittableWeights> refittable_weights(const Plan& plan);

/// The plan with new weights, which is built to the end or not at all.
/// @param given one for each of refittable_weights(), with their type and number of elements;
///     nothing for those that stay as they are.
/// Throws Error when weights are stripped and not given, when one changes the shape of an input or
/// output, and as build_plan() does.
Plan refitted(const Plan& plan, std::span<const std::optional<Tensor>> given, const Target& target,
              const Log& log);

/// The plan without the bytes of weights that can be refitted, and of what was made of them. It
/// must be refitted before it runs.
Plan stripped(Plan plan);

}  // namespace tenon
