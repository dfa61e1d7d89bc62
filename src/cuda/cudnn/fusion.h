// Element-wise programs as operations of cuDNN's graphs.
#pragma once

#include <optional>
#include <vector>

#include "cuda/cudnn/graph.h"
#include "ops/support/pointwise_program.h"

namespace tenon::cuda::cudnn {

/// A program as cuDNN may compute it together with a convolution. Registers are numbered as in
/// programs: inputs, constants, then the results of the steps, of which the last is the output.
struct Fusion {
  struct Step {
    Graph::Pointwise operation;
    int32_t a = 0, b = -1;
  };
  int32_t inputs = 1;
  std::vector<float> constants;
  std::vector<Step> steps;
};

/// None when cuDNN has no such function.
std::optional<Fusion> match_fusion(const PointwiseProgram& program);

}  // namespace tenon::cuda::cudnn
