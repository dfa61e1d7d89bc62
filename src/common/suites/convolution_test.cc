// Convolutions and deconvolutions of floats against the reference, on the target that is tested.
#include "common/convolution_testing.h"
#include "common/suites/epilogue_testing.h"
#include "common/suites/float_types_testing.h"

namespace tenon {
namespace {

using nvinfer1::ActivationType;

// Winograd's transforms add roundings to those of a sum in another order.
double convolution_tolerance(DataType type) {
  return 2 * tolerance_of(type);
}

template <class Op> struct FloatCase {
  Op op;
  Shape data;
};

const FloatCase<Convolution> kConvolutionCases[] = {
    {sliding(16, {3, 3}, {1, 1}, {1, 1}), {2, 8, 9, 11}},
    {sliding(32, {3, 3}, {2, 2}, {1, 1}), {1, 16, 10, 9}},
    {sliding(8, {7, 7}, {2, 2}, {3, 3}), {1, 3, 17, 15}},
    {sliding(5, {5, 3}, {1, 2}, {2, 0}), {2, 7, 9, 8}},
    {sliding(24, {1, 1}, {1, 1}, {0, 0}), {3, 40, 5, 7}},
    {sliding(24, {1, 1}, {2, 2}, {0, 0}), {1, 16, 8, 6}},
    {sliding(12, {3, 3}, {1, 1}, {1, 1}, 4), {1, 8, 7, 6}},
    {sliding(16, {3, 3}, {1, 1}, {1, 1}, 16), {2, 16, 9, 9}},  // depthwise
    {sliding(32, {5, 5}, {2, 2}, {2, 2}, 16), {1, 16, 11, 9}},
    {with(sliding(16, {3, 3}, {1, 1}, {2, 2}), [](Convolution& op) { op.dilation = {2, 2}; }),
     {1, 16, 9, 12}},
    {with(sliding(4, {3, 3}, {1, 1}, {0, 0}),
          [](Convolution& op) {
            op.pre_padding = {0, 2};
            op.post_padding = {1, 0};
          }),
     {1, 5, 6, 7}},
    {sliding(1, {3, 3}, {1, 1}, {1, 1}), {1, 1, 5, 5}},
    {sliding(8, {2, 3, 3}, {1, 2, 1}, {0, 1, 1}), {1, 4, 5, 6, 7}},
    {sliding(8, {3, 3}, {1, 1}, {1, 1}), {0, 4, 5, 5}},
};

const FloatCase<Deconvolution> kDeconvolutionCases[] = {
    {sliding<Deconvolution>(16, {4, 4}, {2, 2}, {1, 1}), {2, 8, 5, 6}},
    {sliding<Deconvolution>(8, {2, 2}, {2, 2}, {0, 0}), {1, 16, 7, 5}},
    {sliding<Deconvolution>(5, {3, 3}, {1, 1}, {1, 1}), {1, 7, 6, 9}},
    {sliding<Deconvolution>(3, {5, 3}, {3, 2}, {2, 0}), {1, 4, 4, 5}},
    {sliding<Deconvolution>(8, {3, 3}, {2, 2}, {1, 1}, 4), {1, 8, 5, 5}},
    {with(sliding<Deconvolution>(4, {3, 3}, {1, 1}, {0, 0}),
          [](Deconvolution& op) { op.dilation = {2, 1}; }),
     {1, 6, 5, 4}},
    {sliding<Deconvolution>(4, {2, 3, 2}, {2, 1, 2}, {0, 1, 0}), {1, 5, 3, 4, 5}},
};

template <class Op> void expect_equal_to_reference(const FloatCase<Op>& c) {
  for (const DataType type : kFloatTypes)
    for (const bool has_bias : {true, false}) {
      SCOPED_TRACE(
          fmt::format("{} by {} of {}, bias {}", c.data, c.op.kernel, name_of(type), has_bias));
      expect_as_reference(c.op, in_type(type, inputs_of(c.op, c.data, has_bias)),
                          convolution_tolerance(type));
    }
}

TEST(FloatConvolutionTest, EqualsReference) {
  for (const auto& c : kConvolutionCases) expect_equal_to_reference(c);
}

TEST(FloatDeconvolutionTest, EqualsReference) {
  for (const auto& c : kDeconvolutionCases) expect_equal_to_reference(c);
}

TEST(FloatConvolutionTest, TakesEveryLayout) {
  const Convolution op = sliding(16, {3, 3}, {1, 1}, {1, 1});
  for (const Layout layout : tested().layouts) {
    SCOPED_TRACE(name_of(layout));
    expect_as_reference(op, inputs_of(op, {2, 16, 7, 9}, true, layout),
                        convolution_tolerance(DataType::kFLOAT));
  }
}

// A residual connection and its activation, behind windows that several kernels compute.
TEST(FloatConvolutionTest, ComputesEpilogues) {
  for (const Convolution& window : {one_element(16), sliding(16, {3, 3}, {1, 1}, {1, 1}),
                                    sliding(16, {3, 3}, {1, 1}, {1, 1}, 16)})
    for (const DataType type : kFloatTypes)
      for (const bool adds : {false, true})
        for (const ActivationType activation :
             {ActivationType::kRELU, ActivationType::kSIGMOID, ActivationType::kGELU_ERF}) {
          Convolution op = window;
          op.epilogue = sum_and_activation(adds, activation);
          SCOPED_TRACE(fmt::format("{} of {}, groups {}, adds {}, activation {}", op.kernel,
                                   name_of(type), op.groups, adds, static_cast<int>(activation)));
          auto inputs = inputs_of(op, {1, 16, 8, 9});
          if (adds) inputs.push_back(data({1, 16, 8, 9}, 5));
          expect_as_reference(op, in_type(type, std::move(inputs)), convolution_tolerance(type));
        }
}

}  // namespace
}  // namespace tenon
