#include "picture.h"

#include <algorithm>
#include <cmath>

#include "error.h"
#include "npz.h"

namespace tenon::tool {
namespace {

constexpr int64_t kMostPixels = int64_t{1} << 28;

}  // namespace

Picture load_picture(const std::string& path) {
  const auto file = read_file(path);
  try {
    return decode_picture(file.data(), file.size(), path);
  } catch (const std::runtime_error& e) {
    fail(ErrorClass::kContent, "{}", e.what());
  }
}

void save_picture(const std::string& path, const Picture& picture) {
  try {
    const std::vector<uint8_t> file = encode_picture(picture, path);
    write_file(path, file.data(), file.size());
  } catch (const Failure&) {
    throw;
  } catch (const std::runtime_error& e) {
    fail(ErrorClass::kFile, "{}", e.what());
  }
}

Array to_tensor(const Picture& picture, const PictureOptions& options, int64_t channels) {
  if (channels != 1 && channels != 3)
    fail(ErrorClass::kContent, "the input has {} channels; pictures have 3, or 1 for grey",
         channels);
  const int64_t height = picture.height, width = picture.width;
  const session::Shape shape = options.channels_last ? session::Shape{1, height, width, channels}
                                                     : session::Shape{1, channels, height, width};
  Array out = value_or_fail(session::make_array(nvinfer1::DataType::kFLOAT, shape));
  auto* to = out.as<float>();
  const int64_t plane = height * width;
  for (int64_t i = 0; i < plane; ++i) {
    const uint8_t* rgb = picture.pixels.data() + 3 * i;
    for (int c = 0; c < channels; ++c) {
      const double pixel = channels == 1 ? luma(rgb) : rgb[options.bgr ? 2 - c : c];
      const double value =
          (pixel - channel_value(options.mean, c)) * channel_value(options.scale, c);
      to[options.channels_last ? i * channels + c : c * plane + i] = static_cast<float>(value);
    }
  }
  return out;
}

Picture to_picture(const Array& tensor, const PictureOptions& options) {
  session::Shape shape = tensor.shape;
  if (shape.size() == 4) shape.erase(shape.begin());
  if (shape.size() == 2) shape.insert(options.channels_last ? shape.end() : shape.begin(), 1);
  if (shape.size() != 3)
    fail(ErrorClass::kNotInModel, "a tensor of shape {} is not a picture",
         session::shape_text(tensor.shape));
  const int64_t channels = options.channels_last ? shape[2] : shape[0];
  const int64_t height = options.channels_last ? shape[0] : shape[1];
  const int64_t width = options.channels_last ? shape[1] : shape[2];
  if ((channels != 1 && channels != 3) || height < 1 || width < 1 || height * width > kMostPixels
      || tensor.count() < channels * height * width)
    fail(ErrorClass::kNotInModel, "a tensor of shape {} is not a picture of 1 or 3 channels{}",
         session::shape_text(tensor.shape), options.channels_last ? " (channels last)" : "");
  const Array values = value_or_fail(session::convert(tensor, nvinfer1::DataType::kFLOAT));
  Picture picture = grey_picture(static_cast<int>(width), static_cast<int>(height), 0);
  const int64_t plane = height * width;
  for (int64_t i = 0; i < plane; ++i)
    for (int k = 0; k < 3; ++k) {
      const int c = channels == 1 ? 0 : options.bgr ? 2 - k : k;
      const double value =
          values.as<float>()[options.channels_last ? i * channels + c : c * plane + i];
      const double pixel = value / channel_value(options.scale, c) + channel_value(options.mean, c);
      picture.pixels[static_cast<size_t>(3 * i + k)] =
          std::isnan(pixel) ? uint8_t{0}
                            : static_cast<uint8_t>(std::lround(std::clamp(pixel, 0.0, 255.0)));
    }
  return picture;
}

}  // namespace tenon::tool
