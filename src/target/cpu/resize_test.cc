// Resize against the reference: modes, coordinate rules, layouts, and scales that are read at run.
#include "ops/resize.h"

#include "target/testing.h"

namespace tenon::cpu {
namespace {

using nvinfer1::InterpolationMode;
using nvinfer1::ResizeCoordinateTransformation;
using nvinfer1::ResizeRoundMode;

constexpr Layout kLayouts[] = {Layout::kLinear, Layout::kChannelsLast, Layout::kBlocked8,
                               Layout::kBlocked16};

std::vector<ResizeCoordinateTransformation> all_rules() {
  const auto own = [](PrivateCoordinates c) {
    return static_cast<ResizeCoordinateTransformation>(c);
  };
  return {ResizeCoordinateTransformation::kALIGN_CORNERS,
          ResizeCoordinateTransformation::kASYMMETRIC,
          ResizeCoordinateTransformation::kHALF_PIXEL,
          own(PrivateCoordinates::kPytorchHalfPixel),
          own(PrivateCoordinates::kTfHalfPixelForNearest),
          own(PrivateCoordinates::kHalfPixelSymmetric)};
}

void check(LayerTest& test) {
  ASSERT_EQ(test.offer("resize"), "");
  expect_close(test.run(), test.reference());
}

TEST(ResizeTest, EveryModeAndCoordinateRule) {
  for (const auto mode :
       {InterpolationMode::kNEAREST, InterpolationMode::kLINEAR, InterpolationMode::kCUBIC})
    for (const auto rule : all_rules())
      for (const Shape& size : {Shape{2, 3, 14, 27}, Shape{2, 3, 4, 5}, Shape{2, 3, 7, 40},
                                Shape{2, 3, 7, 9}, Shape{3, 5, 2, 1}, Shape{2, 3, 1, 23}}) {
        SCOPED_TRACE(fmt::format("{} {} {}", static_cast<int>(mode), static_cast<int>(rule), size));
        Resize op;
        op.mode = mode;
        op.coordinates = rule;
        op.output_size = size;
        LayerTest test(op, {data({2, 3, 7, 9})});
        check(test);
      }
}

TEST(ResizeTest, EveryRounding) {
  for (const auto rounding : {ResizeRoundMode::kHALF_UP, ResizeRoundMode::kHALF_DOWN,
                              ResizeRoundMode::kFLOOR, ResizeRoundMode::kCEIL}) {
    Resize op;
    op.rounding = rounding;
    op.coordinates = ResizeCoordinateTransformation::kHALF_PIXEL;
    op.output_size = {1, 2, 10, 9};
    LayerTest test(op, {data({1, 2, 4, 5})});
    check(test);
  }
}

TEST(ResizeTest, EveryLayout) {
  for (const auto mode :
       {InterpolationMode::kNEAREST, InterpolationMode::kLINEAR, InterpolationMode::kCUBIC})
    for (const Layout layout : kLayouts)
      for (const int64_t channels : {5, 32}) {
        SCOPED_TRACE(fmt::format("{} {} {}", static_cast<int>(mode), name_of(layout), channels));
        Resize op;
        op.mode = mode;
        op.coordinates = ResizeCoordinateTransformation::kHALF_PIXEL;
        op.output_size = {2, channels, 12, 9};
        LayerTest test(op, {data({2, channels, 6, 4}, 1, layout)});
        ASSERT_EQ(test.offer("resize"), "");
        EXPECT_EQ(test.kernel().output_layouts[0], layout);
        expect_close(test.run(), test.reference());
      }
}

TEST(ResizeTest, ResizedChannelsLieInRows) {
  Resize op;
  op.mode = InterpolationMode::kLINEAR;
  op.output_size = {1, 24, 4, 4};
  LayerTest test(op, {data({1, 16, 4, 4}, 1, Layout::kBlocked16)});
  check(test);
  EXPECT_EQ(test.kernel().output_layouts[0], Layout::kLinear);
}

TEST(ResizeTest, OtherRanks) {
  for (const auto mode :
       {InterpolationMode::kNEAREST, InterpolationMode::kLINEAR, InterpolationMode::kCUBIC}) {
    Resize op;
    op.mode = mode;
    op.coordinates = ResizeCoordinateTransformation::kHALF_PIXEL;
    op.output_size = {2, 3, 9, 4, 12};
    LayerTest three(op, {data({2, 3, 4, 5, 6})});
    check(three);
    op.output_size = {50};
    LayerTest one(op, {data({20})});
    check(one);
  }
}

TEST(ResizeTest, FiltersOfUnevenWidth) {
  for (const auto mode : {InterpolationMode::kLINEAR, InterpolationMode::kCUBIC})
    for (const bool excludes : {false, true})
      for (const Layout layout : {Layout::kLinear, Layout::kBlocked16}) {
        Resize op;
        op.mode = mode;
        op.coordinates = ResizeCoordinateTransformation::kHALF_PIXEL;
        op.antialias = !excludes;
        op.exclude_outside = excludes;
        op.output_size = {1, 16, 3, 5};
        LayerTest test(op, {data({1, 16, 11, 13}, 1, layout)});
        check(test);
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

TEST(ResizeTest, ScalesAsAttributeAndAsInput) {
  for (const auto mode : {InterpolationMode::kNEAREST, InterpolationMode::kLINEAR}) {
    Resize op;
    op.mode = mode;
    op.scales = {1, 1, 1.7f, 2.6f};
    LayerTest attribute(op, {data({1, 2, 5, 7})});
    check(attribute);
    op.scales.clear();
    op.input_is_scales = true;
    TestInput scales = constant({4});
    std::copy_n(std::array{1.f, 1.f, 0.6f, 2.6f}.data(), 4, scales.tensor->mutable_data<float>());
    LayerTest input(op, {data({1, 2, 5, 7}), scales});
    check(input);
    // The same kernel at other scales.
    std::copy_n(std::array{1.f, 1.f, 2.5f, 0.5f}.data(), 4, scales.tensor->mutable_data<float>());
    input.set_inputs({data({1, 2, 6, 7}), scales});
    expect_close(input.run(), input.reference());
  }
}

TEST(ResizeTest, OtherTypesAreCopied) {
  Resize op;
  op.output_size = {1, 1, 4, 6};
  LayerTest test(op, {integers<uint8_t>(DataType::kUINT8, {1, 1, 2, 3}, {1, 2, 3, 4, 5, 6})});
  ASSERT_EQ(test.offer("resize"), "");
  expect_identical(test.run(), test.reference());
  LayerTest wide(op, {integers<int64_t>(DataType::kINT64, {1, 1, 2, 3}, {1, 2, 3, 4, 5, 6})});
  ASSERT_EQ(wide.offer("resize"), "");
  expect_identical(wide.run(), wide.reference());
}

TEST(ResizeTest, NothingToDo) {
  Resize op;
  op.mode = InterpolationMode::kLINEAR;
  op.output_size = {2, 0, 4, 4};
  LayerTest empty(op, {data({2, 0, 2, 2})});
  check(empty);
  op.output_size = {2, 3, 2, 2};
  LayerTest same(op, {data({2, 3, 2, 2})});
  check(same);
}

}  // namespace
}  // namespace tenon::cpu
