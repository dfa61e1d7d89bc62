#include "tenon/serve/preprocess.h"

#include <cmath>
#include <random>

#include "test_images.h"

namespace tenon::serve {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::FloatNear;
using testing::golden;
using ::testing::HasSubstr;
using testing::image_of;
using testing::numbers_of;

class Preprocess : public ::testing::Test {
 protected:
  Tensor pixels_ = golden("bgr");
  Image image_ = image_of(pixels_, PixelFormat::kBGR);
};

TEST_F(Preprocess, LayoutsHoldTheSamePixels) {
  constexpr int64_t kHeight = 6, kWidth = 10;
  Tensor planes({1, 3, kHeight, kWidth}), by_pixels({1, kHeight, kWidth, 3});
  Tensor focus({1, 12, kHeight / 2, kWidth / 2});
  ASSERT_TRUE(resize_bilinear_and_normalize(image_, {planes}));
  ASSERT_TRUE(resize_bilinear_and_normalize(image_, {by_pixels, 0, Layout::kNHWC}));
  ASSERT_TRUE(resize_bilinear_and_normalize(image_, {focus, 0, Layout::kFocus}));
  for (int64_t c = 0; c < 3; ++c)
    for (int64_t y = 0; y < kHeight; ++y)
      for (int64_t x = 0; x < kWidth; ++x) {
        const float value = *planes.at<float>({0, c, y, x});
        EXPECT_EQ(*by_pixels.at<float>({0, y, x, c}), value);
        // torch.cat((x[::2, ::2], x[1::2, ::2], x[::2, 1::2], x[1::2, 1::2])) of rows and columns
        EXPECT_EQ(*focus.at<float>({0, (y % 2 + 2 * (x % 2)) * 3 + c, y / 2, x / 2}), value);
      }
}

TEST_F(Preprocess, NamesOfTensorRtProAreTheSame) {
  const Matrix23 d2i = {2, 0.5F, 3, -0.5F, 2, 4};
  Tensor a({2, 3, 8, 12}), b({2, 3, 8, 12}), c({2, 12, 4, 6}), d({2, 12, 4, 6});
  for (Tensor* tensor : {&a, &b, &c, &d}) ASSERT_TRUE(tensor->set_to(0));
  ASSERT_TRUE(warp_affine(image_, d2i, {a, 1}));
  ASSERT_TRUE(warp_affine_bilinear_and_normalize_plane(image_, d2i, b, 1));
  ASSERT_TRUE(warp_affine(image_, d2i, {c, 1, Layout::kFocus}));
  ASSERT_TRUE(warp_affine_bilinear_and_normalize_focus(image_, d2i, d, 1));
  EXPECT_EQ(numbers_of(a), numbers_of(b));
  EXPECT_EQ(numbers_of(c), numbers_of(d));
}

// Behind the swap: the first channel of the result has the first mean.
TEST_F(Preprocess, NormIsOfTheResultsChannels) {
  const uint8_t pixel[] = {10, 20, 30, 200};
  Tensor result({1, 3, 1, 1});
  const Norm norm = Norm::mean_std({1, 2, 3}, {0.5F, 1, 2}, 1, ChannelType::Invert);
  ASSERT_TRUE(
      resize_bilinear_and_normalize(Image::packed(PixelFormat::kBGR, pixel, 1, 1), {result}, norm));
  EXPECT_THAT(numbers_of(result), ElementsAre(58, 18, 3.5F));
  const Image bgra = Image::packed(PixelFormat::kBGRA, pixel, 1, 1);
  ASSERT_TRUE(resize_bilinear_and_normalize(bgra, {result}));
  EXPECT_THAT(numbers_of(result), ElementsAre(10, 20, 30));
  Tensor with_alpha({1, 4, 1, 1}), one({1, 1, 1, 1});
  Norm swap;
  swap.channel_type = ChannelType::Invert;
  ASSERT_TRUE(resize_bilinear_and_normalize(bgra, {with_alpha}, swap));
  EXPECT_THAT(numbers_of(with_alpha), ElementsAre(30, 20, 10, 200));
  const Image grey = Image::packed(PixelFormat::kGrey, pixel, 1, 1);
  ASSERT_TRUE(resize_bilinear_and_normalize(grey, {result}, swap));
  EXPECT_THAT(numbers_of(result), Each(10));
  ASSERT_TRUE(resize_bilinear_and_normalize(grey, {one}));
  EXPECT_THAT(numbers_of(one), ElementsAre(10));
}

TEST_F(Preprocess, BytesSaturate) {
  const uint8_t pixel[] = {0, 100, 255};
  Tensor result({1, 3, 1, 1}, DataType::kUINT8);
  const Image image = Image::packed(PixelFormat::kBGR, pixel, 1, 1);
  ASSERT_TRUE(resize_bilinear_and_normalize(image, {result}, Norm::alpha_beta(2, -1)));
  EXPECT_THAT(numbers_of(result), ElementsAre(0, 199, 255));
  ASSERT_TRUE(resize_bilinear_and_normalize(image, {result}, Norm::alpha_beta(0.995F)));
  EXPECT_THAT(numbers_of(result), ElementsAre(0, 100, 254));
}

TEST_F(Preprocess, CropsAreSingleOnes) {
  const Rectangle boxes[] = {{0, 0, 67, 45}, {3.4F, 5.5F, 20, 30}, {-50, 20, 1e9F, 1e9F}};
  Tensor crops({4, 3, 9, 14}), single({1, 3, 9, 14});
  ASSERT_TRUE(crops.set_to(0));
  ASSERT_TRUE(crop_rectangles(image_, boxes, {crops, 1}));
  for (int64_t i = 0; i < 3; ++i) {
    ASSERT_TRUE(crop_rectangles(image_, {boxes + i, 1}, {single}));
    Tensor item = *crops.item(1 + i);
    EXPECT_EQ(numbers_of(item), numbers_of(single));
  }
  ASSERT_TRUE(resize_bilinear_and_normalize(image_, {single}));
  Tensor whole = *crops.item(1);
  EXPECT_EQ(numbers_of(whole), numbers_of(single));
  EXPECT_TRUE(crop_rectangles(image_, {}, {crops}));
}

// What divides by 0 is nowhere, and so border; as is what is too far away to be counted.
TEST_F(Preprocess, PositionsThatAreNoneAreBorder) {
  Tensor result({1, 3, 4, 16});
  ASSERT_TRUE(warp_perspective(image_, {0, 0, 1, 0, 1, 1, -1, 0, 8}, {result}, Norm::None(), 7));
  for (int64_t c = 0; c < 3; ++c) EXPECT_EQ(*result.at<float>({0, c, 2, 8}), 7);
  ASSERT_TRUE(
      warp_affine(image_, {1e30F, 1e30F, 1e35F, -1e30F, 1e30F, 1e35F}, {result}, Norm::None(), 7));
  EXPECT_THAT(numbers_of(result), Each(7));
}

// One colour stays one colour where the border has it too, however it is warped.
TEST_F(Preprocess, OneColourStays) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> number(-3, 3);
  const std::vector<uint8_t> grey(64 * 48, 114);
  Tensor result({1, 3, 33, 65});
  for (int round = 0; round < 50; ++round) {
    Matrix33 d2i;
    for (float& element : d2i) element = number(random);
    d2i[0] += 7, d2i[4] += 7, d2i[8] += 7;
    d2i[6] /= 100, d2i[7] /= 100;
    ASSERT_TRUE(
        warp_perspective(Image::packed(PixelFormat::kGrey, grey.data(), 64, 48), d2i, {result}));
    EXPECT_THAT(numbers_of(result), Each(FloatNear(114, 1e-3F)));
  }
}

