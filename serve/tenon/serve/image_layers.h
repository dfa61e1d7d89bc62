// Pre-processing as layers of a network: an engine takes bytes of images.
#ifndef TENON_SERVE_IMAGE_LAYERS_H
#define TENON_SERVE_IMAGE_LAYERS_H

#include <NvInfer.h>

#include <string>

#include "tenon/serve/image.h"
#include "tenon/serve/norm.h"
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

}  // namespace tenon::serve

#endif  // TENON_SERVE_IMAGE_LAYERS_H
