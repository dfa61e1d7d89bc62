// Resizing keeps blocks of channels where it can, and reads scales at run.
#include "backend/testing.h"
#include "common/suites/resize_testing.h"

namespace tenon::cpu {
namespace {

using nvinfer1::InterpolationMode;
using nvinfer1::ResizeCoordinateTransformation;

constexpr Layout kResizeLayouts[] = {Layout::kLinear, Layout::kChannelsLast, Layout::kBlocked8,
                                     Layout::kBlocked16};

void check_resize(LayerTest& test) {
  ASSERT_EQ(test.offer("resize"), "");
  expect_close(test.run(), test.reference());
}

TEST(ResizeKernelTest, EveryLayout) {
  for (const auto mode :
       {InterpolationMode::kNEAREST, InterpolationMode::kLINEAR, InterpolationMode::kCUBIC})
    for (const Layout layout : kResizeLayouts)
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

TEST(ResizeKernelTest, EveryAxis) {
  for (const auto mode :
       {InterpolationMode::kNEAREST, InterpolationMode::kLINEAR, InterpolationMode::kCUBIC})
    for (const auto rule : all_rules()) {
      SCOPED_TRACE(fmt::format("{} {}", static_cast<int>(mode), static_cast<int>(rule)));
      Resize op;
      op.mode = mode;
      op.coordinates = rule;
      op.output_size = {3, 5, 2, 1};
      LayerTest test(op, {data({2, 3, 7, 9})});
      check_resize(test);
    }
}

TEST(ResizeKernelTest, ResizedChannelsLieInRows) {
  Resize op;
  op.mode = InterpolationMode::kLINEAR;
  op.output_size = {1, 24, 4, 4};
  LayerTest test(op, {data({1, 16, 4, 4}, 1, Layout::kBlocked16)});
  check_resize(test);
  EXPECT_EQ(test.kernel().output_layouts[0], Layout::kLinear);
}

TEST(ResizeKernelTest, ScalesAsAttributeAndAsInput) {
  for (const auto mode : {InterpolationMode::kNEAREST, InterpolationMode::kLINEAR}) {
    Resize op;
    op.mode = mode;
    op.scales = {1, 1, 1.7f, 2.6f};
    LayerTest attribute(op, {data({1, 2, 5, 7})});
    check_resize(attribute);
    op.scales.clear();
    op.input_is_scales = true;
    TestInput scales = constant({4});
    std::copy_n(std::array{1.f, 1.f, 0.6f, 2.6f}.data(), 4, scales.tensor->mutable_data<float>());
    LayerTest input(op, {data({1, 2, 5, 7}), scales});
    check_resize(input);
    // The same kernel at other scales.
    std::copy_n(std::array{1.f, 1.f, 2.5f, 0.5f}.data(), 4, scales.tensor->mutable_data<float>());
    input.set_inputs({data({1, 2, 6, 7}), scales});
    expect_close(input.run(), input.reference());
  }
}

}  // namespace
}  // namespace tenon::cpu
