// Which loops run the steps of a program of floats.
#pragma once

#include <vector>

#include "cpu/simd/kernels.h"
#include "ops/support/pointwise_program.h"

namespace tenon::cpu {

/// One step, or two where only the second reads the first's result.
struct StepLoop {
  StepFunction function;  // null where evaluate() must do
  PointwiseStep step;     // operands and parameters of the function, or what to evaluate
  int32_t result;         // register
};

/// Loops for all steps, in their order.
std::vector<StepLoop> step_loops(const PointwiseProgram& program);

}  // namespace tenon::cpu
