// Resizing against the reference. Sums are in single precision and in another order.
#include "ops/resize.h"

#include "target/cuda/cuda_target.h"
#include "target/testing.h"

namespace tenon {
namespace {

using nvinfer1::InterpolationMode;
using nvinfer1::ResizeCoordinateTransformation;
using nvinfer1::ResizeRoundMode;

constexpr DataType kFloats[] = {DataType::kFLOAT, DataType::kHALF, DataType::kBF16};
constexpr Layout kLayouts[] = {Layout::kLinear, Layout::kChannelsLast};

double tolerance(DataType type) {
  return type == DataType::kFLOAT ? 2e-6 : type == DataType::kHALF ? 1e-3 : 8e-3;
}

TestInput numbers(DataType type, const Shape& shape, Layout layout) {
  const TestInput floats = data(shape, 1, layout);
  return type == DataType::kFLOAT ? floats : as_type(type, floats);
}

void check(const Resize& op, const TestInput& x) {
  LayerTest test(op, {x}, cuda::cuda_target());
  ASSERT_EQ(test.offer("resize"), "");
  if (op.mode == InterpolationMode::kNEAREST)
    expect_identical(test.run(), test.reference());
  else
    expect_close(test.run(), test.reference(), tolerance(x.tensor->type()));
}

TEST(CudaResizeTest, NearestOfEveryTypeAndLayout) {
  for (const DataType type : {DataType::kFLOAT, DataType::kHALF, DataType::kINT64, DataType::kINT8})
    for (const Layout layout : kLayouts)
      for (const Shape& size : {Shape{2, 8, 10, 14}, Shape{2, 8, 3, 20}, Shape{2, 8, 5, 7}}) {
        SCOPED_TRACE(fmt::format("{} {} {}", name_of(type), name_of(layout), size));
        Resize op;
        op.output_size = size;
        Tensor x(type, {2, 8, 5, 7});
        for (size_t i = 0; i < x.bytes(); ++i)
          x.mutable_data<uint8_t>()[i] = static_cast<uint8_t>(i * 37 % 251);
        check(op, {x, false, layout});
      }
}

TEST(CudaResizeTest, InterpolationOfEveryTypeAndLayout) {
  for (const DataType type : kFloats)
    for (const Layout layout : kLayouts)
      for (const auto mode : {InterpolationMode::kLINEAR, InterpolationMode::kCUBIC})
        for (const int64_t channels : {8, 3})
          for (const bool antialias : {false, true}) {
            Resize op;
            op.mode = mode;
            op.coordinates = ResizeCoordinateTransformation::kHALF_PIXEL;
            op.antialias = antialias;
            for (const auto& [height, width] : {std::pair{11, 23}, std::pair{3, 9}}) {
              SCOPED_TRACE(fmt::format("{} {} mode {} to {}x{}", name_of(type), name_of(layout),
                                       static_cast<int>(mode), height, width));
              op.output_size = {2, channels, height, width};
              check(op, numbers(type, {2, channels, 7, 12}, layout));
            }
          }
}

TEST(CudaResizeTest, RulesOfCoordinates) {
  for (const auto mode :
       {InterpolationMode::kNEAREST, InterpolationMode::kLINEAR, InterpolationMode::kCUBIC})
    for (const int32_t rule : {0, 1, 2, 10001, 10004})
      for (const auto rounding : {ResizeRoundMode::kHALF_UP, ResizeRoundMode::kCEIL}) {
        Resize op;
        op.mode = mode;
        op.coordinates = static_cast<ResizeCoordinateTransformation>(rule);
        op.rounding = rounding;
        op.scales = {1, 1, 1.7f, 0.6f};
        check(op, data({1, 3, 9, 16}));
      }
}

TEST(CudaResizeTest, OneTwoAndThreeAxes) {
  Resize op;
  op.mode = InterpolationMode::kLINEAR;
  op.output_size = {2, 3, 9};
  check(op, data({2, 3, 4}));
  op.output_size = {2, 3, 5, 6, 9};
  check(op, data({2, 3, 4, 4, 4}));
  op.output_size = {4, 3, 5};
  check(op, data({2, 3, 9}));
  op.output_size = {2, 3, 4};
  check(op, data({2, 3, 4}));
}

TEST(CudaResizeTest, ScalesThatAreData) {
  Resize op;
  op.mode = InterpolationMode::kLINEAR;
  op.input_is_scales = true;
  TestInput scales{Tensor::of<float>(DataType::kFLOAT, {4}, std::vector<float>{1, 1, 2.5f, 1.3f}),
                   true, Layout::kLinear};
  LayerTest test(op, {data({1, 2, 6, 7}), scales}, cuda::cuda_target());
  ASSERT_EQ(test.offer("resize"), "");
  expect_close(test.run(), test.reference());
}

}  // namespace
}  // namespace tenon
