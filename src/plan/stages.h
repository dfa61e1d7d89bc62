// The order in which a plan's sizes become known while it runs.
#pragma once

#include <cstdint>
#include <vector>

#include "plan/plan.h"

namespace tenon {

/// Sizes of stage 0 follow from the inputs. Those that only a step tells (an extent of a
/// kDataDependent tensor, an element that decides a shape) are known from the stage after that
/// step's.
struct Stages {
  int32_t count = 1;
  std::vector<int32_t> steps;    // never falls from one step to the next
  std::vector<int32_t> tensors;  // from when on extents and host elements are known
  std::vector<int32_t>
      first_stages;  // per tensor: the stage of the first step that writes it, else 0
  std::vector<int32_t> symbols;
  std::vector<std::vector<int32_t>> made_symbols;  // per step: the symbols that it tells
};

/// Throws when a step needs a size, or memory of the context, before the step that makes it.
Stages stages_of(const Plan& plan);

}  // namespace tenon
