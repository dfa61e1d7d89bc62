// Regions of feature maps brought to one size by interpolation: the layer, and the kernel that
// plugins share.
#pragma once

#include "network/op.h"

namespace tenon {

/// How regions are sampled.
struct RoiAlignRule {
  int64_t height = 1, width = 1;  // of a result
  float spatial_scale = 1;        // from coordinates of regions to elements of the maps
  int64_t sampling_ratio = 0;     // samples per bin and axis; 0: as many as elements it covers
  bool half_pixel = true;         // coordinates are half an element off, and no region is widened
  bool takes_maximum = false;     // of weighted neighbours of all samples, instead of the average
};

/// x (N, C, H, W), rows first; regions (count, 4) as x1, y1, x2, y2; batches[i] is the batch
/// element of region i, which must exist; y (count, C, height, width). Throws for regions so large
/// that sampling them would take more than some passes over a map. Samples beyond the map are 0.
void roi_align(const RoiAlignRule& rule, const float* x, const Shape& shape, const float* regions,
               std::span<const int64_t> batches, float* y);

/// Inputs: data (N, C, H, W); regions (count, 4); their batch elements (count), int32 or int64.
/// Output: (count, C, height, width). Semantics: ONNX RoiAlign-16.
struct RoiAlign final : OpOf<RoiAlign, layer_type(PrivateLayer::kRoiAlign)> {
  static constexpr std::string_view kName = "RoiAlign";
  static constexpr Traits kTraits{.runs = Runs::kKernel,
                                  .reduced_precision = ReducedPrecision::kFirstInput,
                                  .magnitude = Magnitude::kOfInputs,
                                  .implicit_batch = ImplicitBatch::kUnsupported,
                                  .work = Work::kNone};
  int64_t height = 1, width = 1;
  float spatial_scale = 1;
  int64_t sampling_ratio = 0;
  bool half_pixel = true;
  bool takes_maximum = false;

  void visit(FieldVisitor& v) override;
  void infer(Inference& c) const override;
  void reference(const ReferenceCall& call) const override;
};

/// The size of pooled regions, and the checks on data and regions, that both kinds of pooling
/// share.
Dims pooled_region_dims(Inference& c, int64_t height, int64_t width, int64_t region_width);

}  // namespace tenon
