// Our convolution of integers against the reference: every bit.
#include <cmath>
#include <limits>

#include "base/parallel.h"
#include "common/convolution_testing.h"
#include "cpu/convolution/integer_testing.h"
#include "cpu/kernels.h"
#include "cpu/simd/byte_product.h"
#include "ops/quantize.h"

namespace tenon::cpu {
namespace {

constexpr std::string_view kIntegerConvolutionCandidate = "integer_convolution";

struct IntegerConvolutionCase {
  Shape data;
  int64_t output_channels;
  Shape kernel, pre, post, stride, dilation;
};

// Segments and panels that are full and not; windows that overlap, touch and lie apart along each
// axis, and beyond each side; one row; several tasks.
const IntegerConvolutionCase kIntegerConvolutionCases[] = {
    {{1, 3, 9, 7}, 5, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}},
    {{2, 64, 6, 5}, 96, {1, 1}, {0, 0}, {0, 0}, {1, 1}, {1, 1}},
    {{1, 70, 8, 8}, 33, {3, 3}, {2, 0}, {1, 3}, {2, 1}, {1, 1}},
    {{1, 8, 9, 11}, 16, {3, 2}, {1, 2}, {2, 1}, {1, 2}, {2, 3}},
    {{1, 1, 5, 3}, 2, {7, 7}, {3, 3}, {3, 3}, {1, 1}, {1, 1}},
    {{2, 3, 23, 43}, 32, {7, 7}, {3, 3}, {3, 3}, {2, 2}, {1, 1}},
    {{1, 16, 7, 20}, 5, {2, 4}, {0, 0}, {0, 0}, {1, 1}, {2, 1}},
    {{0, 3, 9, 7}, 5, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}},
    {{1, 1, 5, 6}, 3, {1, 1}, {0, 0}, {0, 0}, {1, 1}, {1, 1}},
    {{1, 2, 5, 6}, 3, {1, 1}, {0, 0}, {0, 0}, {1, 1}, {1, 1}},
    {{1, 1, 5, 6}, 3, {2, 2}, {0, 0}, {0, 0}, {1, 1}, {1, 1}},
    {{3, 16, 31, 29}, 48, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}},
    {{1, 300, 7, 7}, 64, {3, 3}, {1, 1}, {1, 1}, {2, 2}, {1, 1}},
    {{2, 5, 9, 8}, 3, {1, 1}, {1, 0}, {0, 2}, {2, 3}, {1, 1}},
    {{2, 6, 1, 90}, 4, {1, 3}, {0, 1}, {0, 1}, {1, 1}, {1, 1}},
    {{1, 2, 11, 10}, 4, {2, 2}, {1, 0}, {2, 1}, {3, 2}, {1, 1}},
    {{1, 3, 1, 1}, 4, {3, 3}, {40, 30}, {40, 30}, {20, 15}, {20, 15}}};

QuantizedConvolution op_of(const IntegerConvolutionCase& c, DataType to) {
  auto op = integer_convolution(c.output_channels, c.kernel, 1);
  op.to = to;
  op.pre_padding = c.pre;
  op.post_padding = c.post;
  op.stride = c.stride;
  op.dilation = c.dilation;
  return op;
}

Shape weights_of(const IntegerConvolutionCase& c) {
  return {c.output_channels, c.data[1], c.kernel[0], c.kernel[1]};
}

Shape result_of(const IntegerConvolutionCase& c) {
  Shape result{c.data[0], c.output_channels};
  for (int i = 0; i < 2; ++i)
    result.push_back((c.data[i + 2] + c.pre[i] + c.post[i] - c.dilation[i] * (c.kernel[i] - 1) - 1)
                         / c.stride[i]
                     + 1);
  return result;
}

