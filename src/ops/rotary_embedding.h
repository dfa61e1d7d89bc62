// Turns pairs of elements by angles that depend on the position.
#pragma once

#include "network/op.h"

namespace tenon {

/// Inputs: data (N, heads, L, size) of a float type; cosines and sines of its type, each (N or 1,
/// L, pairs), or (positions, pairs) with input 3: the positions (N, L), int32 or int64. A pair (a,
/// b) becomes (a cos - b sin, a sin + b cos). The first `dimension` elements of the size are turned
/// (0: all); pairs are neighbours (interleaved) or half of that apart. Output: of the data's shape.
/// Semantics: ONNX RotaryEmbedding, TensorRT IRotaryEmbeddingLayer.
struct RotaryEmbedding final : OpOf<RotaryEmbedding, LayerType::kROTARY_EMBEDDING> {
  static constexpr std::string_view kName = "RotaryEmbedding";
  static constexpr Traits kTraits{.runs = Runs::kKernel,
                                  .reduced_precision = ReducedPrecision::kAllInputs,
                                  .magnitude = Magnitude::kOfInputs,
                                  .implicit_batch = ImplicitBatch::kUnsupported,
                                  .work = Work::kNone};
  bool interleaved = false;
  int32_t dimension = 0;

  void visit(FieldVisitor& v) override;
  void infer(Inference& c) const override;
  void reference(const ReferenceCall& call) const override;
};

}  // namespace tenon
