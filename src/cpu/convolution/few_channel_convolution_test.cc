#include "backend/testing.h"
#include "ops/convolution.h"

namespace tenon::cpu {
namespace {

// Sums of some hundred products, in another order than the reference's.
constexpr double kFewChannelConvolutionTolerance = 4e-6;

struct FewChannelConvolutionCase {
  const char* name;
  int64_t output_channels;
  Shape kernel, stride, pre, post, dilation, data;
};

Convolution convolution(const FewChannelConvolutionCase& c) {
  Convolution op;
  op.output_channels = c.output_channels;
  op.kernel = c.kernel;
  op.stride = c.stride;
  op.dilation = c.dilation;
  op.pre_padding = c.pre;
  op.post_padding = c.post;
  return op;
}

LayerTest layer(const FewChannelConvolutionCase& c, Layout layout = Layout::kLinear) {
  return {
      convolution(c),
      {data(c.data, 1, layout), constant({c.output_channels, c.data[1], c.kernel[0], c.kernel[1]}),
       constant({c.output_channels}, 3)}};
}

class FewChannelConvolutionTest : public testing::TestWithParam<FewChannelConvolutionCase> {};

TEST_P(FewChannelConvolutionTest, EqualsReference) {
  for (const Layout layout : {Layout::kLinear, Layout::kBlocked8, Layout::kBlocked16}) {
    LayerTest test = layer(GetParam(), layout);
    ASSERT_EQ(test.offer("few_channel_convolution"), "");
    EXPECT_EQ(test.kernel().input_layouts[0], layout);  // nothing is reordered before it
    expect_close(test.run(), test.reference(), kFewChannelConvolutionTolerance);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, FewChannelConvolutionTest,
    testing::Values(
        FewChannelConvolutionCase{
            "one_output_channel", 1, {7, 3}, {1, 1}, {3, 1}, {3, 1}, {1, 1}, {2, 32, 20, 88}},
        FewChannelConvolutionCase{
            "notes", 8, {3, 39}, {1, 1}, {1, 19}, {1, 19}, {1, 1}, {1, 8, 17, 264}},
        FewChannelConvolutionCase{
            "colours", 3, {5, 5}, {1, 1}, {2, 2}, {2, 2}, {1, 1}, {1, 32, 40, 129}},
        FewChannelConvolutionCase{
            "stem", 64, {9, 9}, {1, 1}, {4, 4}, {4, 4}, {1, 1}, {1, 3, 33, 47}},
        FewChannelConvolutionCase{
            "seven_output_channels", 7, {3, 3}, {2, 1}, {1, 1}, {1, 1}, {1, 1}, {2, 6, 15, 31}},
        FewChannelConvolutionCase{
            "odd_channels", 3, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, {2, 29, 11, 21}},
        FewChannelConvolutionCase{
            "nine_output_channels", 9, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, {1, 32, 9, 40}},
        FewChannelConvolutionCase{
            "two_output_channels", 2, {1, 1}, {1, 1}, {0, 0}, {0, 0}, {1, 1}, {3, 5, 4, 5}},
        FewChannelConvolutionCase{
            "dilated", 4, {3, 3}, {1, 1}, {2, 3}, {2, 3}, {2, 3}, {1, 4, 21, 150}},
        FewChannelConvolutionCase{
            "asymmetric", 5, {3, 4}, {3, 1}, {0, 2}, {2, 1}, {1, 1}, {1, 4, 16, 10}},
        FewChannelConvolutionCase{
            "padding_beyond_data", 4, {2, 2}, {1, 1}, {5, 9}, {5, 9}, {1, 1}, {1, 3, 2, 3}},
        FewChannelConvolutionCase{
            "many_rows", 1, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, {1, 70, 300, 20}},
        FewChannelConvolutionCase{
            "one_column", 6, {3, 1}, {1, 1}, {1, 0}, {1, 0}, {1, 1}, {2, 9, 12, 1}},
        FewChannelConvolutionCase{
            "no_images", 4, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, {0, 8, 5, 6}},
        FewChannelConvolutionCase{
            "no_pixels", 4, {2, 2}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, {1, 3, 0, 4}}),
    [](const auto& i) { return i.param.name; });

TEST(FewChannelConvolutionTest, IsForFewMapsOrChannelsAndAStepOfOne) {
  const FewChannelConvolutionCase wide{"",     13,     {3, 3}, {1, 1},
                                       {1, 1}, {1, 1}, {1, 1}, {1, 5, 8, 8}};
  EXPECT_EQ(layer(wide).offer("few_channel_convolution"),
            "only few input or few output channels are supported");
  const FewChannelConvolutionCase striding{"",     2,      {3, 3}, {1, 2},
                                           {1, 1}, {1, 1}, {1, 1}, {1, 5, 8, 8}};
  EXPECT_THAT(layer(striding).offer("few_channel_convolution"), testing::HasSubstr("stride of 1"));
}

TEST(FewChannelConvolutionTest, RefusesWindowsThatReachFar) {
  const int64_t far = (int64_t{1} << 30) - 1, pad = int64_t{1} << 29;
  const FewChannelConvolutionCase c{"",         2,          {2, 2},     {1, 1},
                                    {pad, pad}, {pad, pad}, {far, far}, {1, 4, 1, 1}};
  EXPECT_THAT(layer(c).offer("few_channel_convolution"), testing::HasSubstr("reach up to 1024"));
#ifdef TENON_ONEDNN
  EXPECT_THAT(layer(c).offer("onednn_convolution"), testing::HasSubstr("up to 32768 elements"));
#endif
}

TEST(FewChannelConvolutionTest, OtherShapesWithTheSameKernel) {
  const FewChannelConvolutionCase c{"", 3, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, {1, 5, 56, 56}};
  LayerTest test = layer(c);
  ASSERT_EQ(test.offer("few_channel_convolution"), "");
  for (const Shape& shape : {Shape{4, 5, 7, 5}, Shape{1, 5, 1, 1}, Shape{3, 5, 33, 170}}) {
    test.set_inputs({data(shape, 7), constant({3, 5, 3, 3}), constant({3})});
    expect_close(test.run(), test.reference(), kFewChannelConvolutionTolerance);
  }
}

}  // namespace
}  // namespace tenon::cpu
