// Post-processing as layers of a network: an engine gives boxes.
#ifndef TENON_SERVE_YOLO_LAYERS_H
#define TENON_SERVE_YOLO_LAYERS_H

#include <NvInfer.h>

#include <string>
#include <vector>

#include "tenon/serve/detect_options.h"
#include "tenon/serve/poses.h"
#include "tenon/serve/tensor.h"

namespace tenon::serve {

struct YoloLayerOptions {
  /// E more channels are keypoints, coefficients or an angle, as said below.
  enum class Format {
    kV8,  ///< (N, 4 + C + E, B), as v8 and v11
    kV5,  ///< (N, B, 5 + C + E), with objectness, as v5 and v7
    kV10  ///< (N, B, 6 + E) of corners, score and class: no box suppresses another
  };

  std::string output;  ///< the head; empty for the network's only output
  Format format = Format::kV8;
  float score_threshold = 0.25F;
  float iou_threshold = 0.45F;
  int32_t max_boxes = 300;  ///< rows of the outputs
  bool class_agnostic = false;
  int32_t keypoints = 0;         ///< of each box
  int32_t keypoint_numbers = 3;  ///< x, y and a score, or 2 without
  int32_t coefficients = 0;      ///< of masks; the prototypes stay an output of their own
  bool is_oriented = false;      ///< boxes are turned by an angle; kV8 alone
};

/// The head becomes the input of the plugin DecodeYolo, whose outputs are the network's instead:
/// num_detections (N, 1), detection_boxes (N, rows, 4) of left, top, right, bottom, or if oriented
/// (N, rows, 5) of centre, width, height and angle, detection_scores and detection_classes (N,
/// rows), as EfficientNMS_TRT names them; then detection_keypoints (N, rows, keypoints, numbers) or
/// detection_coefficients (N, rows, coefficients), if there are any.
/// @param to_image of prepend_images: boxes and keypoints are in pixels of the image; null for
/// those of the input.
Result<void> append_yolo(nvinfer1::INetworkDefinition& network, const YoloLayerOptions& options,
                         nvinfer1::ITensor* to_image = nullptr) noexcept;

/// The boxes of one job, as an engine with append_yolo gives them: its first outputs in their
/// order, of one item each. An error for other tensors.
Result<std::vector<Box>> detections_of(std::vector<Tensor>& outputs) noexcept;
/// The same with keypoints.
Result<std::vector<Pose>> poses_of(std::vector<Tensor>& outputs) noexcept;
/// The same of oriented boxes.
Result<std::vector<RotatedBox>> oriented_boxes_of(std::vector<Tensor>& outputs) noexcept;

}  // namespace tenon::serve

#endif  // TENON_SERVE_YOLO_LAYERS_H
