// Kernels that read between elements, which plugins share, against the reference.
#include "ops/deformable_convolution.h"
#include "ops/grid_sample.h"
#include "ops/roi_align.h"
#include "target/testing.h"

namespace tenon::cpu {
namespace {

using nvinfer1::InterpolationMode;
using nvinfer1::SampleMode;
using ::testing::HasSubstr;

TestInput numbers(const Shape& shape, uint32_t seed, float low, float high) {
  return {random_tensor(shape, seed, low, high), false, Layout::kLinear};
}

// `relative`: places are worked out with roundings of their own, and neighbours differ.
void check(const Op& op, std::vector<TestInput> inputs, const char* name, double relative = 2e-5) {
  LayerTest test(op, std::move(inputs));
  ASSERT_EQ(test.offer(name), "");
  expect_close(test.run(), test.reference(), relative);
}

TEST(GridSampleKernelTest, EveryKind) {
  for (const auto mode :
       {InterpolationMode::kNEAREST, InterpolationMode::kLINEAR, InterpolationMode::kCUBIC})
    for (const auto outside : {SampleMode::kFILL, SampleMode::kCLAMP, SampleMode::kREFLECT})
      for (const bool align : {false, true}) {
        SCOPED_TRACE(
            fmt::format("{} {} {}", static_cast<int>(mode), static_cast<int>(outside), align));
        GridSample op;
        op.mode = mode;
        op.outside = outside;
        op.align_corners = align;
        const TestInput grid = numbers({2, 9, 15, 2}, 5, -1.6f, 1.6f);
        check(op, {data({2, 70, 6, 7}), grid}, "grid_sample");
        if (mode == InterpolationMode::kCUBIC) continue;
        check(op, {data({1, 3, 4, 5, 6}), numbers({1, 3, 5, 7, 3}, 6, -1.6f, 1.6f)}, "grid_sample");
      }
}

TEST(GridSampleKernelTest, ThinImages) {
  const TestInput grid = numbers({1, 5, 7, 2}, 5, -1.6f, 1.6f);
  for (const auto outside : {SampleMode::kFILL, SampleMode::kCLAMP, SampleMode::kREFLECT})
    for (const bool align : {false, true})
      for (const Shape& shape : {Shape{1, 3, 1, 7}, Shape{1, 3, 7, 1}, Shape{1, 3, 2, 2}}) {
        SCOPED_TRACE(fmt::format("{} {} {}", static_cast<int>(outside), align, shape));
        GridSample op;
        op.outside = outside;
        op.align_corners = align;
        check(op, {data(shape), grid}, "grid_sample");
      }
}

// Mirrors repeat, and what is not a number is far away.
TEST(GridSampleKernelTest, PlacesFarAway) {
  Tensor grid(DataType::kFLOAT, {1, 1, 8, 2});
  const float places[] = {9,  -9, 77.3f, -41.2f, 1e30f, -INFINITY, NAN, 0.1f,
                          -3, 3,  1,     -1,     5.5f,  -5,        0,   INFINITY};
  std::copy_n(places, 16, grid.mutable_data<float>());
  for (const auto outside : {SampleMode::kFILL, SampleMode::kCLAMP, SampleMode::kREFLECT})
    for (const bool align : {false, true}) {
      SCOPED_TRACE(fmt::format("{} {}", static_cast<int>(outside), align));
      GridSample op;
      op.outside = outside;
      op.align_corners = align;
      check(op, {data({1, 5, 6, 7}), {grid, false, Layout::kLinear}}, "grid_sample");
    }
}

TEST(GridSampleKernelTest, WhatIsEmptyGivesZerosOrNothing) {
  const TestInput grid = numbers({1, 2, 3, 2}, 5, -1, 1);
  check(GridSample(), {data({1, 2, 0, 3}), grid}, "grid_sample");
  check(GridSample(), {data({1, 0, 3, 3}), grid}, "grid_sample");
}

TEST(GridSampleKernelTest, SixteenBits) {
  for (const DataType type : {DataType::kHALF, DataType::kBF16}) {
    const TestInput x = as_type(type, data({1, 5, 6, 7}));
    const TestInput grid = as_type(type, numbers({1, 4, 5, 2}, 5, -1.2f, 1.2f));
    check(GridSample(), {x, grid}, "grid_sample_16bit", type == DataType::kHALF ? 1e-3 : 8e-3);
  }
}

TEST(RoiAlignKernelTest, EveryKind) {
  constexpr int kCount = 9;
  Tensor regions(DataType::kFLOAT, {kCount, 4});
  std::vector<int64_t> images;
  for (int i = 0; i < kCount; ++i) {
    const Tensor t = random_tensor({4}, static_cast<uint32_t>(i), 0, 1);
    const float* r = t.data<float>();
    const float corners[] = {r[0] * 40 - 8, r[1] * 30 - 6, r[2] * 40 - 8 + 20, r[3] * 30 + 10};
    std::copy_n(corners, 4, regions.mutable_data<float>() + i * 4);
    images.push_back(i % 2);
  }
  const TestInput rois{regions, false, Layout::kLinear};
  const TestInput x = data({2, 35, 12, 16});
  for (const bool takes_maximum : {false, true})
    for (const bool half_pixel : {false, true})
      for (const int64_t ratio : {0, 2, 20}) {
        SCOPED_TRACE(fmt::format("{} {} {}", takes_maximum, half_pixel, ratio));
        RoiAlign op;
        op.height = 7;
        op.width = 10;
        op.spatial_scale = 0.5f;
        op.sampling_ratio = ratio;
        op.half_pixel = half_pixel;
        op.takes_maximum = takes_maximum;
        check(op, {x, rois, integers<int64_t>(DataType::kINT64, {kCount}, images)}, "roi_align");
        const std::vector<int32_t> narrow(images.begin(), images.end());
        check(op, {x, rois, integers<int32_t>(DataType::kINT32, {kCount}, narrow)}, "roi_align");
      }
}

TEST(RoiAlignKernelTest, RegionsOfNoImageAreErrors) {
  LayerTest test(RoiAlign(),
                 {data({2, 1, 3, 3}), data({1, 4}), integers<int64_t>(DataType::kINT64, {1}, {2})});
  ASSERT_EQ(test.offer("roi_align"), "");
  try {
    test.run();
    FAIL() << "no error";
  } catch (const Error& e) {
    EXPECT_THAT(e.what(), HasSubstr("region 0 is of image 2; there are 2"));
  }
}

TEST(DeformableConvolutionKernelTest, EveryKind) {
  struct Kind {
    Shape x, kernel;
    int64_t groups = 1, offset_groups = 1;
  };
  for (const Kind& kind :
       {Kind{{2, 6, 9, 11}, {5, 6, 3, 2}}, Kind{{1, 300, 9, 10}, {300, 300, 1, 2}},
        Kind{{1, 12, 9, 10}, {8, 3, 2, 2}, 4, 3}, Kind{{1, 70, 8, 9}, {70, 1, 2, 3}, 70, 2}})
    for (const bool has_bias : {false, true})
      for (const bool has_mask : {false, true}) {
        SCOPED_TRACE(fmt::format("{} {} {} {}", kind.x, kind.kernel, has_bias, has_mask));
        DeformableConvolution op;
        op.stride = {2, 1};
        op.dilation = {1, 2};
        op.pre_padding = {1, 2};
        op.post_padding = {1, 0};
        op.groups = kind.groups;
        op.offset_groups = kind.offset_groups;
        const Shape &x = kind.x, &k = kind.kernel;
        const int64_t height = (x[2] + 2 - k[2]) / 2 + 1, width = x[3] + 2 - 2 * (k[3] - 1);
        const int64_t taps = kind.offset_groups * k[2] * k[3];
        check(op,
              {data(x), data(k, 2), numbers({x[0], 2 * taps, height, width}, 3, -3, 3),
               has_bias ? data({k[0]}, 4) : absent(),
               has_mask ? data({x[0], taps, height, width}, 5) : absent()},
              "deformable_convolution");
      }
}

}  // namespace
}  // namespace tenon::cpu