TEST(IntegerConvolutionKernelTest, GivesEveryBit) {
  if (byte_product_kernels() == nullptr) GTEST_SKIP() << "no AVX2";
  for (const IntegerConvolutionCase& c : kIntegerConvolutionCases)
    for (const Types& t : all_types())
      for (const Zeros zeros : {Zeros::kNone, Zeros::kOne, Zeros::kEach}) {
        SCOPED_TRACE(fmt::format("{} {} {} {} {}", c.data, c.kernel, name_of(t.data), name_of(t.to),
                                 static_cast<int>(zeros)));
        const auto in = operands(t, bytes(t.data, c.data), bytes(t.weights, weights_of(c)),
                                 c.output_channels, zeros);
        expect_exact(op_of(c, t.to), in, kIntegerConvolutionCandidate);
        if (::testing::Test::HasFailure()) return;
      }
}

TEST(IntegerConvolutionKernelTest, SumsGiveEveryBit) {
  if (byte_product_kernels() == nullptr) GTEST_SKIP() << "no AVX2";
  constexpr DataType kBytes[] = {DataType::kINT8, DataType::kUINT8};
  for (const IntegerConvolutionCase& c : kIntegerConvolutionCases)
    for (const DataType to : kBytes)
      for (const DataType addend : kBytes)
        for (const DataType sum_to : kBytes) {
          SCOPED_TRACE(
              fmt::format("{} {} {} {}", c.data, name_of(to), name_of(addend), name_of(sum_to)));
          const Types t{DataType::kUINT8, DataType::kINT8, to};
          auto in = operands(t, bytes(t.data, c.data), bytes(t.weights, weights_of(c)),
                             c.output_channels, Zeros::kEach);
          in[In::kWeightsZero].reset();
          QuantizedConvolution op = op_of(c, to);
          // Scales of powers of two make many halves; those of Layer's operands make products of
          // all sizes.
          op.sum = {true, 0.5f, 0.25f, 1.f, addend == DataType::kINT8 ? -3 : 130, 7, sum_to};
          in.emplace_back(bytes(addend, result_of(c)));
          expect_exact(op, in, kIntegerConvolutionCandidate);
          op.sum.product_scale = 0.013f;
          op.sum.scale = 0.0171f;
          expect_exact(op, in, kIntegerConvolutionCandidate);
          if (::testing::Test::HasFailure()) return;
        }
}

// Of a panel that is not full, only the bytes of its channels are read.
TEST(IntegerDepthwiseKernelTest, GivesEveryBitOfFewChannels) {
  if (byte_product_kernels() == nullptr) GTEST_SKIP() << "no AVX2";
  for (const int64_t channels : {2, 3, 4, 6, 7, 8, 9, 12, 15, 16, 17, 20, 24, 29, 31}) {
    SCOPED_TRACE(channels);
    const IntegerConvolutionCase c{
        {1, channels, 5, 4}, channels, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}};
    const Types t{DataType::kUINT8, DataType::kINT8, DataType::kINT8};
    auto op = op_of(c, t.to);
    op.groups = channels;
    for (const Zeros zeros : {Zeros::kNone, Zeros::kEach})
      expect_exact(op,
                   operands(t, bytes(t.data, c.data), bytes(t.weights, Shape{channels, 1, 3, 3}),
                            channels, zeros),
                   "integer_depthwise");
  }
}

