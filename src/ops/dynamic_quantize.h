// Quantisation of blocks by scales that are found when the network runs.
#pragma once

#include "network/op.h"

namespace tenon {

/// Inputs: data, and perhaps one float32 number by which scales are divided before they are stored
/// (double quantisation). Outputs: the data in `to` (fp4, fp8 or int8), and a scale per block in
/// `scale_type`: the block's largest magnitude over the largest number of `to`. Scales of type e8m0
/// round up to powers of two. Data are divided by the scale as it was stored. Semantics: TensorRT's
/// DynamicQuantize (NVFP4, MXFP8).
struct DynamicQuantize final : OpOf<DynamicQuantize, LayerType::kDYNAMIC_QUANTIZE> {
  static constexpr std::string_view kName = "DynamicQuantize";
  static constexpr Traits kTraits{.runs = Runs::kKernel,
                                  .reduced_precision = ReducedPrecision::kNone,
                                  .magnitude = Magnitude::kOfInputs,
                                  .implicit_batch = ImplicitBatch::kUnsupported,
                                  .work = Work::kNone};
  DataType to = DataType::kFP4, scale_type = DataType::kFP8;
  int32_t axis = -1;       // of blocks along one axis
  int32_t block_size = 0;  // along that axis
  Shape block;             // instead of the two: an extent per axis, -1 for all of it

  void visit(FieldVisitor& v) override;
  int output_count() const override { return 2; }
  void infer(Inference& c) const override;
  void reference(const ReferenceCall& call) const override;
};

/// The extents of a block of data, one per axis; those that the op leaves open are the data's.
Shape block_of(const DynamicQuantize& op, const Shape& data);

/// The largest number of a type that blocks are quantised to.
float largest_number(DataType type);

}  // namespace tenon
