// Layers that read feature maps at places that are data, against the reference.
#include "common/suites/float_types_testing.h"
#include "ops/deformable_convolution.h"
#include "ops/grid_sample.h"
#include "ops/max_roi_pool.h"
#include "ops/roi_align.h"

namespace tenon {
namespace {

using nvinfer1::InterpolationMode;
using nvinfer1::SampleMode;

TestInput sampling_numbers(DataType type, const Shape& shape, uint32_t seed, float low,
                           float high) {
  const TestInput in{random_tensor(shape, seed, low, high), false, Layout::kLinear};
  return as_type(type, in);
}

double sampling_tolerance(DataType type) {
  return type == DataType::kFLOAT ? 1e-5 : type == DataType::kHALF ? 2e-3 : 1e-2;
}

void check_sampling(const Op& op, std::vector<TestInput> inputs) {
  const DataType type = inputs[0].tensor->type();
  expect_as_reference(op, std::move(inputs), sampling_tolerance(type));
}
void check_sampling(const Op& op, std::vector<TestInput> inputs, std::string_view candidate) {
  expect_as_reference(op, std::move(inputs), candidate, sampling_tolerance(DataType::kFLOAT));
}

TEST(GridSampleTest, EveryRule) {
  for (const DataType type : kFloatTypes)
    for (const auto mode :
         {InterpolationMode::kNEAREST, InterpolationMode::kLINEAR, InterpolationMode::kCUBIC})
      for (const auto outside : {SampleMode::kFILL, SampleMode::kCLAMP, SampleMode::kREFLECT})
        for (const bool align_corners : {false, true}) {
          SCOPED_TRACE(fmt::format("{} mode {} outside {} align {}", name_of(type),
                                   static_cast<int>(mode), static_cast<int>(outside),
                                   align_corners));
          GridSample op;
          op.mode = mode;
          op.outside = outside;
          op.align_corners = align_corners;
          check_sampling(op, {sampling_numbers(type, {2, 3, 7, 9}, 1, -1, 1),
                              sampling_numbers(type, {2, 13, 11, 2}, 2, -1.4f, 1.4f)});
          if (mode != InterpolationMode::kCUBIC)
            check_sampling(op, {sampling_numbers(type, {2, 3, 4, 5, 6}, 1, -1, 1),
                                sampling_numbers(type, {2, 3, 4, 5, 3}, 2, -1.4f, 1.4f)});
        }
}

TEST(RoiAlignTest, AveragesAndMaxima) {
  for (const DataType type : kFloatTypes)
    for (const bool takes_maximum : {false, true})
      for (const bool half_pixel : {false, true})
        for (const int64_t ratio : {0, 2}) {
          RoiAlign op;
          op.height = 3;
          op.width = 4;
          op.spatial_scale = 0.5f;
          op.sampling_ratio = ratio;
          op.half_pixel = half_pixel;
          op.takes_maximum = takes_maximum;
          check_sampling(op,
                         {sampling_numbers(type, {2, 5, 16, 20}, 1, -1, 1),
                          sampling_numbers(type, {9, 4}, 2, -4, 44),
                          integers<int64_t>(DataType::kINT64, {9}, {0, 1, 1, 0, 1, 0, 0, 1, 1})});
        }
}

TEST(MaxRoiPoolTest, Regions) {
  for (const DataType type : kFloatTypes) {
    MaxRoiPool op;
    op.height = 3;
    op.width = 2;
    op.spatial_scale = 0.5f;
    Tensor rois(DataType::kFLOAT, {6, 5});
    const float values[] = {0, 1, 2, 20, 30, 1, 0,  0,  3,  3,  1, 10, 12, 38, 31,
                            0, 9, 9, 4,  4,  1, -8, -9, -2, -3, 0, 5,  30, 60, 60};
    std::copy(std::begin(values), std::end(values), rois.mutable_data<float>());
    const TestInput regions{rois, false, Layout::kLinear};
    check_sampling(op, {sampling_numbers(type, {2, 5, 16, 20}, 1, -1, 1), as_type(type, regions)});
    TestInput with_nans = data({2, 5, 16, 20});
    for (int64_t i = 3; i < with_nans.tensor->count(); i += 50)
      with_nans.tensor->mutable_data<float>()[i] = NAN;
    check_sampling(op, {as_type(type, with_nans), as_type(type, regions)});
  }
}

TEST(DeformableConvolutionTest, GroupsAndMasks) {
  for (const DataType type : kFloatTypes)
    for (const bool has_mask : {false, true}) {
      DeformableConvolution op;
      op.stride = {2, 1};
      op.dilation = {1, 2};
      op.pre_padding = op.post_padding = {1, 2};
      op.groups = 2;
      op.offset_groups = 2;
      std::vector<TestInput> inputs = {sampling_numbers(type, {2, 8, 9, 10}, 1, -1, 1),
                                       sampling_numbers(type, {6, 4, 3, 3}, 2, -1, 1),
                                       sampling_numbers(type, {2, 36, 5, 10}, 3, -2, 2),
                                       sampling_numbers(type, {6}, 4, -1, 1)};
      if (has_mask) inputs.push_back(sampling_numbers(type, {2, 18, 5, 10}, 5, 0, 1));
      check_sampling(op, inputs);
    }
}

TEST(GridSampleTest, ManyChannels) {
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
        const TestInput grid = sampling_numbers(DataType::kFLOAT, {2, 9, 15, 2}, 5, -1.6f, 1.6f);
        check_sampling(op, {data({2, 70, 6, 7}), grid}, "grid_sample");
        if (mode == InterpolationMode::kCUBIC) continue;
        check_sampling(op,
                       {data({1, 3, 4, 5, 6}),
                        sampling_numbers(DataType::kFLOAT, {1, 3, 5, 7, 3}, 6, -1.6f, 1.6f)},
                       "grid_sample");
      }
}

TEST(GridSampleTest, ThinImages) {
  const TestInput grid = sampling_numbers(DataType::kFLOAT, {1, 5, 7, 2}, 5, -1.6f, 1.6f);
  for (const auto outside : {SampleMode::kFILL, SampleMode::kCLAMP, SampleMode::kREFLECT})
    for (const bool align : {false, true})
      for (const Shape& shape : {Shape{1, 3, 1, 7}, Shape{1, 3, 7, 1}, Shape{1, 3, 2, 2}}) {
        SCOPED_TRACE(fmt::format("{} {} {}", static_cast<int>(outside), align, shape));
        GridSample op;
        op.outside = outside;
        op.align_corners = align;
        check_sampling(op, {data(shape), grid}, "grid_sample");
      }
}

// Mirrors repeat, and what is not a number is far away.
TEST(GridSampleTest, PlacesFarAway) {
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
      for (const int64_t width : {7, 8})
        check_sampling(op, {data({1, 5, 6, width}), {grid, false, Layout::kLinear}}, "grid_sample");
    }
}

