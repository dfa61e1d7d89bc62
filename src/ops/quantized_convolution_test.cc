#include "ops/quantized_convolution.h"

#include "ops/op_test.h"

namespace tenon {
namespace {

using namespace testing;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

QuantizedConvolution plain(int64_t output_channels) {
  QuantizedConvolution op;
  op.output_channels = output_channels;
  op.kernel = op.stride = op.dilation = Shape{1, 1};
  op.pre_padding = op.post_padding = Shape{0, 0};
  return op;
}

TEST(QuantizedConvolution, AgreesWithOnnxRuntime) {
  run_cases("quantized_convolution");
}

// The extremes of both types, with zero points at the other end: 512 products of 255 * 255.
TEST(QuantizedConvolution, SumsAreExact) {
  Tensor x(DataType::kUINT8, {1, 512, 1, 1}), w(DataType::kUINT8, {1, 512, 1, 1});
  std::fill_n(x.mutable_data<uint8_t>(), 512, 255);
  std::fill_n(w.mutable_data<uint8_t>(), 512, 0);
  const auto y = run(plain(1), {input(x), input(w), input(make<uint8_t>({}, {0})),
                                input(make<uint8_t>({}, {255}))});
  EXPECT_THAT(y[0].integers(), ElementsAre(-512 * 255 * 255));
}

TEST(QuantizedConvolution, BiasScaleAndFloats) {
  auto op = plain(2);
  op.to = DataType::kFLOAT;
  const auto x = make<int8_t>({1, 1, 1, 2}, {3, -4});
  const auto w = make<int8_t>({2, 1, 1, 1}, {2, 5});
  EXPECT_THAT(run(op, {input(x), input(w), std::nullopt, std::nullopt,
                       input(make<int32_t>({2}, {1, -1})), input(make<float>({2}, {0.5f, 2}))})[0]
                  .numbers(),
              ElementsAre(3.5, -3.5, 28, -42));
}

// (product - 2) * 0.5 + (addend + 1) * 0.25, divided by 0.5, which makes halves, plus 3.
TEST(QuantizedConvolution, SumsAreQuantizedAgain) {
  auto op = plain(1);
  op.to = DataType::kINT8;
  op.sum = {true, 0.5f, 0.25f, 0.5f, -1, 3, DataType::kUINT8};
  const auto x = make<int8_t>({1, 1, 1, 6}, {0, 1, 0, -128, 125, 5});
  const auto w = make<int8_t>({1, 1, 1, 1}, {1}), zero = make<int8_t>({}, {2});
  const auto addend = make<int8_t>({1, 1, 1, 6}, {0, 0, -4, -128, 127, 126});
  const auto none = std::nullopt;
  EXPECT_THAT(
      run(op, {input(x), input(w), none, none, none, none, input(zero), none, input(addend)})[0]
          .numbers(),
      ElementsAre(3, 5, 1, 0, 192, 71));
}

// Of what the convolution gives, and of the sum: as above, 2 to 126, then 2 to 100.
TEST(QuantizedConvolution, BoundsOfResults) {
  auto op = plain(1);
  op.to = DataType::kINT8;
  const auto x = make<int8_t>({1, 1, 1, 6}, {0, 1, 0, -128, 127, 5});
  const auto w = make<int8_t>({1, 1, 1, 1}, {1}), zero = make<int8_t>({}, {2});
  const auto addend = make<int8_t>({1, 1, 1, 6}, {0, 0, -4, -128, 127, 126});
  const auto none = std::nullopt;
  op.bounds = {2, 126};
  EXPECT_THAT(run(op, {input(x), input(w), none, none, none, none, input(zero)})[0].numbers(),
              ElementsAre(2, 3, 2, 2, 126, 7));
  op.sum = {true, 0.5f, 0.25f, 0.5f, -1, 3, DataType::kUINT8, {2, 100}};
  EXPECT_THAT(
      run(op, {input(x), input(w), none, none, none, none, input(zero), none, input(addend)})[0]
          .numbers(),
      ElementsAre(3, 5, 2, 2, 100, 71));
}

// Data times 0.5, less 0.25; the result's zero point is 2.
std::vector<std::optional<Given>> halves_less_a_quarter(Tensor data) {
  const auto none = std::nullopt;
  return {input(std::move(data)),
          input(make<int8_t>({1, 1, 1, 1}, {1})),
          none,
          none,
          none,
          input(make<float>({}, {0.5f})),
          input(make<int8_t>({}, {2})),
          input(make<float>({}, {-0.25f}))};
}

// Numbers as above, times 0.5 less 0.25: a negative one becomes -0.125 of itself, and all are
// doubled; plus 2.
TEST(QuantizedConvolution, EpiloguesAreOfNumbersBeforeTheyAreRounded) {
  using Family = PointwiseStep::Family;
  auto op = plain(1);
  op.to = DataType::kINT8;
  op.epilogue = {
      1,
      {2},
      {{Family::kActivation, static_cast<int32_t>(nvinfer1::ActivationType::kLEAKY_RELU), 0, -1,
        -0.125f},
       {Family::kElementWise, static_cast<int32_t>(nvinfer1::ElementWiseOperation::kPROD), 2, 1}}};
  const auto in = halves_less_a_quarter(make<int8_t>({1, 1, 1, 6}, {0, 1, 3, -128, 127, 5}));
  EXPECT_THAT(run(op, in)[0].numbers(), ElementsAre(2, 2, 4, 18, 127, 6));
  op.to = DataType::kFLOAT;
  EXPECT_THAT(infer_error(op, {in[0], in[1]}),
              HasSubstr("a result of int8, uint8 or fp8 without bounds were expected"));
}

// As above without doubling, plus (byte - 4) * 0.5 of the last input, all rounded; plus 2.
TEST(QuantizedConvolution, EpiloguesReadBytes) {
  using Family = PointwiseStep::Family;
  auto op = plain(1);
  op.to = DataType::kINT8;
  op.epilogue = {
      2,
      {},
      {{Family::kElementWise, static_cast<int32_t>(nvinfer1::ElementWiseOperation::kSUM), 0, 1}}};
  op.operand = {0.5f, 4};
  auto in = halves_less_a_quarter(make<int8_t>({1, 1, 1, 4}, {0, 1, 3, 127}));
  in.push_back(input(make<uint8_t>({1, 1, 1, 4}, {4, 14, 0, 255})));
  // -0.25 + 0, 0.25 + 5, 1.25 - 2, 63.25 + 125.5
  EXPECT_THAT(run(op, in)[0].numbers(), ElementsAre(2, 7, 1, 127));
  in.back() = input(make<uint8_t>({1, 1, 1, 3}, {4, 14, 0}));
  EXPECT_THAT(infer_error(op, in), HasSubstr("expected an addend (input 8) of shape"));
  in.pop_back();
  EXPECT_THAT(infer_error(op, in), HasSubstr("expected an addend (input 8)"));
}

TEST(QuantizedConvolution, BoundsAreOfTheType) {
  auto op = plain(1);
  const auto x = input(make<int8_t>({1, 1, 1, 2}, {3, -4})),
             w = input(make<int8_t>({1, 1, 1, 1}, {1}));
  op.bounds = {0, 127};
  EXPECT_THAT(infer_error(op, {x, w}), HasSubstr("only results of int8 and uint8 have bounds"));
  op.to = DataType::kINT8;
  op.bounds = {0, 128};
  EXPECT_THAT(infer_error(op, {x, w}),
              HasSubstr("bounds of the result from -128 to 127, found 0 and 128"));
}

TEST(QuantizedConvolution, AddendsAreBytesOfTheSameShape) {
  auto op = plain(1);
  op.to = DataType::kINT8;
  op.sum.used = true;
  const auto x = input(make<int8_t>({1, 1, 1, 2}, {3, -4})),
             w = input(make<int8_t>({1, 1, 1, 1}, {1}));
  const auto none = std::nullopt;
  EXPECT_THAT(infer_error(op, {x, w, none, none, none, none, none, none, x}), ::testing::IsEmpty());
  EXPECT_THAT(infer_error(op, {x, w, none, none, none, none, none, none,
                               input(make<int8_t>({1, 1, 2, 1}, {3, -4}))}),
              HasSubstr("expected an addend (input 8) of shape 1x1x1x2, found 1x1x2x1"));
  EXPECT_THAT(infer_error(op, {x, w}), HasSubstr("expected an addend (input 8)"));
  op.to = DataType::kFLOAT;
  EXPECT_THAT(infer_error(op, {x, w, none, none, none, none, none, none, x}),
              HasSubstr("found float32, int8 and int8"));
}

TEST(QuantizedConvolution, ErrorsSayWhatIsWrong) {
  auto op = plain(2);
  const auto x = input(make<int8_t>({1, 1, 1, 2}, {3, -4}));
  const auto w = input(make<int8_t>({2, 1, 1, 1}, {2, 5}));
  EXPECT_THAT(infer_error(op, {x, input(make<int8_t>({1, 1, 1, 1}, {2}))}),
              HasSubstr("expected weights (input 1) of shape 2x1x1x1, found 1x1x1x1"));
  EXPECT_THAT(infer_error(op, {input(make<float>({1, 1, 1, 1}, {3})), w}),
              HasSubstr("expected data (input 0) of type int8 or uint8, found float32"));
  EXPECT_THAT(infer_error(op, {x, w, input(make<uint8_t>({}, {3}))}),
              HasSubstr("zero point (input 2) of type int8, found uint8"));
  EXPECT_THAT(infer_error(op, {x, w, std::nullopt, input(make<int8_t>({3}, {3, 1, 2}))}),
              HasSubstr("expected 1 or 2 elements in the weights' zero points (input 3), found 3"));
  op.groups = 3;
  EXPECT_THAT(infer_error(op, {x, w}), HasSubstr("2 output channels and 3 groups"));
}

}  // namespace
}  // namespace tenon
