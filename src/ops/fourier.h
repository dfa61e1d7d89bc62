// Discrete Fourier transforms along an axis, and of the frames of a signal.
#pragma once

#include "network/op.h"

namespace tenon {

/// Inputs: a float tensor whose last axis is 1 (real) or 2 (real and imaginary); the length of the
/// transform, int32 or int64 with one element (optional: the axis' extent, or twice that less 2 for
/// a one-sided inverse); and a window of frame_length elements (optional).
/// Without frames: the axis is cut or filled with zeros to the length, and transformed. The output
/// has length elements there, length / 2 + 1 for a one-sided transform, and 2 as its last extent. A
/// one-sided inverse takes length / 2 + 1 elements and gives `length` real ones (last extent 1).
/// An inverse divides by the length.
/// With frames (frame_step > 0), of a signal (N, L, 1 or 2): (N, frames, frame_length or
/// frame_length / 2 + 1, 2), where frame i begins at i * frame_step and lies in the signal.
/// Semantics: ONNX DFT, STFT. Computes in float64.
struct Fourier final : OpOf<Fourier, layer_type(PrivateLayer::kFourier)> {
  static constexpr std::string_view kName = "Fourier";
  static constexpr Traits kTraits{.runs = Runs::kKernel,
                                  .reduced_precision = ReducedPrecision::kNone,
                                  .magnitude = Magnitude::kOfInputs,
                                  .implicit_batch = ImplicitBatch::kUnsupported,
                                  .work = Work::kNone};
  int64_t axis = 0;
  bool inverse = false, one_sided = false;
  int64_t frame_step = 0, frame_length = 0;

  void visit(FieldVisitor& v) override;
  void infer(Inference& c) const override;
  void reference(const ReferenceCall& call) const override;
};

}  // namespace tenon
