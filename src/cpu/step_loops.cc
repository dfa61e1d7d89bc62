#include "cpu/step_loops.h"

#include <algorithm>
#include <limits>
#include <optional>

namespace tenon::cpu {
namespace {

using Family = PointwiseStep::Family;
using nvinfer1::ActivationType;
using nvinfer1::ElementWiseOperation;

StepFunction fast_function(const PointwiseStep& step) {
  const SimdKernels& kernels = simd_kernels();
  const auto i = static_cast<size_t>(step.function);
  switch (step.family) {
    case Family::kUnary:
      return i < std::size(kernels.unary) ? kernels.unary[i] : nullptr;
    case Family::kActivation:
      return i < std::size(kernels.activation) ? kernels.activation[i] : nullptr;
    case Family::kElementWise:
      return i < std::size(kernels.element_wise) ? kernels.element_wise[i] : nullptr;
  }
  return nullptr;
}

bool is(const PointwiseStep& step, ActivationType type) {
  return step.family == Family::kActivation && step.function == static_cast<int32_t>(type);
}
bool is(const PointwiseStep& step, ElementWiseOperation operation) {
  return step.family == Family::kElementWise && step.function == static_cast<int32_t>(operation);
}

int64_t reads_of(const PointwiseProgram& program, int32_t r) {
  int64_t reads = 0;
  for (const PointwiseStep& s : program.steps)
    reads += (s.a == r ? 1 : 0) + (s.family == Family::kElementWise && s.b == r ? 1 : 0);
  return reads;
}

/// Step `i` and the next one; none if there is no loop for both.
std::optional<StepLoop> joined(const PointwiseProgram& program, size_t i) {
  if (i + 1 >= program.steps.size()) return std::nullopt;
  const PointwiseStep &first = program.steps[i], &second = program.steps[i + 1];
  const int32_t between = program.step_register(i), result = program.step_register(i + 1);
  if (reads_of(program, between) != 1) return std::nullopt;
  if (is(second, ElementWiseOperation::kPROD)
      && std::minmax(second.a, second.b) == std::minmax(first.a, between)) {
    if (is(first, ActivationType::kSIGMOID)) return StepLoop{simd_kernels().silu, first, result};
    if (is(first, ActivationType::kHARD_SIGMOID))
      return StepLoop{simd_kernels().hard_swish, first, result};
  }
  if (!is(first, ElementWiseOperation::kSUM) || second.a != between) return std::nullopt;
  PointwiseStep sum = first;
  if (is(second, ActivationType::kRELU)) {
    sum.beta = std::numeric_limits<float>::infinity();
  } else if (is(second, ActivationType::kCLIP)) {
    sum.alpha = second.alpha;
    sum.beta = second.beta;
  } else {
    return std::nullopt;
  }
  return StepLoop{simd_kernels().clipped_sum, sum, result};
}

}  // namespace

std::vector<StepLoop> step_loops(const PointwiseProgram& program) {
  std::vector<StepLoop> loops;
  for (size_t i = 0; i < program.steps.size(); ++i) {
    const PointwiseStep& step = program.steps[i];
    if (const auto both = joined(program, i)) {
      loops.push_back(*both);
      ++i;
    } else {
      loops.push_back({fast_function(step), step, program.step_register(i)});
    }
  }
  return loops;
}

}  // namespace tenon::cpu
