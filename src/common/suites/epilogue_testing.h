// Epilogues that tests of matrix products give them.
#pragma once

#include <optional>

#include "backend/testing.h"

namespace tenon {

/// A second tensor is added, where it `adds`, and then the activation applied, where there is one.
inline PointwiseProgram sum_and_activation(bool adds,
                                           std::optional<nvinfer1::ActivationType> activation) {
  using Family = PointwiseStep::Family;
  PointwiseProgram p;
  p.inputs = adds ? 2 : 1;
  if (adds) p.steps.push_back({Family::kElementWise, 0, 1, 0});  // the sum, operands swapped
  if (activation)
    p.steps.push_back({Family::kActivation, static_cast<int32_t>(*activation),
                       p.steps.empty() ? 0 : p.step_register(0)});
  return p;
}

}  // namespace tenon
