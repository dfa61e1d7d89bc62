// What a step has to do at certain shapes: arithmetic by its definition, and memory.
#pragma once

#include <span>

#include "plan/plan.h"

namespace tenon {

struct StepWork {
  double operations = 0;  // Op::operations() of its layer
  /// Its inputs and outputs once each, and its constants in the form that its kernel keeps. Of data
  /// that a layer only takes parts from (gathering, slicing), as much as it gives.
  double bytes = 0;
};

/// What a tensor takes in the memory that steps read and write; 0 of those on the host and of
/// constants that a kernel has packed.
double bytes_of_tensor(const Plan& plan, int32_t tensor, const Shape& shape);

/// @param shapes of all tensors of the plan. Nothing where one of the step's is not known.
StepWork work_of(const Plan& plan, const PlanStep& step, std::span<const Shape> shapes);

}  // namespace tenon