TEST_F(Preprocess, ItemsAreChecked) {
  const auto expect = [&](Tensor tensor, int64_t index, Layout layout, const std::string& text) {
    const auto done = resize_bilinear_and_normalize(image_, {tensor, index, layout});
    EXPECT_THAT(done.error(), HasSubstr(text));
    EXPECT_EQ(tensor.head(), DataHead::kInit);
  };
  constexpr auto kNCHW = Layout::kNCHW;
  expect(Tensor({2, 3, 4, 4}), 2, kNCHW, "item 2 is outside of a batch of 2");
  expect(Tensor({2, 3, 4, 4}), -1, kNCHW, "item -1 is outside of a batch of 2");
  expect(Tensor({3, 4, 4}), 0, kNCHW, "images fill tensors of rank 4: found the shape 3x4x4");
  expect(Tensor({1, 3, 4, 4}, DataType::kINT32), 0, kNCHW,
         "images become float32, float16 or uint8: the tensor is of int32");
  expect(Tensor({1, 4, 4, 4}), 0, kNCHW,
         "images of BGR have 3 channels to give: the tensor wants 4");
  expect(Tensor({1, 4, 4, 4}), 0, Layout::kNHWC, "the tensor wants 4");
  expect(Tensor({1, 90, 4, 4}), 0, kNCHW, "the tensor wants more than 4");
  expect(Tensor({1, 3, 4, 4}), 0, Layout::kFocus, "Focus has four times the image's channels");
  expect(Tensor({1, 3, 0, 4}), 0, kNCHW, "the network's input is 4x0 pixels");
  expect(Tensor({1, 3, 4, 4}), 0, static_cast<Layout>(3), "none of NCHW, NHWC and Focus");
}

