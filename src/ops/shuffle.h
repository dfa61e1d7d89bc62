// Transpose, reshape, transpose: a change of shape without arithmetic.
#pragma once

#include "network/op.h"

namespace tenon {

/// Inputs: data, reshape dimensions (optional integer tensor known on the host). In `reshape`, 0
/// copies the extent (unless zero_is_placeholder is false) and one -1 is computed. An empty
/// permutation is the identity; `has_reshape` false leaves the shape.
struct Shuffle final : OpOf<Shuffle, LayerType::kSHUFFLE> {
  static constexpr std::string_view kName = "Shuffle";
  static constexpr Traits kTraits{.runs = Runs::kKernel,
                                  .reduced_precision = ReducedPrecision::kAllInputs,
                                  .magnitude = Magnitude::kOfInputs,
                                  .implicit_batch = ImplicitBatch::kMovesAttributes,
                                  .work = Work::kNone};
  std::vector<int32_t> first_transpose, second_transpose;
  bool has_reshape = false;
  Shape reshape;
  bool zero_is_placeholder = true;

  /// Whether the output has the input's bytes: no transpose moves an axis.
  bool only_reshapes() const;

  void visit(FieldVisitor& v) override;
  void infer(Inference& c) const override;
  void insert_batch_axis(int32_t largest_batch) override;
  void reference(const ReferenceCall& call) const override;
};

/// A tensor's axes in another order: the result's shape, and the elements to skip in the source for
/// a step along each of its axes.
struct Transpose {
  Shape shape, strides;
  bool is_identity = true;
};

/// What a layer does at certain shapes: the second transpose is of what the reshape makes of the
/// first one's result.
struct ShuffleSteps {
  Transpose first, second;
};
ShuffleSteps steps_of(const Shuffle& op, const Shape& in, const Shape& out);

}  // namespace tenon
