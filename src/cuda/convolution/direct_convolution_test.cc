#include "cuda/convolution/sliding_testing.h"

namespace tenon::cuda {
namespace {

template <class Op> void check_all_direct(const std::vector<SlidingCase<Op>>& cases) {
  for (const auto& [name, op, shape] : cases)
    for (const DataType type : kFloatTypes)
      for (const Layout layout : kLayouts) {
        SCOPED_TRACE(fmt::format("{} {} {}", name, name_of(type), name_of(layout)));
        LayerTest test = layer(op, type, shape, layout);
        ASSERT_EQ(test.offer("direct_convolution"), "");
        expect_close(test.run(), test.reference(), tolerance(type));
      }
}

TEST(DirectConvolutionTest, EqualsReference) {
  check_all_direct(convolution_cases());
}

TEST(DirectConvolutionTest, TransposedEqualsReference) {
  check_all_direct(deconvolution_cases());
  check_all_direct<Deconvolution>({far_output_padding()});
}

TEST(DirectConvolutionTest, RunsAnyEpilogue) {
  Convolution op = sliding(6, {3, 3}, {1, 1}, {1, 1});
  op.epilogue = {
      4,
      {0.5f},
      {binary(ElementWiseOperation::kPROD, 0, 2), binary(ElementWiseOperation::kSUM, 5, 1),
       activation(ActivationType::kSOFTSIGN, 6), binary(ElementWiseOperation::kMAX, 7, 3),
       binary(ElementWiseOperation::kSUB, 8, 4)}};
  for (const Layout layout : kLayouts)
    for (const DataType type : kFloatTypes) {
      LayerTest test =
          layer(op, type, {2, 4, 5, 7}, layout, {{2, 6, 5, 7}, {1, 6, 1, 1}, {2, 1, 5, 1}});
      ASSERT_EQ(test.offer("direct_convolution"), "");
      expect_close(test.run(), test.reference(), tolerance(type));
    }
}

TEST(DirectConvolutionTest, WithoutBiasAndWithComputedWeights) {
  const Convolution op = sliding(18, {3, 3}, {1, 1}, {1, 1});
  LayerTest test(op, {data({1, 16, 9, 9}), data({18, 16, 3, 3}, 5), absent()}, cuda_target());
  ASSERT_EQ(test.offer("direct_convolution"), "");
  expect_close(test.run(), test.reference(), tolerance(DataType::kFLOAT));
}

}  // namespace
}  // namespace tenon::cuda
