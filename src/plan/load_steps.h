// From a plan's steps to kernels, and from kernels and shapes to executions.
#pragma once

#include <memory>
#include <vector>

#include "backend/target.h"
#include "plan/plan.h"

namespace tenon {

/// What a step's kernel is told about its tensors; `shapes` has an entry per plan tensor.
std::vector<TensorSpec> specs_of(const Plan& plan, std::span<const int32_t> tensors,
                                 std::span<const Shape> shapes);

/// The same for the outputs of a step, with what bounds those of data-dependent extents.
std::vector<TensorSpec> output_specs(const Plan& plan, const PlanStep& step,
                                     std::span<const SymbolValue> symbols,
                                     std::span<const Shape> shapes);

/// One layer of an engine: the op (attributes) and its kernel.
struct LoadedStep {
  std::unique_ptr<Op> op;
  std::unique_ptr<Kernel> kernel;  // null for a layer with bodies, and for a debug tensor
};

/// Whether the step gives an output its memory when it knows the size.
bool makes_data_dependent(const Plan& plan, const PlanStep& step);

/// The op of a step with its attributes. Throws for one that this build does not have.
std::unique_ptr<Op> op_of(const PlanStep& step);

/// What follows from the inputs' shapes: slots of the plan's shape program, and a shape per tensor.
/// Extents that are not known are -1.
struct PlanValues {
  std::span<const SymbolValue> symbols;
  std::span<const Number> slots;
  std::span<const Shape> shapes;
};

/// Verifies a step by its op's shape rule, which must accept the inputs and give the types and
/// shapes of the outputs that the plan states: attributes are then safe to index with. Plugins are
/// left to themselves. Throws; the caller names the layer.
void check_step(const Plan& plan, const PlanStep& step, const Op& op, const PlanValues& values);

/// "built for …, and here is …: …": what a plan of another machine is told, and what to do.
std::string built_elsewhere(const Plan& plan, const Target& target);

/// What the step's kernel stored.
StoredKernel stored_kernel(const Plan& plan, const PlanStep& step);

/// Makes the kernels that the plan names, in step order. Throws, naming the layer, when the plan is
/// for another target, an op or kernel is unknown, or a plugin is missing.
/// @param is_body the plan is of a body: its profile is a guess, which nothing is checked by.
std::vector<LoadedStep> load_steps(const Plan& plan, const Target& target, bool is_body = false);

}  // namespace tenon
