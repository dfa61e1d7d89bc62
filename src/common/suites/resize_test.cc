// Resizing against the reference. Sums are in single precision and in another order.
#include "common/suites/float_types_testing.h"
#include "common/suites/resize_testing.h"

namespace tenon {
namespace {

using nvinfer1::InterpolationMode;
using nvinfer1::ResizeCoordinateTransformation;
using nvinfer1::ResizeRoundMode;

double resize_tolerance(DataType type) {
  return type == DataType::kFLOAT ? 2e-6 : type == DataType::kHALF ? 1e-3 : 8e-3;
}

void check_resize(const Resize& op, const TestInput& x) {
  const bool copies = op.mode == InterpolationMode::kNEAREST;
  expect_as_reference(op, {x}, copies ? 0 : resize_tolerance(x.tensor->type()));
}
void check_kernel(const Resize& op, const TestInput& x) {
  const bool copies = op.mode == InterpolationMode::kNEAREST;
  expect_as_reference(op, {x}, "resize", copies ? 0 : resize_tolerance(DataType::kFLOAT));
}

TEST(ResizeTest, NearestOfEveryTypeAndLayout) {
  for (const DataType type : {DataType::kFLOAT, DataType::kHALF, DataType::kINT64, DataType::kINT8})
    for (const Layout layout : tested().layouts)
      for (const Shape& size : {Shape{2, 8, 10, 14}, Shape{2, 8, 3, 20}, Shape{2, 8, 5, 7}}) {
        SCOPED_TRACE(fmt::format("{} {} {}", name_of(type), name_of(layout), size));
        Resize op;
        op.output_size = size;
        Tensor x(type, {2, 8, 5, 7});
        for (size_t i = 0; i < x.bytes(); ++i)
          x.mutable_data<uint8_t>()[i] = static_cast<uint8_t>(i * 37 % 113);  // no NaNs
        check_resize(op, {x, false, layout});
      }
}

TEST(ResizeTest, InterpolationOfEveryTypeAndLayout) {
  for (const DataType type : kFloatTypes)
    for (const Layout layout : tested().layouts)
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
              check_resize(op, as_type(type, data({2, channels, 7, 12}, 1, layout)));
            }
          }
}

TEST(ResizeTest, RulesOfCoordinates) {
  for (const auto mode :
       {InterpolationMode::kNEAREST, InterpolationMode::kLINEAR, InterpolationMode::kCUBIC})
    for (const int32_t rule : {0, 1, 2, 10001, 10004})
      for (const auto rounding : {ResizeRoundMode::kHALF_UP, ResizeRoundMode::kCEIL}) {
        Resize op;
        op.mode = mode;
        op.coordinates = static_cast<ResizeCoordinateTransformation>(rule);
        op.rounding = rounding;
        op.scales = {1, 1, 1.7f, 0.6f};
        check_resize(op, data({1, 3, 9, 16}));
      }
}

TEST(ResizeTest, OneTwoAndThreeAxes) {
  Resize op;
  op.mode = InterpolationMode::kLINEAR;
  op.output_size = {2, 3, 9};
  check_resize(op, data({2, 3, 4}));
  op.output_size = {2, 3, 5, 6, 9};
  check_resize(op, data({2, 3, 4, 4, 4}));
  op.output_size = {4, 3, 5};
  check_resize(op, data({2, 3, 9}));
  op.output_size = {2, 3, 4};
  check_resize(op, data({2, 3, 4}));
}

TEST(ResizeTest, ScalesThatAreData) {
  Resize op;
  op.mode = InterpolationMode::kLINEAR;
  op.input_is_scales = true;
  TestInput scales{Tensor::of<float>(DataType::kFLOAT, {4}, std::vector<float>{1, 1, 2.5f, 1.3f}),
                   true, Layout::kLinear};
  expect_as_reference(op, {data({1, 2, 6, 7}), scales}, resize_tolerance(DataType::kFLOAT));
}

