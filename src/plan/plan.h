// A compiled network as data: which kernels run on which tensors, in what order. No code, no
// pointers into the network; a plan can be stored, read and printed without a single plugin.
// A portable plan carries a copy of the network along.
#pragma once

#include <NvInfer.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/expr.h"
#include "base/fields.h"
#include "base/layout.h"
#include "base/tensor.h"
#include "network/network.h"
#include "network/precision.h"

namespace tenon {

/// A tensor of the plan. Extents and elements are slots of the plan's shape program.
struct PlanTensor {
  enum class Place : uint8_t {
    kArena,          // device memory of the context
    kInput,          // the caller's memory
    kOutput,         // the caller's memory
    kWeight,         // a constant of the plan
    kHost,           // elements are evaluated when shapes are set
    kAlias,          // shares the storage of `alias_of`
    kNone,           // packed into a kernel: never materialised
    kDataDependent,  // memory that the step gets when it knows the size
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

class PackedFrom;
struct Plan;

struct PlanStep {
  std::string name;
  std::string metadata;
  std::string op;  // name for make_op()
  FieldList attributes;
  LayerType layer = LayerType::kIDENTITY;
  std::string kernel;
  std::string variant;  // of the kernel, where it has several; for people
  /// The kernel's, as parts of the range of exact results; -1 where the build did not measure it.
  float largest_error = -1, rms_error = -1;
  FieldList state;
  std::vector<int32_t> packed;  // indices into Plan::weights
  /// Null where that is not known: of plans that cannot be refitted, and of those from files.
  std::shared_ptr<const PackedFrom> packed_from;
  std::vector<int32_t> inputs;  // indices into Plan::tensors, -1 for one left out
  std::vector<int32_t> outputs;
  std::vector<Plan> bodies;  // of a loop or conditional: without a kernel of its own
  /// Of steps that run only while a listener is told of a tensor: an index into
  /// Plan::debug_tensors, else -1. The step without outputs among them tells.
  int32_t debug = -1;
};

/// A tensor that debug listeners may be told of.
struct PlanDebugTensor {
  std::string name;
  bool unfused = false;  // it was not marked, but is there after optimisation
};

/// A network input or output.
struct PlanBinding {
  int32_t tensor = -1;
  bool is_input = false;
  bool is_shape = false;  // elements are needed before the network runs: host memory
  Shape declared;         // inputs: -1 where only known at run time
  std::vector<std::string> dimension_names;
};

/// What a symbol of the shape program stands for: an extent or element of an input, or
/// (data-dependent) of a tensor that a step makes.
struct PlanSymbol {
  int32_t binding = -1;     // of an input; -1 for a data-dependent symbol
  bool is_element = false;  // else an extent
  int32_t index = 0;
  int32_t tensor =
      -1;  // data-dependent: index into Plan::tensors, -1 when nothing makes it any more
  int32_t upper = -1;  // data-dependent: slot of what bounds it, -1 for nothing
  int32_t opt = -1;    // data-dependent: slot of what to plan with, -1 for a guess

  bool is_data_dependent() const { return binding < 0; }
};

/// The range of shapes that one profile allows; one entry per input binding.
struct PlanProfile {
  struct Range {
    Shape min, opt, max;
    std::vector<int64_t> min_values, opt_values, max_values;  // shape inputs
  };
  std::vector<Range> inputs;
  /// Device memory that a context takes at the optimum and at the maximum, the larger of the two.
  int64_t device_memory = 0;
};

struct RequiredPlugin {
  std::string name, version, name_space;
  friend bool operator==(const RequiredPlugin&, const RequiredPlugin&) = default;
};

/// A plugin library that a plan carries along: code of the host, which runs when it is loaded.
struct PlanLibrary {
  std::string name;  // of the file that it was
  Tensor bytes;      // of that file, as uint8
};

/// Bytes that weights in the form of their kernels may take beyond the network's own. Kernels that
/// want more are passed over.
struct WeightGrowth {
  size_t layer = SIZE_MAX;  // of one layer
  size_t plan = SIZE_MAX;   // of all, those in bodies counted for each body by itself
};

/// What a plan is built from, and how: it can be built again, on another machine or with other
/// weights.
struct PlanSource {
  std::shared_ptr<const Network> network;
  bool portable = false;    // other machines build the plan again
  bool refittable = false;  // weights that are marked so can be replaced
  Precision precision;
  bool time_kernels = true;
  size_t max_workspace = SIZE_MAX;
  WeightGrowth max_growth;
};

struct Plan {
  static constexpr int32_t kMaxAuxStreams = 64;
  std::string name;
  std::string target;           // "cpu"
  std::string fingerprint;      // of the machine that timed the kernels
  std::string instruction_set;  // packed weights are made for it
  nvinfer1::ProfilingVerbosity verbosity = nvinfer1::ProfilingVerbosity::kLAYER_NAMES_ONLY;
  bool tf32 = false;  // KernelRequest::tf32
  /// The largest implicit batch, which is dimension 0 of inputs and outputs; 0 for none.
  int32_t max_batch = 0;
  /// Streams beside the caller's that contexts on a device may use.
  int32_t aux_streams = 0;
  ShapeProgram shapes;
  std::vector<PlanSymbol> symbols;
  std::vector<PlanTensor> tensors;
  std::vector<PlanStep> steps;
  std::vector<PlanBinding> bindings;  // inputs first
  std::vector<PlanProfile> profiles;
  std::vector<PlanDebugTensor> debug_tensors;
  std::vector<RequiredPlugin> plugins;
  std::vector<PlanLibrary> libraries;
  std::vector<Tensor> weights;
  std::shared_ptr<const PlanSource> source;  // null: neither portable nor refittable
  /// Weights have types and shapes, but no data: the plan must be refitted before it runs.
  bool is_stripped = false;

  bool is_portable() const { return source != nullptr && source->portable; }
  bool is_refittable() const { return source != nullptr && source->refittable; }
  int32_t input_count() const;
  /// The tensor whose storage tensor i uses.
  int32_t root_of(int32_t i) const;
};

/// Values of all symbols when the inputs have the given shapes and (for shape inputs) elements;
/// data-dependent ones are not known.
std::vector<SymbolValue> symbol_values(const Plan& plan, const std::vector<Shape>& shapes,
                                       const std::vector<std::vector<int64_t>>& elements);
/// The concrete shape of tensor i, from the evaluated program; -1 for extents that are not known.
Shape shape_of(const Plan& plan, int32_t tensor, std::span<const Number> values);
/// The slots of the shape program for `symbols`, with data-dependent ones at what bounds them.
std::vector<Number> largest_slots(const Plan& plan, std::vector<SymbolValue> symbols);
/// The shape of tensor i there.
Shape largest_shape(const Plan& plan, int32_t tensor, std::vector<SymbolValue> symbols);
/// An extent that nothing is known of, while kernels are chosen.
constexpr int64_t kGuessedExtent = 64;
/// One that a layer tells, where nothing is known of it: as many as detectors find boxes. A product
/// of few rows waits for its weights, and would be timed as if all did.
constexpr int64_t kGuessedCount = 256;
/// The slots of the shape program for planning: data-dependent sizes are guessed, and no extent is
/// negative.
/// @param all_guessed the symbols are guesses themselves.
std::vector<Number> estimated_slots(const Plan& plan, std::span<const SymbolValue> symbols,
                                    bool all_guessed = false);

}  // namespace tenon
