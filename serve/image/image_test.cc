#include "tenon/serve/image.h"

#include <limits>

#include "test_images.h"

namespace tenon::serve {
namespace {

using ::testing::HasSubstr;

constexpr int64_t kMax = std::numeric_limits<int64_t>::max();

TEST(Image, PlanesLieOneBehindTheOther) {
  const std::vector<uint8_t> data(96);
  const uint8_t* const begin = data.data();
  EXPECT_EQ(Image::nv12(begin, 8, 8).planes[1], begin + 64);
  const Image i420 = Image::i420(begin, 8, 8);
  EXPECT_EQ(i420.planes[1], begin + 64);
  EXPECT_EQ(i420.planes[2], begin + 80);
  EXPECT_STREQ(format_name(PixelFormat::kYUYV), "YUYV");
  EXPECT_STREQ(format_name(static_cast<PixelFormat>(-1)), "unknown format");
}

// Each is refused before anything is read, by what is wrong, what was expected and what was found.
TEST(Image, BadOnesAreRefused) {
  const std::vector<uint8_t> data(4096);
  const uint8_t* const begin = data.data();
  Tensor result({1, 3, 4, 4});
  const auto expect = [&](const Image& image, const std::string& text) {
    const auto done = resize_bilinear_and_normalize(image, {result});
    EXPECT_THAT(done.error(), HasSubstr(text));
    EXPECT_EQ(result.head(), DataHead::kInit);
  };
  const auto bgr = [&](int64_t width, int64_t height, int64_t stride = 0) {
    return Image::packed(PixelFormat::kBGR, begin, width, height, stride);
  };
  expect({}, "the image is 0x0 pixels: expected 1 to 16777216");
  expect(Image::packed(PixelFormat::kBGR, nullptr, 4, 4),
         "the plane of pixels of the BGR image is null");
  expect(bgr(0, 4), "the image is 0x4 pixels");
  expect(bgr(4, -1), "the image is 4x-1 pixels");
  expect(bgr(int64_t{1} << 31, 4), "the image is 2147483648x4 pixels");
  expect(bgr(4, kMax), "expected 1 to 16777216 along each axis");
  expect(bgr(4, 4, 11), "has a stride of 11 bytes: expected 12 or more for 4 pixels");
  expect(bgr(4, 4, -12), "has a stride of -12 bytes");
  expect(bgr(4, 4, kMax), "has a stride of 9223372036854775807 bytes");
  expect(Image::packed(static_cast<PixelFormat>(8), begin, 4, 4),
         "the image's format is 8, which is none: expected 0 to 7");
  expect(Image::nv12(begin, 5, 4),
         "NV12 shares chroma between neighbours: expected an even width "
         "and height, found 5x4");
  expect(Image::nv12(begin, 4, 5), "found 4x5");
  expect(Image::i420(begin, 4, 5), "I420 shares chroma");
  expect(Image::packed(PixelFormat::kYUYV, begin, 5, 4), "expected an even width, found 5x4");
  expect(Image::nv12(nullptr, 4, 4), "the plane of Y of the NV12 image is null");
  expect(Image::nv12(begin, 4, nullptr, 4, 4, 4), "the plane of UV of the NV12 image is null");
  expect(Image::i420(begin, 4, begin, begin, 1, 4, 4),
         "the plane of U of the I420 image has a stride of 1 bytes: expected 2 or more");
  Image odd = Image::nv12(begin, 4, 4);
  odd.standard = static_cast<YuvStandard>(2);
  expect(odd, "expected BT.601 or BT.709");
}

TEST(Image, RowsMayHaveGaps) {
  Tensor pixels = testing::golden("bgr");
  const auto* const from = *pixels.cpu<uint8_t>();
  const int64_t height = pixels.size(0), row = pixels.size(1) * 3, stride = row + 13;
  std::vector<uint8_t> spread(static_cast<size_t>(height * stride), 255);
  for (int64_t y = 0; y < height; ++y) std::copy_n(from + y * row, row, &spread[y * stride]);
  Tensor dense({1, 3, 20, 30}), sparse({1, 3, 20, 30});
  ASSERT_TRUE(resize_bilinear_and_normalize(testing::image_of(pixels, PixelFormat::kBGR), {dense}));
  ASSERT_TRUE(resize_bilinear_and_normalize(
      Image::packed(PixelFormat::kBGR, spread.data(), pixels.size(1), height, stride), {sparse}));
  EXPECT_EQ(testing::numbers_of(sparse), testing::numbers_of(dense));
}

}  // namespace
}  // namespace tenon::serve
