// The layouts that convolutions ask for have more than a reference implementation.
#include "backend/testing.h"
#include "cpu/onednn/library.h"
#include "ops/convolution.h"

namespace tenon::cpu {
namespace {

struct OnednnLayoutsCase {
  const char* name;
  Shape data;
  int64_t output_channels;
  Shape kernel, stride, padding;
};

class LayoutsTest : public testing::TestWithParam<OnednnLayoutsCase> {};

TEST_P(LayoutsTest, HaveCode) {
  const auto& [name, shape, output_channels, kernel, stride, padding] = GetParam();
  Convolution op;
  op.output_channels = output_channels;
  op.kernel = kernel;
  op.stride = stride;
  op.dilation = {1, 1};
  op.pre_padding = op.post_padding = padding;
  const Shape weights = {output_channels, shape[1], kernel[0], kernel[1]};
  for (const Layout arrives : {Layout::kLinear, Layout::kChannelsLast}) {
    LayerTest test(op,
                   {data(shape, 1, arrives), constant(weights), constant({output_channels}, 3)});
    ASSERT_EQ(test.offer("onednn_convolution"), "");
    expect_close(test.run(), test.reference(), 4e-6);
    using Primitive = dnnl::convolution_forward;
    const auto description = onednn::call("convolution", [&] {
      return Primitive::primitive_desc(
          Primitive::desc(dnnl::prop_kind::forward_inference, dnnl::algorithm::convolution_direct,
                          onednn::desc_of(shape, test.kernel().input_layouts[0]),
                          dnnl::memory::desc(onednn::dims_of(weights), dnnl::memory::data_type::f32,
                                             dnnl::memory::format_tag::any),
                          onednn::desc_of({output_channels}, Layout::kLinear),
                          onednn::desc_of(test.output_shape(), test.kernel().output_layouts[0]),
                          onednn::dims_of(stride), onednn::dims_of(padding),
                          onednn::dims_of(padding)),
          onednn::engine());
    });
    EXPECT_THAT(description.impl_info_str(), testing::Not(testing::StartsWith("ref")));
  }
}

// Data of one channel lies the same in two layouts: oneDNN prefers one, and has code for it only
// where the result's layout matches. These are of networks that hear speech and notes.
INSTANTIATE_TEST_SUITE_P(
    Shapes, LayoutsTest,
    testing::Values(OnednnLayoutsCase{"spectrum", {1, 1, 832, 1}, 258, {256, 1}, {128, 1}, {0, 0}},
                    OnednnLayoutsCase{"wavelets", {2, 1, 1, 427}, 36, {1, 256}, {1, 1}, {0, 0}},
                    OnednnLayoutsCase{"notes", {2, 1, 40, 64}, 32, {7, 7}, {1, 3}, {3, 2}},
                    OnednnLayoutsCase{"short_line", {1, 64, 2, 1}, 64, {3, 1}, {2, 1}, {1, 0}},
                    OnednnLayoutsCase{"one_pixel", {1, 128, 1, 1}, 1, {1, 1}, {1, 1}, {0, 0}}),
    [](const auto& i) { return i.param.name; });

// So that nothing is reordered beside kernels of our own, which have blocks.
TEST(BlocksTest, OfChannelsAreThoseOfTheOtherKernels) {
  for (const Layout arrives : {Layout::kLinear, Layout::kChannelsLast, onednn::preferred_blocked()})
    for (const int64_t channels : {64, 3}) {
      Convolution op;
      op.output_channels = 32;
      op.kernel = {3, 3};
      op.stride = {2, 2};
      op.dilation = op.pre_padding = op.post_padding = {1, 1};
      LayerTest test(op, {data({1, channels, 20, 20}, 1, arrives), constant({32, channels, 3, 3}),
                          constant({32}, 3)});
      ASSERT_EQ(test.offer("onednn_convolution"), "");
      const Layout blocked = onednn::preferred_blocked();
      // Three channels would be mostly padding.
      EXPECT_EQ(test.kernel().input_layouts[0] == blocked, channels == 64);
      EXPECT_TRUE(channels != 64 || test.kernel().output_layouts[0] == blocked);
    }
}

TEST(ColumnsTest, AreOfferedToTheProductFirst) {
  Convolution op;
  op.output_channels = 24;
  op.kernel = {5, 1};
  op.stride = op.dilation = {1, 1};
  op.pre_padding = op.post_padding = {2, 0};
  LayerTest column(op, {data({2, 12, 50, 1}), constant({24, 12, 5, 1}), constant({24})});
  ASSERT_EQ(column.offer("line_convolution"), "");
  expect_close(column.run(), column.reference(), 4e-6);
  ASSERT_EQ(column.offer("onednn_convolution"), "");
  expect_close(column.run(), column.reference(), 4e-6);
  // Weights were packed for columns.
  for (const Shape& shape : {Shape{1, 12, 50, 2}, Shape{3, 12, 7, 1}}) {
    column.set_inputs({data(shape, 4), constant({24, 12, 5, 1}), constant({24})});
    expect_close(column.run(), column.reference(), 4e-6);
  }
  // A square kernel looks the same turned.
  op.kernel = {3, 3};
  op.pre_padding = op.post_padding = {1, 1};
  for (const int64_t width : {16, 1}) {
    LayerTest square(op, {data({1, 12, 50, width}), constant({24, 12, 3, 3}), constant({24})});
    ASSERT_EQ(square.offer("onednn_convolution"), "");
    for (const int64_t other : {1, 16}) {
      square.set_inputs({data({1, 12, 50, other}, 4), constant({24, 12, 3, 3}), constant({24})});
      expect_close(square.run(), square.reference(), 4e-6);
    }
  }
  op.kernel = {5, 1};
  op.pre_padding = op.post_padding = {2, 0};
  for (const Shape& shape : {Shape{1, 12, 50, 2}, Shape{1, 12, 15, 1}}) {
    LayerTest other(op, {data(shape), constant({24, 12, 5, 1}), constant({24})});
    EXPECT_THAT(other.offer("line_convolution"), testing::HasSubstr("rows of one pixel"));
  }
}

}  // namespace
}  // namespace tenon::cpu
