// A compiled network as data: which kernels run on which tensors, in what order. No code, no
// pointers into the network; a plan can be stored, read and printed without a single plugin.
#pragma once

#include <NvInfer.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/expr.h"
#include "base/fields.h"
#include "base/layout.h"
#include "base/tensor.h"
#include "network/op.h"

namespace tenon {

/// A tensor of the plan. Extents and elements are slots of the plan's shape program.
struct PlanTensor {
  enum class Place : uint8_t {
    kArena,   // device memory of the context
    kInput,   // the caller's memory
    kOutput,  // the caller's memory
    kWeight,  // a constant of the plan
    kHost,    // elements are evaluated when shapes are set
    kAlias,   // shares the storage of `alias_of`
    kNone,    // packed into a kernel: never materialised
  };
  std::string name;
  DataType type = DataType::kFLOAT;
  Layout layout = Layout::kLinear;
  Place place = Place::kArena;
  std::vector<int32_t> extents;
  std::vector<int32_t> content;  // kHost, and outputs whose elements are known on the host
  int32_t alias_of = -1;
  int32_t weight = -1;  // kWeight: index into Plan::weights
};

struct PlanStep {
  std::string name;
  std::string metadata;
  std::string op;  // name for make_op()
  FieldList attributes;
  LayerType layer = LayerType::kIDENTITY;
  std::string kernel;
  FieldList state;
  std::vector<int32_t> packed;  // indices into Plan::weights
  std::vector<int32_t> inputs;  // indices into Plan::tensors, -1 for one left out
  std::vector<int32_t> outputs;
};

/// A network input or output.
struct PlanBinding {
  int32_t tensor = -1;
  bool is_input = false;
  bool is_shape = false;  // elements are needed before the network runs: host memory
  Shape declared;         // inputs: -1 where only known at run time
  std::vector<std::string> dimension_names;
};

/// What a symbol of the shape program stands for.
struct PlanSymbol {
  int32_t binding = -1;
  bool is_element = false;  // else an extent
  int32_t index = 0;
};

/// The range of shapes that one profile allows; one entry per input binding.
struct PlanProfile {
  struct Range {
    Shape min, opt, max;
    std::vector<int64_t> min_values, opt_values, max_values;  // shape inputs
  };
  std::vector<Range> inputs;
  /// Device memory that a context needs at the optimum and at the maximum, the larger of the two.
  int64_t device_memory = 0;
};

struct RequiredPlugin {
  std::string name, version, name_space;
  friend bool operator==(const RequiredPlugin&, const RequiredPlugin&) = default;
};

struct Plan {
  std::string name;
  std::string target;           // "cpu"
  std::string fingerprint;      // of the machine that timed the kernels
  std::string instruction_set;  // packed weights are made for it
  nvinfer1::ProfilingVerbosity verbosity = nvinfer1::ProfilingVerbosity::kLAYER_NAMES_ONLY;
  ShapeProgram shapes;
  std::vector<PlanSymbol> symbols;
  std::vector<PlanTensor> tensors;
  std::vector<PlanStep> steps;
  std::vector<PlanBinding> bindings;  // inputs first
  std::vector<PlanProfile> profiles;
  std::vector<RequiredPlugin> plugins;
  std::vector<Tensor> weights;

  int32_t input_count() const;
  /// The tensor whose storage tensor i uses.
  int32_t root_of(int32_t i) const;
};

/// Values of all symbols when the inputs have the given shapes and (for shape inputs) elements.
std::vector<int64_t> symbol_values(const Plan& plan, const std::vector<Shape>& shapes,
                                   const std::vector<std::vector<int64_t>>& elements);
/// The concrete shape of tensor i, from the evaluated program.
Shape shape_of(const Plan& plan, int32_t tensor, std::span<const Number> values);

}  // namespace tenon
