// The largest or smallest elements along an axis, and where they are.
#pragma once

#include "network/scratch_kernel.h"

namespace tenon {

/// Inputs: data, k (optional integer tensor of one element; the attribute stands for it). Outputs:
/// the k first elements in order, and their positions along the axis, of type `index_type`. Of
/// equal elements the one of the lower position comes first, or with `last_index` that of the
/// higher one. A NaN is greater than every number, as in PyTorch's topk; with `nans_first` it comes
/// first among the smallest, too, as in NumPy's and PyTorch's argmin. Semantics: TensorRT
/// ITopKLayer, ONNX TopK, ArgMax and ArgMin.
struct TopK final : OpOf<TopK, LayerType::kTOPK>, ScratchKernel {
  static constexpr std::string_view kName = "TopK";
  static constexpr Traits kTraits{.runs = Runs::kKernel,
                                  .reduced_precision = ReducedPrecision::kAllInputs,
                                  .magnitude = Magnitude::kOfInputs,
                                  .implicit_batch = ImplicitBatch::kMovesAttributes,
                                  .work = Work::kNone};
  nvinfer1::TopKOperation operation = nvinfer1::TopKOperation::kMAX;
  int64_t k = 1;
  uint32_t axes = 1;  // a bit for the one axis
  DataType index_type = DataType::kINT32;
  bool last_index = false;
  bool nans_first = false;

  int output_count() const override { return 2; }
  void visit(FieldVisitor& v) override;
  void infer(Inference& c) const override;
  void insert_batch_axis(int32_t largest_batch) override;
  void reference(const ReferenceCall& call) const override { run_with_own_scratch(call); }
  size_t scratch_bytes(const ReferenceCall& call) const override;
  void run(const ReferenceCall& call, std::byte* scratch) const override;
};

}  // namespace tenon