// Panels that are full, half and not, padding that is wider than the data, strides and dilations.
TEST(IntegerDepthwiseKernelTest, GivesEveryBit) {
  if (byte_product_kernels() == nullptr) GTEST_SKIP() << "no AVX2";
  const IntegerConvolutionCase cases[] = {
      {{2, 32, 9, 8}, 32, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}},
      {{1, 32, 4, 7}, 32, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}},  // pairs of pixels, and one
      {{1, 32, 4, 1}, 32, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}},
      {{1, 75, 14, 13}, 75, {3, 3}, {0, 1}, {1, 1}, {2, 2}, {1, 1}},
      {{1, 5, 9, 11}, 5, {5, 2}, {6, 0}, {3, 4}, {1, 2}, {2, 3}},
      {{1, 64, 6, 9}, 64, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}},
      {{1, 96, 7, 9}, 96, {3, 3}, {1, 1}, {1, 1}, {2, 2}, {1, 1}},
      {{1, 144, 4, 6}, 144, {5, 5}, {2, 2}, {2, 2}, {1, 1}, {1, 1}},
      {{1, 40, 3, 7}, 40, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}},
      {{1, 128, 2, 9}, 128, {2, 3}, {0, 0}, {0, 0}, {1, 1}, {1, 1}},
      {{0, 16, 9, 8}, 16, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}}};
  for (const IntegerConvolutionCase& c : cases)
    for (const Types& t : all_types())
      for (const Zeros zeros : {Zeros::kNone, Zeros::kOne, Zeros::kEach}) {
        SCOPED_TRACE(fmt::format("{} {} {} {} {}", c.data, name_of(t.data), name_of(t.weights),
                                 name_of(t.to), static_cast<int>(zeros)));
        auto op = op_of(c, t.to);
        op.groups = c.output_channels;
        op.bounds = bounds_for(t.to, zeros);
        const Shape weights{c.output_channels, 1, c.kernel[0], c.kernel[1]};
        expect_exact(
            op,
            operands(t, bytes(t.data, c.data), bytes(t.weights, weights), c.output_channels, zeros),
            "integer_depthwise");
        if (::testing::Test::HasFailure()) return;
      }
}

TEST(IntegerDepthwiseKernelTest, RefusesOthers) {
  if (byte_product_kernels() == nullptr) GTEST_SKIP() << "no AVX2";
  const IntegerConvolutionCase c{{1, 32, 5, 5}, 16, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}};
  const Types t{DataType::kINT8, DataType::kINT8, DataType::kINT8};
  auto op = op_of(c, t.to);
  op.groups = 16;  // of two channels each
  Layer layer(op,
              operands(t, bytes(t.data, c.data), bytes(t.weights, {16, 2, 3, 3}), 16, Zeros::kNone),
              std::vector<bool>(In::kCount, true));
  EXPECT_EQ(layer.offer("integer_depthwise"),
            "only two spatial axes and a group for each channel are supported");
}

TEST(IntegerConvolutionKernelTest, EpiloguesAreComputedOfTheNumbers) {
  if (byte_product_kernels() == nullptr) GTEST_SKIP() << "no AVX2";
  // One panel and several, rows that are divided and not, and windows that are one row of pixels.
  const IntegerConvolutionCase cases[] = {
      {{2, 19, 9, 8}, 35, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}},
      {{1, 8, 30, 40}, 16, {3, 3}, {1, 1}, {1, 1}, {2, 2}, {1, 1}},
      {{1, 64, 70, 70}, 70, {1, 1}, {0, 0}, {0, 0}, {1, 1}, {1, 1}},
      {{1, 64, 5, 1500}, 2, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}}};
  for (const IntegerConvolutionCase& c : cases)
    for (const DataType to : {DataType::kINT8, DataType::kUINT8}) {
      SCOPED_TRACE(fmt::format("{} {}", c.data, name_of(to)));
      const Types t{DataType::kINT8, DataType::kINT8, to};
      auto in = operands(t, bytes(t.data, c.data), bytes(t.weights, weights_of(c)),
                         c.output_channels, Zeros::kEach);
      in[In::kWeightsZero].reset();
      auto op = op_of(c, to);
      op.epilogue = silu_program();
      std::vector<bool> constant(in.size(), true);
      constant[In::kData] = false;
      Layer layer(op, in, constant);
      ASSERT_EQ(layer.offer(kIntegerConvolutionCandidate), "");
      expect_within_a_step(layer.run(), layer.reference());
      op.epilogue = silu_and_sum_program();
      op.operand = {0.75f, 3};
      in.emplace_back(bytes(to, result_of(c)));
      constant.push_back(false);
      Layer sum(op, in, constant);
      ASSERT_EQ(sum.offer(kIntegerConvolutionCandidate), "");
      expect_within_a_step(sum.run(), sum.reference());
    }
}

