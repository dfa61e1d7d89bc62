// JPEG and PNG pictures, and their way into and out of tensors.
#pragma once

#include <tenon/picture.h>
#include <tenon/session/array.h>

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
};

using session::Array;
using tenon::is_picture;
using tenon::Picture;

/// Reads a JPEG or PNG file. Throws Failure, naming the file.
Picture load_picture(const std::string& path);
/// Writes PNG or JPEG by the name's ending, aside and then renamed. Throws Failure.
void save_picture(const std::string& path, const Picture& picture);

/// float32 (1,C,H,W) or (1,H,W,C), where C is 3, or 1 for a grey model (luma of ITU-R BT.601).
Array to_tensor(const Picture& picture, const PictureOptions& options, int64_t channels);
/// The inverse, for the first picture of a float tensor (N,C,H,W), (N,H,W,C), (C,H,W) or (H,W).
Picture to_picture(const Array& tensor, const PictureOptions& options);

}  // namespace tenon::tool
