// JPEG and PNG pictures, and their way into and out of tensors.
#pragma once

#include <tenon/picture.h>
#include <tenon/session/array.h>

#include <string>
#include <vector>

#include "picture_options.h"

namespace tenon::tool {

using session::Array;
using tenon::is_picture;
using tenon::Picture;

/// Reads a JPEG or PNG file. Throws Failure, naming the file.
Picture load_picture(const std::string& path);
/// Writes PNG or JPEG by the name's ending, aside and then renamed. Throws Failure.
void save_picture(const std::string& path, const Picture& picture);

/// Of one number for all channels, or one for each.
inline double channel_value(const std::vector<double>& values, int channel) {
  return values.size() == 1 ? values[0] : values[static_cast<size_t>(channel)];
}

/// ITU-R BT.601's, of red, green and blue.
inline double luma(const uint8_t* rgb) {
  return 0.299 * rgb[0] + 0.587 * rgb[1] + 0.114 * rgb[2];
}

/// float32 (1,C,H,W) or (1,H,W,C), where C is 3, or 1 for a grey model (luma of ITU-R BT.601).
Array to_tensor(const Picture& picture, const PictureOptions& options, int64_t channels);
/// The inverse, for the first picture of a float tensor (N,C,H,W), (N,H,W,C), (C,H,W) or (H,W).
Picture to_picture(const Array& tensor, const PictureOptions& options);

}  // namespace tenon::tool
