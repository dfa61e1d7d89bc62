// What a layer kind says about itself, whatever the attributes of a layer are.
#pragma once

#include <cstdint>

namespace tenon {

/// What runs a layer.
enum class Runs : uint8_t {
  kKernel,
  kPlugin,
  kBodies,    // networks that it holds: ControlFlow
  kListener,  // a debug listener of the application, if there is one
  kNever      // nest_control_flow() makes another layer of it: FlowBoundary
};

/// Which inputs take the 16-bit type that a layer is to compute in.
enum class ReducedPrecision : uint8_t {
  kNone,  // it computes in float32
  /// The others say where to look in it, or by how much, and float32 says it better.
  kFirstInput,
  kAllInputs,
  kResult,   // none: an attribute is the type of the result
  kOwnTypes  // none: there is nothing to compute
};

/// How large the results are. Float16 and bfloat16 hold ordinary numbers only.
enum class Magnitude : uint8_t {
  /// Whatever comes in: averages with weights that sum up to 1, what is divided by its deviation,
  /// sums with weights that were trained.
  kOrdinary,
  kOfInputs,
  kLarge,        // or small steps between large numbers, as of positions
  kByAttributes  // Op::magnitude() says it
};

/// How a layer of a network with an implicit batch becomes one with the batch as axis 0.
enum class ImplicitBatch : uint8_t {
  kUnsupported,
  kNamesNoAxes,     // as it is
  kCountsFromLast,  // as it is, if the items have as many axes: Op::min_rank()
  kMovesAxes,       // Op::insert_batch_axis() changes its attributes
  kMovesAttributes  // as kMovesAxes, unless it has inputs that say what attributes else say
};

/// The arithmetic that a layer is by its definition, and the memory that it reads.
enum class Work : uint8_t {
  kNone,        // it mostly moves data
  kTakesParts,  // none; and of its first input, it reads as much as it writes
  kPerElement,  // one operation for each element of the result
  kCounted,     // Op::operations() counts
  kProducts     // Op::operations() counts multiply-adds with the weights that are input 1
};

/// A member that has no default: every layer kind decides.
template <class T> struct Decided {
  T value;
  // NOLINTNEXTLINE(google-explicit-constructor)
  consteval Decided(T decision) : value(decision) {}
  constexpr operator T() const { return value; }
};

struct Traits {
  Decided<Runs> runs;
  Decided<ReducedPrecision> reduced_precision;
  Decided<Magnitude> magnitude;
  Decided<ImplicitBatch> implicit_batch;
  Decided<Work> work;
};

}  // namespace tenon
