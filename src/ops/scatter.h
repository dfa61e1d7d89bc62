// A copy of a tensor with some elements or blocks replaced, or combined with updates.
#pragma once

#include "network/op.h"

namespace tenon {

/// How an update meets what is there (ONNX attribute `reduction`).
enum class ScatterReduction : int32_t { kNone, kAdd, kMul, kMin, kMax };

/// Inputs: data, indices (int32 or int64; negative ones count from the end), updates. Indices
/// outside are an error that names them. Where updates meet, the last one counts, or all are
/// combined in order. Semantics: ONNX ScatterElements (kELEMENT, along `axis`) and ScatterND (kND);
/// TensorRT IScatterLayer has no reductions.
struct Scatter final : OpOf<Scatter, LayerType::kSCATTER> {
  static constexpr std::string_view kName = "Scatter";
  static constexpr Traits kTraits{.runs = Runs::kKernel,
                                  .reduced_precision = ReducedPrecision::kAllInputs,
                                  .magnitude = Magnitude::kOfInputs,
                                  .implicit_batch = ImplicitBatch::kUnsupported,
                                  .work = Work::kNone};
  nvinfer1::ScatterMode mode = nvinfer1::ScatterMode::kELEMENT;
  int32_t axis = 0;
  ScatterReduction reduction = ScatterReduction::kNone;

  void visit(FieldVisitor& v) override;
  void infer(Inference& c) const override;
  void reference(const ReferenceCall& call) const override;
};

/// The kernels: write `updates` into `out`, which holds the data already.
void scatter_elements(const TensorView& indices, const TensorView& updates, int axis,
                      ScatterReduction reduction, const TensorView& out);
void scatter_nd(const TensorView& indices, const TensorView& updates, ScatterReduction reduction,
                const TensorView& out);

}  // namespace tenon
