// The different elements of a tensor, or its different slices along an axis.
#pragma once

#include "network/op.h"

namespace tenon {

/// Input: data. Outputs: the different elements (in rising order, or as they first occur), int64
/// positions of their first occurrence, for each element which of them it is, and how often each
/// occurs. With `has_axis`, slices along `axis` take the place of elements. NaNs are equal to each
/// other and greater than numbers. Semantics: ONNX Unique.
struct Unique final : OpOf<Unique, layer_type(PrivateLayer::kUnique)> {
  static constexpr std::string_view kName = "Unique";
  static constexpr Traits kTraits{.runs = Runs::kKernel,
                                  .reduced_precision = ReducedPrecision::kNone,
                                  .magnitude = Magnitude::kOfInputs,
                                  .implicit_batch = ImplicitBatch::kUnsupported,
                                  .work = Work::kNone};
  bool has_axis = false;
  int32_t axis = 0;
  bool sorted = true;

  int output_count() const override { return 4; }
  void visit(FieldVisitor& v) override;
  void infer(Inference& c) const override;
  void reference(const ReferenceCall& call) const override;
};

}  // namespace tenon
