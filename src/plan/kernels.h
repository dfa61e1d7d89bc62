// From a plan's steps to kernels, and from kernels and shapes to executions.
#pragma once

#include <memory>
#include <vector>

#include "plan/plan.h"
#include "target/target.h"

namespace tenon {

/// What a step's kernel is told about its tensors; `shapes` has an entry per plan tensor.
std::vector<TensorSpec> specs_of(const Plan& plan, std::span<const int32_t> tensors,
                                 std::span<const Shape> shapes);

/// One layer of an engine: the op (attributes) and its kernel.
struct LoadedStep {
  std::unique_ptr<Op> op;
  std::unique_ptr<Kernel> kernel;
};

/// Makes the kernels that the plan names, in step order. Throws, naming the layer, when the plan is
/// for another target, an op or kernel is unknown, or a plugin is missing.
std::vector<LoadedStep> load_steps(const Plan& plan, const Target& target);

}  // namespace tenon
