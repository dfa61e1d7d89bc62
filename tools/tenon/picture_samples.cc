#include "picture_samples.h"

#include <tenon/serve/preprocess.h>

#include <algorithm>
#include <cmath>

#include "error.h"
#include "npz.h"
#include "picture.h"

namespace tenon::tool {
namespace {

serve::Norm norm_of(const PictureOptions& options) {
  serve::Norm norm;
  for (int c = 0; c < 3; ++c) {
    const double scale = channel_value(options.scale, c);
    const auto channel = static_cast<size_t>(c);
    norm.scale[channel] = static_cast<float>(scale);
    norm.shift[channel] = static_cast<float>(-channel_value(options.mean, c) * scale);
  }
  if (options.bgr) norm.channel_type = serve::ChannelType::Invert;
  return norm;
}

// The largest rectangle of that aspect in the middle, 7/8 of it.
serve::Rectangle middle(int64_t image_width, int64_t image_height, int64_t width, int64_t height) {
  const auto w = static_cast<double>(image_width), h = static_cast<double>(image_height);
  const double aspect = static_cast<double>(width) / static_cast<double>(height);
  const double crop_height = std::min(h, w / aspect) * 7 / 8;
  const double crop_width = crop_height * aspect;
  const auto edge = [](double value) { return static_cast<float>(value); };
  return {edge((w - crop_width) / 2), edge((h - crop_height) / 2), edge((w + crop_width) / 2),
          edge((h + crop_height) / 2)};
}

session::Result<void> fill(const serve::Image& image, const serve::Item& item, int64_t height,
                           int64_t width, const PictureSampleOptions& options) {
  const serve::Norm norm = norm_of(options);
  switch (options.fit) {
    case PictureFit::kResize:
      return serve::resize_bilinear_and_normalize(image, item, norm);
    case PictureFit::kCrop: {
      const serve::Rectangle part = middle(image.width, image.height, width, height);
      return serve::crop_rectangles(image, {&part, 1}, item, norm);
    }
    case PictureFit::kLetterbox:
      break;
  }
  const auto box = serve::Letterbox::ultralytics(image.width, image.height, width, height);
  if (!box) return session::Error{box.error()};
  return serve::letterbox(image, *box, item, norm, options.border);
}

void check(const nvinfer1::ITensor& input, const session::Shape& shape, int64_t channels,
           bool is_last) {
  using nvinfer1::DataType;
  const DataType type = input.getType();
  const bool is_type =
      type == DataType::kFLOAT || type == DataType::kHALF || type == DataType::kUINT8;
  if (shape.size() != 4 || (channels != 1 && channels != 3) || !is_type)
    fail(ErrorClass::kContent,
         "--calibData: pictures fill an input of 4 dimensions, 1 or 3 channels, and float32, "
         "float16 or uint8; '{}' is {} {}: give .npz files, or {} --calibLayout=nhwc",
         input.getName(), session::type_name(type), session::shape_text(shape),
         is_last ? "leave out" : "say");
}

}  // namespace

session::Array picture_batch(std::span<const std::string> files, const nvinfer1::ITensor& input,
                             const session::Shape& shape, const PictureSampleOptions& options) {
  const bool is_last = options.channels_last && shape.size() == 4;
  const int64_t channels = shape.size() == 4 ? shape[is_last ? 3 : 1] : 0;
  check(input, shape, channels, is_last);
  const int64_t height = shape[is_last ? 1 : 2], width = shape[is_last ? 2 : 3];
  session::Shape batch = shape;
  batch[0] = static_cast<int64_t>(files.size());
  serve::Tensor tensor(batch, input.getType());
  std::vector<uint8_t> grey;
  for (size_t i = 0; i < files.size(); ++i) {
    const Picture picture = load_picture(files[i]);
    auto image = serve::Image::packed(serve::PixelFormat::kRGB, picture.pixels.data(),
                                      picture.width, picture.height);
    if (channels == 1) {
      grey.resize(picture.pixels.size() / 3);
      for (size_t k = 0; k < grey.size(); ++k)
        grey[k] = static_cast<uint8_t>(std::lround(luma(picture.pixels.data() + 3 * k)));
      image = serve::Image::packed(serve::PixelFormat::kGrey, grey.data(), picture.width,
                                   picture.height);
    }
    const serve::Item item{tensor, static_cast<int64_t>(i),
                           is_last ? serve::Layout::kNHWC : serve::Layout::kNCHW};
    if (const auto done = fill(image, item, height, width, options); !done)
      fail(ErrorClass::kContent, "{}: {}", files[i], done.error());
  }
  return value_or_fail(tensor.to_array());
}

}  // namespace tenon::tool
