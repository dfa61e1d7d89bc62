// Tiles of the CPU against the reference, which samples each pixel by itself. The tiles are the
// library's: tests are compiled without vectors.
#include "sampling.h"

#include <random>

#include "test_images.h"

namespace tenon::serve {
namespace {

using kernels::ImageSampling;
using testing::difference;
using testing::numbers_of;

// A random image, item and way of sampling.
class RandomSampling {
 public:
  explicit RandomSampling(unsigned seed) : random_(seed) {
    format_ = static_cast<PixelFormat>(number(0, 7));
    const bool is_even = format_ >= PixelFormat::kNV12;
    width_ = is_even ? 2 * number(1, 120) : number(1, 240);
    height_ = is_even ? 2 * number(1, 30) : number(1, 60);
    // The memory ends with the last row, so that reading behind it is found by sanitizers.
    const int64_t row = width_ * 4;
    bytes_.resize(static_cast<size_t>(row * height_));
    for (uint8_t& byte : bytes_) byte = static_cast<uint8_t>(number(0, 255));
    image_ = make_image();
    const int64_t has = format_ == PixelFormat::kGrey ? 1 : 3;
    const bool has_alpha = format_ == PixelFormat::kRGBA || format_ == PixelFormat::kBGRA;
    channels_ = number(0, 1) == 0 ? 3 : has_alpha ? 4 : has;
    layout_ = static_cast<Layout>(number(0, 2));
    type_ = std::array{DataType::kFLOAT, DataType::kHALF, DataType::kUINT8}[number(0, 2)];
    out_width_ = number(1, 700);
    out_height_ = number(1, 80);
    if (layout_ == Layout::kFocus) out_width_ += out_width_ % 2, out_height_ += out_height_ % 2;
  }

  Tensor make_tensor() const {
    if (layout_ == Layout::kNHWC) return Tensor({2, out_height_, out_width_, channels_}, type_);
    const int64_t share = layout_ == Layout::kFocus ? 2 : 1;
    return Tensor({2, channels_ * share * share, out_height_ / share, out_width_ / share}, type_);
  }

  ImageSampling sampling(Tensor& tensor) {
    Norm norm = Norm::mean_std({0.5F, 0.25F, 0.F}, {0.25F, 0.5F, 1.F});
    if (type_ == DataType::kUINT8) norm = Norm::None();
    if (number(0, 1) == 0) norm.channel_type = ChannelType::Invert;
    ImageSampling s = sampling_of(image_, {tensor, 1, layout_}, norm, 114);
    const auto real = [&](double low, double high) {
      return static_cast<float>(std::uniform_real_distribution(low, high)(random_));
    };
    const auto shift = [&] { return real(-30, 60); };
    switch (number(0, 3)) {
      case 0:
        set_resize(s, 0, 0, s.to.width, s.to.height);
        break;
      case 1:
        set_affine(s, {real(0.2, 3), 0, shift(), 0, real(-2, -0.2), shift()});
        break;
      case 2:
        set_affine(s, {real(-2, 2), 0.4F, shift(), 0.7F, real(1, 2), shift()});
        break;
      default:
        set_affine(s, {real(1, 2), 0.4F, shift(), 0.7F, real(1, 2), shift()});
        s.is_separable = false;
        s.is_perspective = true;
        s.matrix[6] = real(-0.004, 0.004);
        s.matrix[7] = real(-0.004, 0.004);
    }
    return s;
  }
  const Image& image() const { return image_; }
  Item item(Tensor& tensor) const { return {tensor, 1, layout_}; }

  float tolerance() const { return type_ == DataType::kUINT8 ? 1.F : 2e-2F; }

 private:
  int64_t number(int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random_);
  }
  Image make_image() {
    const bool is_i420 = format_ == PixelFormat::kI420;
    if (!is_i420 && format_ != PixelFormat::kNV12) {
      const int64_t bytes = format_ == PixelFormat::kGrey   ? 1
                            : format_ == PixelFormat::kYUYV ? 2
                            : format_ <= PixelFormat::kBGR  ? 3
                                                            : 4;
      const int64_t stride = width_ * bytes + number(0, 1) * (4 - bytes) * width_;
      const int64_t used = stride * (height_ - 1) + width_ * bytes;
      return Image::packed(format_, bytes_.data() + bytes_.size() - used, width_, height_, stride);
    }
    const int64_t used = width_ * height_ * 3 / 2;
    const uint8_t* const data = bytes_.data() + static_cast<int64_t>(bytes_.size()) - used;
    return is_i420 ? Image::i420(data, width_, height_) : Image::nv12(data, width_, height_);
  }

  std::mt19937 random_;
  std::vector<uint8_t> bytes_;
  PixelFormat format_;
  int64_t width_, height_, channels_, out_width_, out_height_;
  Layout layout_;
  DataType type_;
  Image image_;
};

TEST(Sampling, TilesAreTheReference) {
  const unsigned first = std::random_device{}();
  for (unsigned i = 0; i < 200; ++i) {
    SCOPED_TRACE("seed " + std::to_string(first + i));
    RandomSampling random(first + i);
    Tensor expected = random.make_tensor(), result = random.make_tensor();
    ASSERT_TRUE(expected.set_to(3));
    ASSERT_TRUE(result.set_to(3));
    std::vector<ImageSampling> samplings = {random.sampling(result)};
    run(samplings, random.image(), random.item(result));
    ImageSampling& sampling = samplings[0];
    sampling.to.data = static_cast<std::byte*>(*expected.cpu()) + expected.bytes(1);
    kernels::sample_pixels(kit::Device{}, &sampling, 1);
    EXPECT_LE(difference(numbers_of(result), numbers_of(expected)), random.tolerance());
  }
}

// All pixels of the target lie in one, which says what came last.
TEST(Sampling, FindsPixelsBehindTwoToThe32) {
  constexpr int64_t kSide = 3 << 15, kImage = 64, kScale = kSide / kImage;
  std::vector<uint8_t> bytes(kImage * kImage);
  for (int64_t i = 0; i < kImage * kImage; ++i)
    bytes[static_cast<size_t>(i)] = static_cast<uint8_t>(i / kImage * 3 + i % kImage);
  const Image image = Image::packed(PixelFormat::kGrey, bytes.data(), kImage, kImage);
  Tensor one({1, 1, 1, 1});
  ImageSampling s = sampling_of(image, {one}, Norm::None(), 0);
  float last = -1;
  s.to.data = &last;
  s.to.width = s.to.height = kSide;
  s.to.row_step = s.to.column_step = 0;
  set_resize(s, 0, 0, kSide, kSide);
  const auto expect = [&](int64_t row, int64_t column) {
    kernels::SamplePixel{{s, 0, 0}}(row * kSide + column);
    const auto at = [](int64_t i) { return static_cast<float>(i) / kScale; };
    EXPECT_NEAR(last, at(row - kScale / 2) * 3 + at(column - kScale / 2), 0.01F) << row;
  };
  expect(kSide - kScale, kSide / 2);
  expect((int64_t{1} << 31) / kSide + 1, kSide - kScale);
  expect(kScale, kScale);
}

}  // namespace
}  // namespace tenon::serve
