// Pre-processing against what OpenCV made of the same images.
#include "test_images.h"

namespace tenon::serve {
namespace {

using testing::difference;
using testing::golden;
using testing::golden_values;
using testing::image_of;
using testing::numbers_of;

struct Source {
  const char* name;
  PixelFormat format;
};
constexpr Source kSources[] = {
    {"bgr", PixelFormat::kBGR}, {"bgra", PixelFormat::kBGRA}, {"grey", PixelFormat::kGrey}};

// Calls fill(item) for an item of bytes by pixels, which must be within one grey level of the
// golden, and for most pixels equal: OpenCV resizes bytes with weights of 11 bits, and truncates.
template <class Fill> void expect_golden(const std::string& name, const Fill& fill) {
  SCOPED_TRACE(name);
  Tensor expected = golden(name);
  Shape shape = expected.shape();
  if (shape.size() == 2) shape.push_back(1);
  shape.insert(shape.begin(), 2);
  Tensor result(shape, DataType::kUINT8);
  ASSERT_TRUE(result.set_to(77));
  const Result<void> done = fill(Item{result, 1, Layout::kNHWC});
  ASSERT_TRUE(done) << done.error();
  std::vector<float> all = numbers_of(result);
  const auto half = static_cast<std::ptrdiff_t>(all.size() / 2);
  EXPECT_THAT(std::vector<float>(all.begin(), all.begin() + half), ::testing::Each(77));
  all.erase(all.begin(), all.begin() + half);
  const std::vector<float> wanted = numbers_of(expected);
  EXPECT_LE(difference(all, wanted), 1);
  size_t equal = 0;
  for (size_t i = 0; i < all.size(); ++i) equal += all[i] == wanted[i];
  EXPECT_GE(equal, all.size() * 3 / 4);
}

TEST(Goldens, ResizeIsOpenCvs) {
  for (const Source& source : kSources)
    for (const char* extents : {"41x30", "75x52", "12x10"}) {
      Tensor pixels = golden(source.name);
      expect_golden(std::string("resize_") + source.name + "_" + extents, [&](const Item& item) {
        return resize_bilinear_and_normalize(image_of(pixels, source.format), item);
      });
    }
}

TEST(Goldens, WarpAffineIsOpenCvs) {
  const auto d2i = golden_values<float, 6>("affine_inverse");
  for (const Source& source : kSources) {
    Tensor pixels = golden(source.name);
    expect_golden(std::string("affine_") + source.name, [&](const Item& item) {
      return warp_affine(image_of(pixels, source.format), d2i, item);
    });
  }
}

TEST(Goldens, WarpPerspectiveIsOpenCvs) {
  Tensor pixels = golden("bgr");
  expect_golden("perspective", [&](const Item& item) {
    return warp_perspective(image_of(pixels, PixelFormat::kBGR),
                            golden_values<float, 9>("perspective_inverse"), item, Norm::None(), 9);
  });
}

TEST(Goldens, LetterboxesAreTheirs) {
  Tensor pixels = golden("bgr");
  const Image image = image_of(pixels, PixelFormat::kBGR);
  const auto expect = [&](const std::string& name, const Result<Letterbox>& box) {
    ASSERT_TRUE(box) << box.error();
    expect_golden(name, [&](const Item& item) { return letterbox(image, *box, item); });
  };
  expect("centred_48x64", Letterbox::centred(67, 45, 64, 48));
  expect("centred_90x70", Letterbox::centred(67, 45, 70, 90));
  expect("ultralytics_48x64", Letterbox::ultralytics(67, 45, 64, 48));
  expect("ultralytics_91x70", Letterbox::ultralytics(67, 45, 70, 91));
  expect("ultralytics_91x70_not_larger",
         Letterbox::ultralytics(67, 45, 70, 91, {.scales_up = false}));
  expect("ultralytics_91x70_corner", Letterbox::ultralytics(67, 45, 70, 91, {.is_centred = false}));
}

// Planes of float32 and float16, RGB from BGR: a grey level is 1 / 255.
TEST(Goldens, NormalizedPlanesAreBlobFromImages) {
  Tensor pixels = golden("bgr"), expected = golden("blob");
  const float means[] = {104 / 255.F, 117 / 255.F, 123 / 255.F};
  const Norm norm =
      Norm::mean_std({means[0], means[1], means[2]}, {1, 1, 1}, 1 / 255.F, ChannelType::Invert);
  for (const DataType type : {DataType::kFLOAT, DataType::kHALF}) {
    Tensor result({1, 3, 40, 48}, type);
    ASSERT_TRUE(resize_bilinear_and_normalize(image_of(pixels, PixelFormat::kBGR), {result}, norm));
    EXPECT_LE(difference(numbers_of(result), numbers_of(expected)), 1.001F / 255);
  }
}

TEST(Goldens, CropsAreThoseOfSlices) {
  Tensor pixels = golden("bgr");
  expect_golden("crop", [&](const Item& item) {
    const Rectangle box{9.6F, 7.2F, 53.4F, 28.8F};
    return crop_rectangles(image_of(pixels, PixelFormat::kBGR), {&box, 1}, item);
  });
}

TEST(Goldens, FacesAreAligned) {
  const Landmarks5 landmarks = {
      {{20.5F, 14.2F}, {39.1F, 18.4F}, {28.3F, 24.9F}, {19.8F, 31.7F}, {35.2F, 35.5F}}};
  const auto i2d = arcface_matrix(landmarks);
  ASSERT_TRUE(i2d) << i2d.error();
  EXPECT_THAT(*i2d, ::testing::Pointwise(::testing::FloatNear(2e-5F),
                                         golden_values<float, 6>("arcface_matrix")));
  const auto d2i = inverted(*i2d);
  Tensor pixels = golden("bgr");
  expect_golden("arcface", [&](const Item& item) {
    return warp_affine_crops(image_of(pixels, PixelFormat::kBGR), {&*d2i, 1}, item, Norm::None(),
                             0);
  });
}

TEST(Goldens, YuvIsCvtColors) {
  Tensor yuv = golden("yuv"), pairs = golden("yuyv");
  const uint8_t* const data = *yuv.cpu<uint8_t>();
  Image nv12 = Image::nv12(data, 38, 32);
  const Image i420 = Image::i420(data, 38, 32);
  const Image yuyv = Image::packed(PixelFormat::kYUYV, *pairs.cpu<uint8_t>(), 38, 32);
  const auto resize = [](const Image& image) {
    return [&](const Item& item) { return resize_bilinear_and_normalize(image, item); };
  };
  expect_golden("nv12_bgr", resize(nv12));
  expect_golden("i420_bgr", resize(i420));
  expect_golden("yuyv_bgr", resize(yuyv));
  expect_golden("nv12_resized", resize(nv12));
  expect_golden("i420_resized", resize(i420));
  expect_golden("nv12_bgr", [&](const Item& item) {
    return convert_nv12_to_bgr(nv12, *item.tensor.cpu<uint8_t>({1}));
  });
  nv12.standard = YuvStandard::kBT709;
  expect_golden("nv12_bgr_bt709", resize(nv12));
}

}  // namespace
}  // namespace tenon::serve
