// A body that runs several times, with states that go from one iteration to the next.
#pragma once

#include "network/control_flow.h"
#include "ops/support/body_outputs.h"

namespace tenon {

/// Inputs: the number of iterations (one int64 or int32; may be left out), the first condition (one
/// bool; may be left out), initial states, scanned tensors, then tensors that the body reads as
/// they are. Outputs: last states, then collected tensors.
///
/// The body's inputs: the iteration (int64 scalar), the condition (bool scalar), states, a slice of
/// each scanned tensor, the others. Its outputs: the next condition, states, a slice of each
/// collected tensor. Iterations end with the number, with the scanned axis, or with a false
/// condition; with a number, scanned axes must be at least as long. Semantics: ONNX Loop and Scan,
/// TensorRT ILoop.
struct Loop final : OpOf<Loop, layer_type(PrivateLayer::kLoop)>, ControlFlow {
  static constexpr std::string_view kName = "Loop";
  static constexpr Traits kTraits{.runs = Runs::kBodies,
                                  .reduced_precision = ReducedPrecision::kNone,
                                  .magnitude = Magnitude::kOfInputs,
                                  .implicit_batch = ImplicitBatch::kUnsupported,
                                  .work = Work::kNone};
  int32_t state_count = 0;
  std::vector<int64_t> scan_axes;     // per scanned tensor
  std::vector<int64_t> scan_reverse;  // 1: from the last slice to the first
  std::vector<int64_t> collect_axes;  // per collected tensor: the new axis
  std::vector<int64_t> collect_reverse;
  /// Per collected tensor: the layer's input that is the number of slices of the output, -1 for as
  /// many as there are iterations; empty: -1 for all. Pieces that fewer iterations leave out are
  /// zeros, at the end (at the beginning where it is reversed); more iterations are an error.
  std::vector<int64_t> collect_lengths;
  /// A second body, with the inputs of the first, makes one bool before each iteration; false ends
  /// the loop (TensorRT's TripLimit::kWHILE).
  bool condition_first = false;
  BodyOutputs outputs;

  void visit(FieldVisitor& v) override;
  int output_count() const override { return static_cast<int>(outputs.count()); }
  void infer(Inference& c) const override;
  void reference(const ReferenceCall& call) const override;
  std::unique_ptr<Runner> make_runner(TensorMemory& memory) const override;
  size_t body_count() const override { return condition_first ? 2 : 1; }
  int layer_input(size_t body_input) const override;

  /// Whether elements of that input of the layer decide how it runs.
  bool reads(int input) const;

  int64_t collect_length(size_t which) const {
    return collect_lengths.empty() ? -1 : collect_lengths[which];
  }

  static constexpr size_t kFirstState = 2;  // also among the inputs of the body
};

}  // namespace tenon
