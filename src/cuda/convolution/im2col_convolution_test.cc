#include "cuda/convolution/sliding_testing.h"

namespace tenon::cuda {
namespace {

void check_im2col(LayerTest& test, DataType type) {
  ASSERT_EQ(test.offer("im2col_convolution"), "");
  const Tensor expected = test.reference(), actual = test.run();
  expect_close(actual, expected, tolerance(type));
  expect_identical(test.run(*test.load(test.stored())), actual);
  for (const auto& other : test.kernel().variants()) {
    SCOPED_TRACE(other->variant);
    expect_close(test.run(*other), expected, tolerance(type));
  }
}

TEST(Im2colConvolutionTest, EqualsReference) {
  const std::vector<SlidingCase<Convolution>> cases = {
      {"stem", sliding(64, {7, 7}, {2, 2}, {3, 3}), {2, 3, 37, 41}},
      {"small_stem", sliding(32, {3, 3}, {2, 2}, {1, 1}), {3, 3, 24, 30}},
      {"one_channel", sliding(8, {5, 3}, {1, 2}, {2, 0}), {1, 1, 9, 8}},
      {"dilated",
       with(sliding(72, {3, 3}, {1, 1}, {2, 2}), [](auto& op) { op.dilation = {2, 2}; }),
       {1, 4, 11, 12}},
      {"same_upper",
       with(sliding(16, {3, 3}, {2, 2}, {0, 0}),
            [](auto& op) { op.padding_mode = nvinfer1::PaddingMode::kSAME_UPPER; }),
       {1, 3, 12, 12}},
      {"windows side by side", sliding(40, {4, 4}, {4, 4}, {0, 0}), {2, 3, 16, 20}},
  };
  for (const auto& [name, op, shape] : cases)
    for (const DataType type : {DataType::kHALF, DataType::kBF16})
      for (const Layout layout : kLayouts) {
        SCOPED_TRACE(fmt::format("{} {} {}", name, name_of(type), name_of(layout)));
        LayerTest test = layer(op, type, shape, layout);
        check_im2col(test, type);
      }
}

TEST(Im2colConvolutionTest, GathersInParts) {
  Convolution op = sliding(8, {7, 7}, {1, 1}, {3, 3});
  op.epilogue = {
      2,
      {},
      {binary(ElementWiseOperation::kSUM, 0, 1), activation(ActivationType::kCLIP, 2, 0, 6)}};
  // 58081 rows of 304 bytes are more than a part.
  LayerTest test =
      layer(op, DataType::kHALF, {1, 3, 241, 241}, Layout::kLinear, {{1, 8, 241, 241}});
  check_im2col(test, DataType::kHALF);
}

TEST(Im2colConvolutionTest, OthersAreLeftToOthers) {
  LayerTest test =
      layer(sliding(16, {3, 3}, {1, 1}, {1, 1}), DataType::kHALF, {1, 16, 9, 9}, Layout::kLinear);
  EXPECT_THAT(test.offer("im2col_convolution"), testing::HasSubstr("up to 4 channels"));
}

}  // namespace
}  // namespace tenon::cuda
