// PreprocessImages: bytes of images become the input of a network, so that an engine takes frames
// as cameras and decoders give them.
#include <tenon/kernels/fitting.h>
#include <tenon/kernels/image_tiles.h>
#include <tenon/plugin.h>

#include <vector>

namespace tenon::plugins::TENON_TARGET {

using namespace tenon::kit;      // NOLINT: what plugin authors write
using namespace tenon::kernels;  // NOLINT

namespace {

enum class Fit { kLetterbox, kCentred, kStretch };
enum class Pixels { kPacked, kNv12, kI420, kYuyv };

constexpr int64_t kMatrix = 8;           // numbers of a row of to_image
constexpr int64_t kMaxExtent = 1 << 24;  // positions are floats

// Rows of to_image, all the same.
struct ImageRows {
  float numbers[kMatrix];
  float* rows;

  TENON_HD void operator()(int64_t i) const { rows[i] = numbers[i % kMatrix]; }
};

}  // namespace

// To elements of E. Attributes are those of every plugin that is one.
template <class E> struct ImagePreprocessing {
  int32_t height = 640, width = 640;
  Fit fit = Fit::kLetterbox;
  Pixels pixels = Pixels::kPacked;
  bool swaps = false;
  int32_t border = 114;
  float scale = 1 / 255.f;
  std::vector<float> mean, deviation;

  void prepare() const {
    if (height < 1 || width < 1 || height > kMaxExtent || width > kMaxExtent)
      throw std::invalid_argument("height and width must be from 1 to 2^24, found "
                                  + std::to_string(height) + " and " + std::to_string(width));
    if (border < 0 || border > 255)
      throw std::invalid_argument("border must be from 0 to 255, found " + std::to_string(border));
    for (const auto* values : {&mean, &deviation})
      if (values->size() > 1 && values->size() != 3)
        throw std::invalid_argument("mean and std have one number or three, found "
                                    + std::to_string(values->size()));
    for (int64_t c = 0; c < 3; ++c)
      if (!std::isfinite(scale_of(c)) || !std::isfinite(shift_of(c)))
        throw std::invalid_argument("scale, mean and std must be finite, and std not 0");
  }
  void shapes(std::span<const Extents> in, std::span<Extents> out) const {
    const size_t rank = has_planes() ? 3 : 4;
    if (in[0].size() != rank)
      throw std::invalid_argument(std::string("images must be ")
                                  + (rank == 3 ? "(N, 3 H / 2, W) of planes" : "(N, H, W, C)")
                                  + ", found " + std::to_string(in[0].size()) + " dimensions");
    const Extent three(3);
    out[0] = {in[0][0], pixels == Pixels::kPacked ? min(in[0][3], three) : three, height, width};
    out[1] = {in[0][0], kMatrix};
  }
  void check(std::span<const Shape> in) const {
    const Extent2 image = image_of(in[0]);
    if (image.width < 1 || image.height < 1 || image.width > kMaxExtent
        || image.height > kMaxExtent)
      throw std::invalid_argument("images must have 1 to 2^24 rows and columns, found "
                                  + text_of(in[0]));
    if (has_planes() && (in[0][1] % 3 != 0 || image.height % 2 != 0 || image.width % 2 != 0))
      throw std::invalid_argument(
          "NV12 and I420 have 3 H / 2 rows of an even H, and even rows; found " + text_of(in[0]));
    if (pixels == Pixels::kYuyv && (in[0][3] != 2 || image.width % 2 != 0))
      throw std::invalid_argument("YUYV is (N, H, W, 2) of an even W; found " + text_of(in[0]));
    if (pixels == Pixels::kPacked && in[0][3] != 1 && in[0][3] != 3 && in[0][3] != 4)
      throw std::invalid_argument("images must have 1, 3 or 4 channels, found " + text_of(in[0]));
  }

  template <class>
  void run(const Device& device, Tensor<const uint8_t> images, Tensor<E> tensor,
           Tensor<float> to_image) const {
    const Extent2 image = image_of(images.shape), to{width, height};
    const Fitting fitting = fitted(image, to);
    ImageSampling sampling{};
    sampling.image = view_of(images, image);
    sampling.to =
        image_target(kType, TargetLayout::kPlanes, width, height,
                     static_cast<int32_t>(tensor.shape[1]), sampling.image.layout, norm());
    sampling.to.data = tensor.data;
    sampling.border = static_cast<uint8_t>(border);
    sampling.is_separable = true;
    sampling.columns = fitting.columns(image, to);
    sampling.rows = fitting.rows(image, to);
    const int64_t count = images.shape[0];
    if (count > 0)
      sample_batch(device, {sampling, images.shape.volume() / count, tensor.shape.volume() / count},
                   count);
    const auto number = [](double value) { return static_cast<float>(value); };
    device.parallel_for(
        count * kMatrix,
        ImageRows{
            {number(1 / fitting.x_scale), 0, number(-fitting.left / fitting.x_scale), 0,
             number(1 / fitting.y_scale), number(-fitting.top / fitting.y_scale),
             number(static_cast<double>(image.width)), number(static_cast<double>(image.height))},
            to_image.data});
  }

 private:
  static constexpr TargetType kType =
      std::is_same_v<E, Half> ? TargetType::kHalf : TargetType::kFloat;

  bool has_planes() const { return pixels == Pixels::kNv12 || pixels == Pixels::kI420; }
  Extent2 image_of(const Shape& images) const {
    return {images[2], has_planes() ? images[1] / 3 * 2 : images[1]};
  }
  Fitting fitted(const Extent2& image, const Extent2& to) const {
    if (fit == Fit::kStretch) return stretched(image, to);
    return fit == Fit::kCentred ? centred(image, to) : letterboxed(image, to, true, true);
  }
  static float at(const std::vector<float>& values, int64_t c, float otherwise) {
    return values.empty() ? otherwise : values[values.size() == 1 ? 0 : static_cast<size_t>(c)];
  }
  float scale_of(int64_t c) const { return scale / at(deviation, c, 1); }
  float shift_of(int64_t c) const { return -at(mean, c, 0) / at(deviation, c, 1); }

  ImageView view_of(const Tensor<const uint8_t>& images, const Extent2& image) const {
    ImageView view{};
    view.width = static_cast<int32_t>(image.width);
    view.height = static_cast<int32_t>(image.height);
    view.color = bt601();
    view.plane[0] = images.data;
    view.stride[0] = image.width;
    if (has_planes()) {
      const bool is_nv12 = pixels == Pixels::kNv12;
      view.layout = is_nv12 ? PixelLayout::kNv12 : PixelLayout::kI420;
      view.plane[1] = images.data + image.width * image.height;
      view.stride[1] = is_nv12 ? image.width : image.width / 2;
      if (is_nv12) return view;
      view.plane[2] = view.plane[1] + image.width / 2 * (image.height / 2);
      view.stride[2] = image.width / 2;
      return view;
    }
    const int64_t channels = images.shape[3];
    view.stride[0] *= channels;
    view.layout = pixels == Pixels::kYuyv ? PixelLayout::kYuyv
                  : channels == 1         ? PixelLayout::kOne
                  : channels == 3         ? PixelLayout::kThree
                                          : PixelLayout::kFour;
    return view;
  }
  ChannelNorm norm() const {
    ChannelNorm norm{};
    norm.swaps = swaps;
    for (int32_t c = 0; c < 3; ++c) {
      norm.scale[c] = scale_of(c);
      norm.shift[c] = shift_of(c);
    }
    return norm;
  }
};

template <class P>
constexpr auto kImageAttributes = std::tuple{
    attribute("height", &P::height),
    attribute("width", &P::width),
    attribute(
        "fit", &P::fit,
        {{"letterbox", Fit::kLetterbox}, {"centred", Fit::kCentred}, {"stretch", Fit::kStretch}})
        .says("letterbox: Ultralytics' LetterBox; centred: tensorRT_Pro's warp, which keeps "
              "fractions of pixels; stretch: cv2.resize"),
    attribute("pixels", &P::pixels,
              {{"packed", Pixels::kPacked},
               {"nv12", Pixels::kNv12},
               {"i420", Pixels::kI420},
               {"yuyv", Pixels::kYuyv}})
        .says(
            "packed: images are (N, H, W, 1, 3 or 4); nv12 and i420: (N, 3 H / 2, W), yuyv: (N, H, "
            "W, 2), of BT.601, which become blue, green and red"),
    attribute("swap_rb", &P::swaps)
        .says("1: the first and the third channel change their positions"),
    attribute("border", &P::border)
        .says("of the pixels around the image, before they are normalised"),
    attribute("scale", &P::scale).says("channel c of the result is (x * scale - mean[c]) / std[c]"),
    attribute("mean", &P::mean).says("none, one, or one for each channel"),
    attribute("std", &P::deviation).says("as mean"),
};

struct PreprocessImages : ImagePreprocessing<float> {
  static constexpr auto attributes = kImageAttributes<PreprocessImages>;
  static constexpr Spec spec{
      .name = "PreprocessImages",
      .inputs = {{"images", kUint8}},
      .outputs = {{"tensor", kFloat}, {"to_image", kFloat}},
      .text =
          "Images of bytes, resized with cv2's INTER_LINEAR and normalised, as planes (N, C, "
          "height, width); C is 1 for grey images and 3 for others, whose alpha is left out. Each "
          "row of to_image (N, 8) has a matrix of 2x3 that leads from pixels of the tensor back to "
          "those of the image, and the image's width and height, as DecodeYolo takes them."};
};
TENON_PLUGIN(PreprocessImages);

struct PreprocessImagesHalf : ImagePreprocessing<Half> {
  static constexpr auto attributes = kImageAttributes<PreprocessImagesHalf>;
  static constexpr Spec spec{.name = "PreprocessImagesHalf",
                             .inputs = {{"images", kUint8}},
                             .outputs = {{"tensor", kHalf}, {"to_image", kFloat}},
                             .text = "As PreprocessImages, for networks whose input is float16."};
};
TENON_PLUGIN(PreprocessImagesHalf);

}  // namespace tenon::plugins::TENON_TARGET
