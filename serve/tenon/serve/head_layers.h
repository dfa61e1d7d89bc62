// Heads that no export has decoded, as layers of a network: what they become, append_yolo takes.
#ifndef TENON_SERVE_HEAD_LAYERS_H
#define TENON_SERVE_HEAD_LAYERS_H

#include <array>
#include <span>
#include <string>
#include <vector>

#include "tenon/serve/faces.h"
#include "tenon/serve/raw_yolo.h"
#include "tenon/serve/yolo_layers.h"

namespace tenon::serve {

// Each function puts TensorRT's layers behind outputs of the network, which it then has no more,
// but one with boxes in their place, in pixels of the network's input. Arithmetic is in float32,
// where the network's types leave a choice. The batch may be dynamic, other extents are known. What
// comes back is how append_yolo decodes that output: thresholds and numbers of boxes are to be set.
// After an error the network has the outputs it had.

/// A level with anchors: (N, anchors * (5 + classes), height, width), all numbers logits.
struct AnchorOutput {
  std::string name;
  int stride;                                 ///< pixels of the input from cell to cell
  std::vector<std::array<float, 2>> anchors;  ///< widths and heights, in pixels of the input
};
/// As decode_anchors.
Result<YoloLayerOptions> append_anchors(nvinfer1::INetworkDefinition& network,
                                        std::span<const AnchorOutput> levels,
                                        AnchorCoding coding) noexcept;

/// A level without anchors, of YOLOv8 and v11: (N, 4 * bins + classes, height, width).
struct DistributionOutput {
  std::string name;
  int stride;  ///< pixels of the input from cell to cell
};
/// As decode_distributions.
Result<YoloLayerOptions> append_distributions(nvinfer1::INetworkDefinition& network,
                                              std::span<const DistributionOutput> levels,
                                              int64_t bins = 16) noexcept;

/// As decode_yolox: (N, cells, 5 + classes).
/// @param output empty for the network's only one.
Result<YoloLayerOptions> append_yolox(nvinfer1::INetworkDefinition& network,
                                      const std::string& output, std::span<const int> strides,
                                      int64_t input_width, int64_t input_height) noexcept;

/// As decode_retina_face: boxes (N, priors, 4), scores (N, priors, 2), landmarks (N, priors, 10).
/// Landmarks are keypoints of two numbers.
struct RetinaFaceOutputs {
  std::string boxes, scores, landmarks;
};
Result<YoloLayerOptions> append_retina_face(nvinfer1::INetworkDefinition& network,
                                            const RetinaFaceOutputs& outputs, int64_t input_width,
                                            int64_t input_height,
                                            std::span<const PriorLevel> priors) noexcept;

/// As decode_scrfd, with a batch or, as InsightFace exports it for one image, without: scores ([N,]
/// anchors, 1), boxes ([N,] anchors, 4), landmarks ([N,] anchors, 10).
struct ScrfdOutput {
  std::string scores, boxes, landmarks;
  int stride;  ///< pixels of the input from cell to cell
};
Result<YoloLayerOptions> append_scrfd(nvinfer1::INetworkDefinition& network,
                                      std::span<const ScrfdOutput> levels, int64_t input_width,
                                      int64_t input_height) noexcept;

/// As decode_center_net: heat (N, classes, height, width), extents and offsets (N, 2, height,
/// width).
struct CenterNetOutputs {
  std::string heat, extents, offsets;
  int stride = 4;
  bool is_logit = false;    ///< the heat is given before the sigmoid
  int32_t max_peaks = 100;  ///< the best ones that are looked at, at most 3840
};
Result<YoloLayerOptions> append_center_net(nvinfer1::INetworkDefinition& network,
                                           const CenterNetOutputs& outputs) noexcept;

/// As decode_center_face: heat (N, 1, height, width), extents and offsets (N, 2, height, width),
/// landmarks (N, 10, height, width).
struct CenterFaceOutputs {
  std::string heat, extents, offsets, landmarks;
  int stride = 4;
};
Result<YoloLayerOptions> append_center_face(nvinfer1::INetworkDefinition& network,
                                            const CenterFaceOutputs& outputs) noexcept;

}  // namespace tenon::serve

#endif  // TENON_SERVE_HEAD_LAYERS_H