// A block is a piece of a row that does not fit the cache.
TEST(IntegerConvolutionKernelTest, WideRowsAreDivided) {
  if (byte_product_kernels() == nullptr) GTEST_SKIP() << "no AVX2";
  const IntegerConvolutionCase c{{1, 64, 5, 1500}, 2, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}};
  const Types t{DataType::kINT8, DataType::kINT8, DataType::kINT8};
  auto in = operands(t, bytes(t.data, c.data), bytes(t.weights, weights_of(c)), c.output_channels,
                     Zeros::kOne);
  in[In::kWeightsZero].reset();
  expect_exact(op_of(c, t.to), in, kIntegerConvolutionCandidate);
}

// A ReLU of signed bytes, an upper bound of unsigned ones, and both.
TEST(IntegerConvolutionKernelTest, BoundsOfTheResultAndOfTheSum) {
  if (byte_product_kernels() == nullptr) GTEST_SKIP() << "no AVX2";
  struct BoundsCase {
    DataType to;
    ResultBounds bounds;
  };
  const BoundsCase cases[] = {
      {DataType::kINT8, {0, 127}}, {DataType::kUINT8, {0, 200}}, {DataType::kINT8, {-5, 90}}};
  const IntegerConvolutionCase c{{2, 19, 9, 8}, 35, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}};
  for (const BoundsCase& first : cases)
    for (const bool adds : {false, true})
      for (const BoundsCase& second : cases) {
        const Types t{DataType::kUINT8, DataType::kINT8, first.to};
        auto in = operands(t, bytes(t.data, c.data), bytes(t.weights, weights_of(c)),
                           c.output_channels, Zeros::kEach);
        in[In::kWeightsZero].reset();
        auto op = op_of(c, t.to);
        op.bounds = first.bounds;
        if (!adds) {
          expect_exact(op, in, kIntegerConvolutionCandidate);
          break;
        }
        in.emplace_back(bytes(DataType::kINT8, result_of(c)));
        op.sum = {true, 0.5f, 0.25f, 1.f, -3, 7, second.to, second.bounds};
        expect_exact(op, in, kIntegerConvolutionCandidate);
        op.sum.product_scale = 0.013f;
        expect_exact(op, in, kIntegerConvolutionCandidate);
        if (::testing::Test::HasFailure()) return;
      }
}

// Scales of networks: the quotients of the scales serve, or numbers beside them, or none do, as
// where many sums lie in the middle of two bytes.
TEST(IntegerConvolutionKernelTest, FastSumsGiveEveryByte) {
  if (byte_product_kernels() == nullptr) GTEST_SKIP() << "no AVX2";
  constexpr int64_t kBytes = 256;
  Tensor data(DataType::kUINT8, {1, 1, kBytes, kBytes});
  Tensor addends(DataType::kUINT8, {1, 1, kBytes, kBytes});
  for (int64_t i = 0; i < data.count(); ++i) {
    data.mutable_data<uint8_t>()[i] = static_cast<uint8_t>(i / kBytes);
    addends.mutable_data<uint8_t>()[i] = static_cast<uint8_t>(i % kBytes);
  }
  std::vector<std::optional<Tensor>> in(In::kCount);
  in[In::kData] = data;
  in[In::kWeights] = Tensor::of<int8_t>(DataType::kINT8, {1, 1, 1, 1}, std::vector<int8_t>{1});
  in.emplace_back(addends);
  QuantizedConvolution op = integer_convolution(1, {1, 1}, 1);
  op.to = DataType::kUINT8;
  const auto expect_bytes = [&](float product, float addend, float scale, bool fast) {
    SCOPED_TRACE(fmt::format("{} {} {}", product, addend, scale));
    op.sum = {true, product, addend, scale, 3, -128, DataType::kINT8};
    EXPECT_EQ(byte_sum(op.sum, DataType::kUINT8).is_fast, fast);
    expect_exact(op, in, kIntegerConvolutionCandidate);
  };
  expect_bytes(.061089508f, .030652359f, .054407019f, true);
  expect_bytes(.39672124f, .31942835f, .3561734f, true);
  expect_bytes(.013f, .017f, .02f, false);
}

