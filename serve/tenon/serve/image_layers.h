// Pre- and post-processing as layers of a network: an engine takes bytes of images, and gives
// boxes.
#ifndef TENON_SERVE_IMAGE_LAYERS_H
#define TENON_SERVE_IMAGE_LAYERS_H

#include <NvInfer.h>

#include <string>
#include <vector>

#include "tenon/serve/detect_options.h"
#include "tenon/serve/image.h"
#include "tenon/serve/norm.h"
#include "tenon/serve/poses.h"
#include "tenon/serve/tensor.h"

namespace tenon::serve {

struct ImageLayerOptions {
  enum class Fit {
    kLetterbox,  ///< Ultralytics' LetterBox
    kCentred,    ///< tensorRT_Pro's warp, centred to fractions of a pixel
    kStretch,    ///< cv2.resize
  };

  std::string input;            ///< that the images fill; empty for the network's only one
  std::string name = "images";  ///< of the new input
  /// kGrey, kRGB, kBGR, kRGBA and kBGRA are (N, H, W, channels); kNV12 and kI420 (N, 3 H / 2, W)
  /// and kYUYV (N, H, W, 2) become BGR.
  PixelFormat format = PixelFormat::kRGB;
  int64_t width = -1, height = -1;  ///< of the images; -1 varies within the profile
  Fit fit = Fit::kLetterbox;
  Norm norm = Norm::alpha_beta(1 / 255.F);
  uint8_t border = 114;  ///< around the images, before they are normalised
};

/// The input, float32 or float16 (N, C, height, width) with known extents but N, becomes the output
/// of the plugin PreprocessImages, or PreprocessImagesHalf, and uint8 images the network's input: a
/// hook of compile(), before profiles are made. After an error the network is as it was.
/// @return what leads from pixels of the network's input back to those of the images, for
/// append_yolo: (N, 8), of the network. An error for another input, or where the plugin is missing.
Result<nvinfer1::ITensor*> prepend_images(nvinfer1::INetworkDefinition& network,
                                          const ImageLayerOptions& options) noexcept;

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

#endif  // TENON_SERVE_IMAGE_LAYERS_H
