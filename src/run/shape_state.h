// All that follows from one set of input shapes: extents, executions, memory, host values.
#pragma once

#include <memory>
#include <vector>

#include "run/engine.h"

namespace tenon {

struct ShapeState {
  std::vector<int64_t> symbols;
  std::vector<Shape> shapes;  // per plan tensor
  std::vector<std::shared_ptr<Execution>>
      executions;  // per step; null where there is nothing to do
  std::vector<std::vector<TensorSpec>> inputs,
      outputs;               // per step, what the execution was made for
  std::vector<Tensor> host;  // per plan tensor; filled for kHost
  MemoryPlan memory;
  std::vector<int64_t> offsets;          // per plan tensor, of kArena ones
  std::vector<int64_t> scratch_offsets;  // per step
  // What run() fills in, sized here so that it need not allocate.
  std::vector<std::byte*> pointers;  // per plan tensor
  std::vector<std::vector<const void*>> step_inputs;
  std::vector<std::vector<void*>> step_outputs;
};

/// Evaluates the plan at these symbol values. Executions of `previous` are kept where a step's
/// shapes are the same. Throws, naming the layer, when a kernel refuses.
std::unique_ptr<ShapeState> make_shape_state(const Engine& engine, std::vector<int64_t> symbols,
                                             const ShapeState* previous);

}  // namespace tenon