// As floats come to bytes: NaN becomes the least one.
TEST(IntegerConvolutionKernelTest, ScalesAndShiftsMayBeAnyFloats) {
  if (byte_product_kernels() == nullptr) GTEST_SKIP() << "no AVX2";
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const std::vector<float> numbers = {std::nanf(""), kInfinity, -kInfinity, 1e30f, -1e30f,
                                      1e10f,         -1e10f,    1e-42f,     0,     -0.5f};
  const auto output_channels = static_cast<int64_t>(numbers.size());
  const IntegerConvolutionCase c{{1, 16, 5, 5}, output_channels, {1, 1}, {0, 0},
                                 {0, 0},        {1, 1},          {1, 1}};
  for (const DataType to : {DataType::kINT8, DataType::kUINT8})
    for (const size_t which : {In::kResultScale, In::kResultShift})
      for (const bool sums : {false, true}) {
        const Types t{DataType::kINT8, DataType::kINT8, to};
        auto in = operands(t, bytes(t.data, c.data), bytes(t.weights, weights_of(c)),
                           output_channels, Zeros::kEach);
        in[In::kWeightsZero].reset();
        in[which] = list(DataType::kFLOAT, numbers);
        QuantizedConvolution op = op_of(c, to);
        if (sums) {
          op.sum = {true, 0.3f, 0.7f, 0.9f, 5, -2, DataType::kINT8};
          in.emplace_back(bytes(DataType::kUINT8, result_of(c)));
        }
        expect_exact(op, in, kIntegerConvolutionCandidate);
      }
}

TEST(IntegerConvolutionKernelTest, TheNumberOfThreadsChangesNothing) {
  if (byte_product_kernels() == nullptr) GTEST_SKIP() << "no AVX2";
  const int before = thread_count();
  for (const int threads : {1, 3, 64})
    for (const IntegerConvolutionCase& c : kIntegerConvolutionCases) {
      SCOPED_TRACE(fmt::format("{} threads, {}", threads, c.data));
      set_thread_count(threads);
      const Types t{DataType::kUINT8, DataType::kINT8, DataType::kINT8};
      auto in = operands(t, bytes(t.data, c.data), bytes(t.weights, weights_of(c)),
                         c.output_channels, Zeros::kEach);
      in[In::kWeightsZero].reset();
      expect_exact(op_of(c, t.to), in, kIntegerConvolutionCandidate);
    }
  set_thread_count(before);
}

// The largest sums there are do not saturate on the way, and halves become even.
TEST(IntegerConvolutionKernelTest, SumsAreExactAndHalvesBecomeEven) {
  if (byte_product_kernels() == nullptr) GTEST_SKIP() << "no AVX2";
  auto op = integer_convolution(1, {1, 1}, 1);
  op.to = DataType::kUINT8;
  std::vector<std::optional<Tensor>> in(In::kCount);
  in[In::kData] = Tensor::of<uint8_t>(
      DataType::kUINT8, {1, 4, 1, 4},
      std::vector<uint8_t>{255, 1, 2, 3, 255, 0, 1, 0, 255, 0, 0, 0, 255, 0, 0, 0});
  in[In::kWeights] =
      Tensor::of<int8_t>(DataType::kINT8, {1, 4, 1, 1}, std::vector<int8_t>{64, 64, 64, 64});
  in[In::kResultScale] = list<float>(DataType::kFLOAT, {1 / 128.f});
  Layer layer(op, in, std::vector<bool>(in.size(), true));
  ASSERT_EQ(layer.offer(kIntegerConvolutionCandidate), "");
  // 255 * 4 / 2 = 510 is too large.
  EXPECT_EQ(layer.run(), (std::vector<double>{255, 0, 2, 2}));
}

