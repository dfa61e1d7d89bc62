// Choosing the best of overlapping boxes.
#pragma once

#include <cmath>

#include "network/op.h"

namespace tenon {

using nvinfer1::BoundingBoxFormat;

/// Which boxes are kept.
struct Suppression {
  int64_t max_boxes = 0;           // at most so many
  int64_t considered = INT64_MAX;  // of the so many best
  float overlap = 0;               // kept boxes have at most this intersection over union
  float min_score = -INFINITY;     // scores must be above
  BoundingBoxFormat format = BoundingBoxFormat::kCORNER_PAIRS;  // any two opposite corners
};

/// Inputs: boxes (N, boxes, 4) or (N, boxes, classes or 1, 4); scores (N, boxes, classes), or with
/// `classes_first` (N, classes, boxes); how many boxes per class are kept (one int32 or int64);
/// optionally the largest overlap (default 0) and what scores must exceed (default: all do), one
/// float each. Outputs: (batch, class, box) of each kept box, by batch, class and falling score;
/// how many, an int32 scalar. Semantics: ONNX NonMaxSuppression-11, TensorRT INMSLayer.
struct Nms final : OpOf<Nms, LayerType::kNMS> {
  static constexpr std::string_view kName = "Nms";
  static constexpr Traits kTraits{.runs = Runs::kKernel,
                                  .reduced_precision = ReducedPrecision::kNone,
                                  .magnitude = Magnitude::kOfInputs,
                                  .implicit_batch = ImplicitBatch::kUnsupported,
                                  .work = Work::kNone};
  BoundingBoxFormat format = BoundingBoxFormat::kCORNER_PAIRS;
  int32_t top_k_box_limit = INT32_MAX;
  DataType indices_type = DataType::kINT32;
  bool classes_first = false;

  void visit(FieldVisitor& v) override;
  int output_count() const override { return 2; }
  void infer(Inference& c) const override;
  void reference(const ReferenceCall& call) const override;

  /// The sizes of boxes and scores, and the rule that inputs 2 to 4 say. Throw Error for those that
  /// do not fit.
  struct Sizes {
    int64_t batches, boxes, classes, box_classes;
  };
  Sizes sizes_of(const Shape& boxes, const Shape& scores) const;
  Suppression rule_of(std::span<const TensorView> inputs) const;
};

}  // namespace tenon