// Places on elements, between two, and beside the picture, in every type.
TEST(GridSampleTest, PlacesBesideTheEdges) {
  constexpr int64_t kWidth = 12, kHeight = 5, kChannels = 19;
  std::vector<float> places;  // and whole ones, between which nothing is read
  for (int64_t row = -1; row <= kHeight; ++row)
    for (int64_t column = -1; column <= kWidth; ++column)
      for (const float between : {0.f, 0.25f}) {
        const auto x = static_cast<float>(column) + between;
        places.push_back(2 * x / (kWidth - 1) - 1);
        places.push_back(2 * static_cast<float>(row) / (kHeight - 1) - 1);
      }
  Tensor grid(DataType::kFLOAT, {1, 1, static_cast<int64_t>(places.size()) / 2, 2});
  std::ranges::copy(places, grid.mutable_data<float>());
  for (const DataType type : {DataType::kFLOAT, DataType::kHALF, DataType::kBF16})
    for (const auto outside : {SampleMode::kFILL, SampleMode::kCLAMP, SampleMode::kREFLECT})
      for (const bool align : {false, true}) {
        SCOPED_TRACE(fmt::format("{} {} {}", name_of(type), static_cast<int>(outside), align));
        GridSample op;
        op.outside = outside;
        op.align_corners = align;
        check_sampling(op, {sampling_numbers(type, {1, kChannels, kHeight, kWidth}, 1, -1, 1),
                            as_type(type, {grid})});
      }
}

TEST(GridSampleTest, WhatIsEmptyGivesZerosOrNothing) {
  const TestInput grid = sampling_numbers(DataType::kFLOAT, {1, 2, 3, 2}, 5, -1, 1);
  check_sampling(GridSample(), {data({1, 2, 0, 3}), grid}, "grid_sample");
  check_sampling(GridSample(), {data({1, 0, 3, 3}), grid}, "grid_sample");
}

TEST(RoiAlignTest, RegionsBeyondTheImage) {
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
        check_sampling(op, {x, rois, integers<int64_t>(DataType::kINT64, {kCount}, images)},
                       "roi_align");
        const std::vector<int32_t> int32_images(images.begin(), images.end());
        check_sampling(op, {x, rois, integers<int32_t>(DataType::kINT32, {kCount}, int32_images)},
                       "roi_align");
      }
}

TEST(DeformableConvolutionTest, EveryGrouping) {
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
        check_sampling(
            op,
            {data(x), data(k, 2),
             sampling_numbers(DataType::kFLOAT, {x[0], 2 * taps, height, width}, 3, -3, 3),
             has_bias ? data({k[0]}, 4) : absent(),
             has_mask ? data({x[0], taps, height, width}, 5) : absent()},
            "deformable_convolution");
      }
}

}  // namespace
}  // namespace tenon