TEST(IntegerConvolutionKernelTest, RefusesOthers) {
  if (byte_product_kernels() == nullptr) GTEST_SKIP() << "no AVX2";
  const Types t{DataType::kINT8, DataType::kINT8, DataType::kINT32};
  const auto in =
      operands(t, bytes(t.data, {1, 4, 4, 4}), bytes(t.weights, {2, 4, 1, 1}), 2, Zeros::kEach);
  const auto op = integer_convolution(2, {1, 1}, 1);
  EXPECT_EQ(Layer(op, in, std::vector<bool>(in.size(), true)).offer(kIntegerConvolutionCandidate),
            "");
  std::vector<bool> zeros_vary(in.size(), true);
  zeros_vary[In::kWeightsZero] = false;
  EXPECT_EQ(Layer(op, in, zeros_vary).offer(kIntegerConvolutionCandidate),
            "zero points of weights that are not constant are not supported");
  auto plain = in;
  plain[In::kWeightsZero].reset();
  EXPECT_EQ(
      Layer(op, plain, std::vector<bool>(in.size(), false)).offer(kIntegerConvolutionCandidate),
      "weights that are not constant are not supported");
  auto grouped = plain;
  grouped[In::kWeights] = bytes(t.weights, {2, 2, 1, 1});
  EXPECT_EQ(Layer(integer_convolution(2, {1, 1}, 2), grouped, std::vector<bool>(in.size(), true))
                .offer(kIntegerConvolutionCandidate),
            "only two spatial axes and group 1 are supported");
  auto empty = plain;
  empty[In::kData] = bytes(t.data, {1, 0, 4, 4});
  empty[In::kWeights] = bytes(t.weights, {2, 0, 1, 1});
  EXPECT_EQ(
      Layer(op, empty, std::vector<bool>(in.size(), true)).offer(kIntegerConvolutionCandidate),
      "there is nothing to sum");
}

TEST(IntegerConvolutionKernelTest, DamagedPlansAreErrors) {
  if (byte_product_kernels() == nullptr) GTEST_SKIP() << "no AVX2";
  const Types t{DataType::kINT8, DataType::kINT8, DataType::kINT8};
  const auto op = op_of({{1, 4, 4, 4}, 2, {1, 1}, {0, 0}, {0, 0}, {1, 1}, {1, 1}}, t.to);
  const auto in =
      operands(t, bytes(t.data, {1, 4, 4, 4}), bytes(t.weights, {2, 4, 1, 1}), 2, Zeros::kNone);
  Layer layer(op, in, std::vector<bool>(in.size(), true));
  ASSERT_EQ(layer.offer(kIntegerConvolutionCandidate), "");
  const auto error_after = [&](auto&& damage) {
    StoredKernel stored = layer.stored();
    damage(stored);
    return error_of([&] { layer.offer(kIntegerConvolutionCandidate, &stored); });
  };
  EXPECT_EQ(error_after([](StoredKernel&) {}), "");
  const auto refusal = ::testing::HasSubstr(
      "stored weights do not fit 2 output channels of 4 channels and windows of 1x1");
  EXPECT_THAT(error_after([](StoredKernel& s) { s.packed.pop_back(); }), refusal);
  EXPECT_THAT(
      error_after([](StoredKernel& s) { s.packed[0] = bytes(DataType::kINT8, {1, 1, 32}); }),
      refusal);
  EXPECT_THAT(error_after([](StoredKernel& s) { s.packed[1] = biases(3); }), refusal);

  // A layer that lost inputs.
  const StoredKernel stored = layer.stored();
  const auto refusal_with = [&](size_t inputs, bool sums) {
    QuantizedConvolution other = op;
    other.sum.used = sums;
    const std::vector<TensorSpec> specs(inputs, {t.data, Layout::kLinear, {1, 4, 4, 4}, true});
    const std::vector<const Tensor*> constants(inputs, nullptr);
    const TensorSpec result{DataType::kINT32, Layout::kLinear, {1, 4, 4, 4}, true};
    return error_of([&] {
      load_kernel(cpu_target(), kIntegerConvolutionCandidate,
                  {other, specs, {&result, 1}, constants}, stored);
    });
  };
  EXPECT_EQ(refusal_with(2, false), "");
  EXPECT_THAT(refusal_with(1, false), ::testing::HasSubstr("input 1 is missing"));
  EXPECT_EQ(refusal_with(QuantizedConvolution::kAddend + 1, true), "");
  EXPECT_THAT(refusal_with(QuantizedConvolution::kAddend, true), ::testing::HasSubstr("addend"));
}

}  // namespace
}  // namespace tenon::cpu
