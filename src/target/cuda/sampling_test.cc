// Layers that read maps at places that are data, against the reference.
#include "ops/deformable_convolution.h"
#include "ops/grid_sample.h"
#include "ops/max_roi_pool.h"
#include "ops/roi_align.h"
#include "target/cuda/cuda_target.h"
#include "target/testing.h"

namespace tenon {
namespace {

using nvinfer1::InterpolationMode;
using nvinfer1::SampleMode;

constexpr DataType kFloats[] = {DataType::kFLOAT, DataType::kHALF, DataType::kBF16};

TestInput numbers(DataType type, const Shape& shape, uint32_t seed, float low, float high) {
  const TestInput in{random_tensor(shape, seed, low, high), false, Layout::kLinear};
  return type == DataType::kFLOAT ? in : as_type(type, in);
}

double tolerance(DataType type) {
  return type == DataType::kFLOAT ? 1e-5 : type == DataType::kHALF ? 2e-3 : 1e-2;
}

void check(const Op& op, std::vector<TestInput> inputs, const char* name) {
  const DataType type = inputs[0].tensor->type();
  LayerTest test(op, std::move(inputs), cuda::cuda_target());
  ASSERT_EQ(test.offer(name), "");
  expect_close(test.run(), test.reference(), tolerance(type));
}

TEST(CudaGridSampleTest, EveryRule) {
  for (const DataType type : kFloats)
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
          check(op,
                {numbers(type, {2, 3, 7, 9}, 1, -1, 1),
                 numbers(type, {2, 13, 11, 2}, 2, -1.4f, 1.4f)},
                "grid_sample");
          if (mode != InterpolationMode::kCUBIC)
            check(op,
                  {numbers(type, {2, 3, 4, 5, 6}, 1, -1, 1),
                   numbers(type, {2, 3, 4, 5, 3}, 2, -1.4f, 1.4f)},
                  "grid_sample");
        }
}

TEST(CudaRoiAlignTest, AveragesAndMaxima) {
  for (const DataType type : kFloats)
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
          check(op,
                {numbers(type, {2, 5, 16, 20}, 1, -1, 1), numbers(type, {9, 4}, 2, -4, 44),
                 integers<int64_t>(DataType::kINT64, {9}, {0, 1, 1, 0, 1, 0, 0, 1, 1})},
                "roi_align");
        }
}

TEST(CudaMaxRoiPoolTest, Regions) {
  for (const DataType type : kFloats) {
    MaxRoiPool op;
    op.height = 3;
    op.width = 2;
    op.spatial_scale = 0.5f;
    Tensor rois(DataType::kFLOAT, {6, 5});
    const float values[] = {0, 1, 2, 20, 30, 1, 0,  0,  3,  3,  1, 10, 12, 38, 31,
                            0, 9, 9, 4,  4,  1, -8, -9, -2, -3, 0, 5,  30, 60, 60};
    std::copy(std::begin(values), std::end(values), rois.mutable_data<float>());
    const TestInput regions{rois, false, Layout::kLinear};
    check(op,
          {numbers(type, {2, 5, 16, 20}, 1, -1, 1),
           type == DataType::kFLOAT ? regions : as_type(type, regions)},
          "max_roi_pool");
  }
}

TEST(CudaDeformableConvolutionTest, GroupsAndMasks) {
  for (const DataType type : kFloats)
    for (const bool has_mask : {false, true}) {
      DeformableConvolution op;
      op.stride = {2, 1};
      op.dilation = {1, 2};
      op.pre_padding = op.post_padding = {1, 2};
      op.groups = 2;
      op.offset_groups = 2;
      std::vector<TestInput> inputs = {
          numbers(type, {2, 8, 9, 10}, 1, -1, 1), numbers(type, {6, 4, 3, 3}, 2, -1, 1),
          numbers(type, {2, 36, 5, 10}, 3, -2, 2), numbers(type, {6}, 4, -1, 1)};
      if (has_mask) inputs.push_back(numbers(type, {2, 18, 5, 10}, 5, 0, 1));
      check(op, inputs, "deformable_convolution");
    }
}

}  // namespace
}  // namespace tenon
