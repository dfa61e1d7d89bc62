// Sums of products over named axes.
#pragma once

#include <map>

#include "network/op.h"

namespace tenon {

/// An equation taken apart. Letters are their own labels; the axes of an ellipsis are kEllipsis - 1
/// for the last, kEllipsis - 2 for the one before it, and so on.
struct EinsumTerms {
  static constexpr int kEllipsis = 0;
  std::vector<std::vector<int>> operands;  // a label for each axis
  std::vector<int> output;
};

/// Takes "bij,bjk->bik" apart for operands of these ranks; without "->" the output has the
/// ellipsis, then the letters that occur once, sorted. Throws for what is not such an equation.
EinsumTerms parse_einsum(const std::string& equation, std::span<const int> ranks);

/// The extent of each label. Extents of 1 are stretched along the axes of an ellipsis only.
std::map<int, Dim> einsum_extents(const EinsumTerms& terms, std::span<const Dims> operands);

/// Inputs: one tensor per term of the equation, all of one type (floating point, int32 or int64).
/// Semantics: TensorRT IEinsumLayer and ONNX Einsum: repeated letters take the diagonal, letters
/// that the output lacks are summed over, "..." stands for any leading axes.
struct Einsum final : OpOf<Einsum, LayerType::kEINSUM> {
  static constexpr std::string_view kName = "Einsum";
  static constexpr Traits kTraits{.runs = Runs::kKernel,
                                  .reduced_precision = ReducedPrecision::kAllInputs,
                                  .magnitude = Magnitude::kOfInputs,
                                  .implicit_batch = ImplicitBatch::kUnsupported,
                                  .work = Work::kCounted};
  std::string equation;

  void visit(FieldVisitor& v) override;
  void infer(Inference& c) const override;
  double operations(std::span<const Shape> inputs, std::span<const Shape> outputs) const override;
  void reference(const ReferenceCall& call) const override;
};

}  // namespace tenon