TEST(ResizeTest, EveryModeAndCoordinateRule) {
  for (const auto mode :
       {InterpolationMode::kNEAREST, InterpolationMode::kLINEAR, InterpolationMode::kCUBIC})
    for (const auto rule : all_rules())
      for (const Shape& size : {Shape{2, 3, 14, 27}, Shape{2, 3, 4, 5}, Shape{2, 3, 7, 40},
                                Shape{2, 3, 7, 9}, Shape{2, 3, 2, 1}, Shape{2, 3, 1, 23}}) {
        SCOPED_TRACE(fmt::format("{} {} {}", static_cast<int>(mode), static_cast<int>(rule), size));
        Resize op;
        op.mode = mode;
        op.coordinates = rule;
        op.output_size = size;
        check_kernel(op, data({2, 3, 7, 9}));
      }
}

TEST(ResizeTest, EveryRounding) {
  for (const auto rounding : {ResizeRoundMode::kHALF_UP, ResizeRoundMode::kHALF_DOWN,
                              ResizeRoundMode::kFLOOR, ResizeRoundMode::kCEIL}) {
    Resize op;
    op.rounding = rounding;
    op.coordinates = ResizeCoordinateTransformation::kHALF_PIXEL;
    op.output_size = {1, 2, 10, 9};
    check_kernel(op, data({1, 2, 4, 5}));
  }
}

TEST(ResizeTest, OtherRanks) {
  for (const auto mode :
       {InterpolationMode::kNEAREST, InterpolationMode::kLINEAR, InterpolationMode::kCUBIC}) {
    Resize op;
    op.mode = mode;
    op.coordinates = ResizeCoordinateTransformation::kHALF_PIXEL;
    op.output_size = {2, 3, 9, 4, 12};
    check_kernel(op, data({2, 3, 4, 5, 6}));
    op.output_size = {50};
    check_kernel(op, data({20}));
  }
}

TEST(ResizeTest, FiltersOfUnevenWidth) {
  for (const auto mode : {InterpolationMode::kLINEAR, InterpolationMode::kCUBIC})
    for (const bool excludes : {false, true})
      for (const Layout layout : tested().layouts) {
        Resize op;
        op.mode = mode;
        op.coordinates = ResizeCoordinateTransformation::kHALF_PIXEL;
        op.antialias = !excludes;
        op.exclude_outside = excludes;
        op.output_size = {1, 16, 3, 5};
        check_kernel(op, data({1, 16, 11, 13}, 1, layout));
      }
}

TEST(ResizeTest, InfinitiesStayWhereTheyAre) {
  Resize op;
  op.mode = InterpolationMode::kLINEAR;
  op.coordinates = ResizeCoordinateTransformation::kALIGN_CORNERS;
  op.output_size = {1, 1, 1, 13};
  TestInput in = data({1, 1, 1, 5});
  in.tensor->mutable_data<float>()[2] = INFINITY;
  LayerTest test(op, {in});
  ASSERT_EQ(test.offer("resize"), "");
  const Tensor actual = test.run(), expected = test.reference();
  for (int64_t i = 0; i < 13; ++i)
    EXPECT_EQ(std::isfinite(actual.data<float>()[i]), std::isfinite(expected.data<float>()[i]))
        << i;
}

TEST(ResizeTest, OtherTypesAreCopied) {
  Resize op;
  op.output_size = {1, 1, 4, 6};
  check_kernel(op, integers<uint8_t>(DataType::kUINT8, {1, 1, 2, 3}, {1, 2, 3, 4, 5, 6}));
  check_kernel(op, integers<int64_t>(DataType::kINT64, {1, 1, 2, 3}, {1, 2, 3, 4, 5, 6}));
}

TEST(ResizeTest, NothingToDo) {
  Resize op;
  op.mode = InterpolationMode::kLINEAR;
  op.output_size = {2, 0, 4, 4};
  check_kernel(op, data({2, 0, 2, 2}));
  op.output_size = {2, 3, 2, 2};
  check_kernel(op, data({2, 3, 2, 2}));
}

}  // namespace
}  // namespace tenon
