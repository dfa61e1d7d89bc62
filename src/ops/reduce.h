// Sum, product, maximum, minimum and average along axes.
#pragma once

#include "network/scratch_kernel.h"

namespace tenon {

/// `axes` is a bit mask. Integer and float tensors; content is propagated.
struct Reduce final : OpOf<Reduce, LayerType::kREDUCE>, ScratchKernel {
  static constexpr std::string_view kName = "Reduce";
  static constexpr Traits kTraits{.runs = Runs::kKernel,
                                  .reduced_precision = ReducedPrecision::kAllInputs,
                                  .magnitude = Magnitude::kByAttributes,
                                  .implicit_batch = ImplicitBatch::kMovesAxes,
                                  .work = Work::kCounted};
  nvinfer1::ReduceOperation operation = nvinfer1::ReduceOperation::kSUM;
  uint32_t axes = 0;
  bool keep_dimensions = false;

  void visit(FieldVisitor& v) override;
  void infer(Inference& c) const override;
  Magnitude magnitude(const Node& node, DataType type) const override;
  void insert_batch_axis(int32_t largest_batch) override;
  double operations(std::span<const Shape> inputs, std::span<const Shape> outputs) const override;
  void reference(const ReferenceCall& call) const override { run_with_own_scratch(call); }
  size_t scratch_bytes(const ReferenceCall& call) const override;
  void run(const ReferenceCall& call, std::byte* scratch) const override;
  /// The dimensions of the output.
  Dims reduced(Inference& c) const;
  /// As run(), where elements of 64 bits are float64.
  void run_float64(const ReferenceCall& call, std::byte* scratch) const;
};

}  // namespace tenon
