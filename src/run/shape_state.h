// All that follows from one set of input shapes: extents, executions, memory, host values. What
// depends on sizes that only running tells is filled in stage by stage.
#pragma once

#include <memory>
#include <vector>

#include "run/engine.h"

namespace tenon {

struct ShapeState {
  std::vector<SymbolValue> symbols;  // data-dependent ones as the last run told them
  std::vector<SymbolValue> upper;    // per symbol: what bounds a data-dependent one, if anything
  int64_t max_memory = 0;            // as make_shape_state() has it
  std::vector<Shape> shapes;         // per plan tensor; -1 for what is not known
  std::vector<std::shared_ptr<Execution>>
      executions;  // per step; null where there is nothing to do
  std::vector<std::vector<TensorSpec>> inputs,
      outputs;                        // per step, what the execution was made for
  std::vector<Tensor> host;           // per plan tensor; filled for kHost
  std::vector<const void*> elements;  // per plan tensor; where kHost ones lie for kernels
  // Shape inputs that kernels read on a device: their elements, by which a state is found again,
  // and where those are for kernels. By input; empty for others.
  struct ShapeInput {
    Tensor elements;
    DeviceBuffer copy;
  };
  std::vector<ShapeInput> shape_inputs;
  struct Stage {
    bool ready = false;
    std::vector<SymbolValue> symbols;  // what it was made for
    int64_t bytes = 0;                 // of device memory
    DeviceBuffer copies;               // of host tensors that kernels read on a device
  };
  std::vector<Stage> stages;
  std::vector<int64_t> offsets;          // per plan tensor, of kArena ones, in their stage's memory
  std::vector<int64_t> scratch_offsets;  // per step
  // What run() fills in, sized here so that it need not allocate.
  std::vector<std::byte*> pointers;  // per plan tensor
  std::vector<std::vector<const void*>> step_inputs;
  std::vector<std::vector<void*>> step_outputs;
};

/// An element of a tensor that decides shapes; throws for a type that cannot.
int64_t element_at(const void* data, DataType type, int32_t index);

/// Evaluates stage 0 of the plan at these symbol values. Executions of `previous` are kept where a
/// step's shapes are the same. Throws, naming the layer, when a kernel refuses.
/// @param max_memory of the device, in bytes, that saving copies may take in the first stage.
std::unique_ptr<ShapeState> make_shape_state(const Engine& engine, std::vector<SymbolValue> symbols,
                                             int64_t max_memory, const ShapeState* previous);

/// Evaluates a later stage, now that `state.symbols` holds what the steps before it told. Does
/// nothing when that is as it was.
void prepare_stage(const Engine& engine, ShapeState& state, int32_t stage);

}  // namespace tenon