TEST_F(Preprocess, ArgumentsAreChecked) {
  Tensor tensor({2, 3, 32, 32});
  const Item item{tensor};
  const auto says = [](const Result<void>& done, const std::string& text) {
    EXPECT_THAT(done.error(), HasSubstr(text));
  };
  says(warp_affine(image_, {1, 1, 0, 1, 1, 0}, item), "has no inverse");
  says(warp_affine(image_, {NAN, 1, 0, 1, 1, 0}, item), "has no inverse");
  says(warp_perspective(image_, {}, item), "has no inverse");
  says(letterbox(image_, *Letterbox::centred(66, 45, 32, 32), item),
       "the letterbox was made for an image of 66x45 and an input of 32x32: found 67x45 and 32x32");
  says(resize_bilinear_and_normalize(image_, item, Norm::mean_std({0, 0, 0}, {1, 0, 1})),
       "the norm of channel 1");
  says(resize_bilinear_and_normalize(image_, item, Norm::alpha_beta(INFINITY)),
       "the norm of channel 0");
  const Rectangle boxes[] = {{0, 0, 5, 5}, {70, 0, 80, 5}, {0, 0, NAN, 5}};
  says(crop_rectangles(image_, boxes, item), "rectangle 1, from (70.000000, 0.000000) to");
  says(crop_rectangles(image_, {boxes + 2, 1}, item), "has no pixels of an image of 67x45");
  const Matrix23 three[3] = {{1, 0, 0, 0, 1, 0}, {1, 0, 0, 0, 1, 0}, {1, 0, 0, 0, 1, 0}};
  says(warp_affine_crops(image_, three, item), "3 crops from item 0 on do not fit a batch of 2");
  says(warp_affine_crops(image_, {three, 2}, {tensor, 1}), "2 crops from item 1 on");
  EXPECT_EQ(tensor.head(), DataHead::kInit);
}

// Without a GPU, memory of the device is the host's, and the same is done there.
TEST_F(Preprocess, FillsTheSideOfTheImage) {
  Tensor on_host({2, 3, 20, 30}), on_device({2, 3, 20, 30});
  ASSERT_TRUE(on_host.set_to(1));
  ASSERT_TRUE(on_device.set_to(1));
  ASSERT_TRUE(resize_bilinear_and_normalize(image_, {on_host, 1}));
  EXPECT_EQ(on_host.head(), DataHead::kHost);
  Image copy = image_;
  copy.planes[0] = static_cast<const uint8_t*>(*pixels_.gpu());
  copy.on_device = true;
  ASSERT_TRUE(resize_bilinear_and_normalize(copy, {on_device, 1}));
  EXPECT_EQ(on_device.head(), DataHead::kDevice);
  EXPECT_THAT(numbers_of(on_device), ::testing::Pointwise(FloatNear(1e-3F), numbers_of(on_host)));
}

