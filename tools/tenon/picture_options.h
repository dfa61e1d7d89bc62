// Options that say how pictures become tensors.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <vector>

namespace tenon::tool {

/// How a picture becomes a tensor: value = (pixel - mean) * scale, per channel, in the order and
/// layout given. Saving inverts it, then rounds and clamps to 0…255.
struct PictureOptions {
  std::vector<double> scale = {1.0 / 255};  // one value, or three
  std::vector<double> mean = {0};           // in pixel units, one value or three
  bool channels_last = false;               // NHWC instead of NCHW
  bool bgr = false;

  /// PREFIXscale, PREFIXmean, PREFIXlayout and PREFIXcolor, where a prefix that ends in a letter
  /// is followed by a capital.
  /// @param prefix "--" or "--calib", say
  std::vector<CLI::Option*> add_to(CLI::App& app, const std::string& prefix);
  bool operator==(const PictureOptions&) const = default;
};

/// How a picture of any extents fills an input.
enum class PictureFit {
  kResize,     // to the input's height and width, as cv2.resize
  kLetterbox,  // with its own aspect, and grey border, as Ultralytics'
  kCrop,       // the middle 7/8, as torchvision's Resize(256) and CenterCrop(224)
};

/// Pictures as samples.
struct PictureSampleOptions : PictureOptions {
  PictureFit fit = PictureFit::kResize;
  uint8_t border = 114;  // of a letterbox, in all channels

  /// The same, PREFIXfit and PREFIXborder.
  std::vector<CLI::Option*> add_to(CLI::App& app, const std::string& prefix);
  bool operator==(const PictureSampleOptions&) const = default;
};

}  // namespace tenon::tool