TEST(NormFeature, RowsHaveLengthOne) {
  Tensor rows({3, 2, 2});
  const float values[] = {1, 2, 2, 4, 0, 0, 0, 0, -3e4F, 0, 4e4F, 0};
  ASSERT_TRUE(rows.copy_from_cpu(0, values, 12));
  Tensor half = *rows.clone();
  ASSERT_TRUE(half.to_half());
  for (Tensor* tensor : {&rows, &half}) {
    for (const bool on_device : {false, true}) {
      ASSERT_TRUE(on_device ? tensor->to_gpu() : tensor->to_cpu());
      ASSERT_TRUE(norm_feature(*tensor));
      EXPECT_EQ(tensor->head(), on_device ? DataHead::kDevice : DataHead::kHost);
      EXPECT_THAT(numbers_of(*tensor),
                  ::testing::Pointwise(FloatNear(1e-3F), {0.2F, 0.4F, 0.4F, 0.8F, 0.F, 0.F, 0.F,
                                                          0.F, -0.6F, 0.F, 0.8F, 0.F}));
    }
  }
}

TEST(NormFeature, TensorsAreChecked) {
  Tensor none({2, 3}), integers({2, 3}, DataType::kINT32), scalar(Shape{}), empty({0, 3});
  EXPECT_THAT(norm_feature(none).error(), HasSubstr("the tensor has no data yet"));
  EXPECT_THAT(norm_feature(integers).error(), HasSubstr("the tensor is of int32"));
  EXPECT_THAT(norm_feature(scalar).error(), HasSubstr("the tensor is a scalar"));
  EXPECT_TRUE(norm_feature(empty));
}

TEST(ConvertColor, PackedFormatsBecomeEachOther) {
  const uint8_t pixels[] = {1, 2, 3, 4, 5, 6};
  std::vector<uint8_t> to(10, 99);
  const Image rgb = Image::packed(PixelFormat::kRGB, pixels, 1, 2);
  ASSERT_TRUE(convert_color(rgb, PixelFormat::kBGR, to.data(), 5));
  EXPECT_THAT(to, ElementsAre(3, 2, 1, 99, 99, 6, 5, 4, 99, 99));
  ASSERT_TRUE(convert_color(rgb, PixelFormat::kRGB, to.data()));
  EXPECT_THAT(std::vector<uint8_t>(to.begin(), to.begin() + 6), ElementsAreArray(pixels));
  const Image grey = Image::packed(PixelFormat::kGrey, pixels, 1, 2);
  ASSERT_TRUE(convert_color(grey, PixelFormat::kBGR, to.data()));
  EXPECT_THAT(std::vector<uint8_t>(to.begin(), to.begin() + 6), ElementsAre(1, 1, 1, 2, 2, 2));
}

TEST(ConvertColor, YuvBecomesRgbToo) {
  Tensor yuv = golden("yuv");
  const Image nv12 = Image::nv12(*yuv.cpu<uint8_t>(), 38, 32);
  std::vector<uint8_t> bgr(38 * 32 * 3), rgb(bgr.size());
  ASSERT_TRUE(convert_nv12_to_bgr(nv12, bgr.data()));
  ASSERT_TRUE(convert_color(nv12, PixelFormat::kRGB, rgb.data()));
  for (size_t i = 0; i < bgr.size(); i += 3) std::swap(rgb[i], rgb[i + 2]);
  EXPECT_EQ(rgb, bgr);
}

TEST(ConvertColor, ArgumentsAreChecked) {
  std::vector<uint8_t> to(64);
  const std::vector<uint8_t> from(64);
  Image bgr = Image::packed(PixelFormat::kBGR, from.data(), 2, 2);
  const auto says = [](const Result<void>& done, const std::string& text) {
    EXPECT_THAT(done.error(), HasSubstr(text));
  };
  says(convert_color(bgr, PixelFormat::kNV12, to.data()), "images cannot become NV12");
  says(convert_color(bgr, PixelFormat::kGrey, to.data()), "the tensor wants 1");
  says(convert_color(bgr, PixelFormat::kBGR, nullptr), "is null");
  says(convert_color(bgr, PixelFormat::kBGR, to.data(), 5), "a stride of 5 bytes");
  says(convert_nv12_to_bgr(bgr, to.data()), "expected an image of NV12, found BGR");
  bgr.on_device = true;
  says(convert_color(bgr, PixelFormat::kBGR, to.data()), "expected one on the host");
}

}  // namespace
}  // namespace tenon::serve
