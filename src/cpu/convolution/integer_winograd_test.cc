// Winograd's filtering of integers against the reference: every bit.
#include "base/parallel.h"
#include "common/convolution_testing.h"
#include "cpu/convolution/integer_testing.h"
#include "cpu/kernels.h"
#include "cpu/simd/byte_product.h"

namespace tenon::cpu {
namespace {

constexpr std::string_view kIntegerWinogradCandidate = "integer_winograd";

struct IntegerWinogradCase {
  Shape data;
  int64_t output_channels;
  Shape pre, post;
};

// Channels that are transformed together.
int64_t unit() {
  return byte_product_kernels()->winograd[0].channels;
}

// Tiles and panels that are full and not, fewer tiles than a segment, one task and several, padding
// beyond a tile and none.
std::vector<IntegerWinogradCase> cases() {
  const int64_t u = unit();
  return {{{1, u, 8, 8}, 16, {1, 1}, {1, 1}},       {{2, 2 * u, 7, 9}, 5, {1, 1}, {1, 1}},
          {{1, 3 * u, 13, 30}, 40, {0, 2}, {3, 1}}, {{1, 3 * u, 3, 3}, 33, {0, 0}, {0, 0}},
          {{3, u, 5, 6}, 16, {7, 0}, {0, 9}},       {{1, 3 * u, 14, 14}, 64, {1, 1}, {1, 1}},
          {{0, u, 8, 8}, 16, {1, 1}, {1, 1}},       {{1, 2 * u, 57, 41}, 19, {1, 1}, {1, 1}}};
}

QuantizedConvolution op_of(const IntegerWinogradCase& c, DataType to) {
  auto op = integer_convolution(c.output_channels, {3, 3}, 1);
  op.to = to;
  op.pre_padding = c.pre;
  op.post_padding = c.post;
  return op;
}

Shape weights_of(const IntegerWinogradCase& c) {
  return {c.output_channels, c.data[1], 3, 3};
}

// What was asked of one form, of all.
void expect_all_exact(const QuantizedConvolution& op, const std::vector<std::optional<Tensor>>& in,
                      size_t forms) {
  std::vector<bool> constant(in.size(), true);
  constant[In::kData] = false;
  Layer layer(op, in, constant);
  ASSERT_EQ(layer.offer(kIntegerWinogradCandidate), "");
  const auto expected = layer.reference();
  size_t found = 0;
  for (bool more = true; more; more = layer.take_variant(found++)) {
    ASSERT_EQ(layer.run(), expected) << found;
    Layer loaded(op, in, constant);
    const StoredKernel stored = layer.stored();
    ASSERT_EQ(loaded.offer(kIntegerWinogradCandidate, &stored), "");
    ASSERT_EQ(loaded.run(), expected) << found << ", loaded";
  }
  EXPECT_EQ(found, forms);
}

// Those with enough tiles for both.
size_t forms_of(const IntegerWinogradCase& c) {
  const int64_t rows = c.data[2] + c.pre[0] + c.post[0] - 2;
  const int64_t columns = c.data[3] + c.pre[1] + c.post[1] - 2;
  const int64_t tiles = c.data[0] * ((rows + 3) / 4) * ((columns + 3) / 4);
  return tiles < byte_product_kernels()->segment ? 1 : 2;
}

TEST(IntegerWinogradKernelTest, GivesEveryBit) {
  if (byte_product_kernels() == nullptr) GTEST_SKIP() << "no AVX2";
  for (const IntegerWinogradCase& c : cases())
    for (const Types& t : all_types())
      for (const Zeros zeros : {Zeros::kNone, Zeros::kOne, Zeros::kEach}) {
        SCOPED_TRACE(fmt::format("{} {} {} {} {}", c.data, name_of(t.data), name_of(t.weights),
                                 name_of(t.to), static_cast<int>(zeros)));
        const auto in = operands(t, bytes(t.data, c.data), bytes(t.weights, weights_of(c)),
                                 c.output_channels, zeros);
        QuantizedConvolution op = op_of(c, t.to);
        op.bounds = bounds_for(t.to, zeros);
        expect_all_exact(op, in, forms_of(c));
        if (::testing::Test::HasFailure()) return;
      }
}

TEST(IntegerWinogradKernelTest, SumsGiveEveryBit) {
  if (byte_product_kernels() == nullptr) GTEST_SKIP() << "no AVX2";
  for (const IntegerWinogradCase& c : cases())
    for (const DataType to : {DataType::kINT8, DataType::kUINT8}) {
      SCOPED_TRACE(fmt::format("{} {}", c.data, name_of(to)));
      const Types t{DataType::kUINT8, DataType::kINT8, to};
      auto in = operands(t, bytes(t.data, c.data), bytes(t.weights, weights_of(c)),
                         c.output_channels, Zeros::kEach);
      in[In::kWeightsZero].reset();
      QuantizedConvolution op = op_of(c, to);
      in.emplace_back(
          bytes(DataType::kUINT8, Layer(op, in, std::vector<bool>(in.size(), true)).result()));
      op.sum = {true, 0.013f, 0.25f, 0.0171f, 130, 7, DataType::kINT8, {7, 127}};
      expect_all_exact(op, in, forms_of(c));
    }
}

TEST(IntegerWinogradKernelTest, EpiloguesAreComputedOfTheNumbers) {
  if (byte_product_kernels() == nullptr) GTEST_SKIP() << "no AVX2";
  for (const IntegerWinogradCase& c : cases()) {
    SCOPED_TRACE(fmt::format("{}", c.data));
    const Types t{DataType::kUINT8, DataType::kINT8, DataType::kINT8};
    auto in = operands(t, bytes(t.data, c.data), bytes(t.weights, weights_of(c)), c.output_channels,
                       Zeros::kEach);
    in[In::kWeightsZero].reset();
    QuantizedConvolution op = op_of(c, t.to);
    std::vector<bool> constant(in.size(), true);
    constant[In::kData] = false;
    const auto expect_results = [&] {
      Layer layer(op, in, constant);
      ASSERT_EQ(layer.offer(kIntegerWinogradCandidate), "");
      const auto expected = layer.reference();
      expect_within_a_step(layer.run(), expected);
      for (size_t i = 0; layer.take_variant(i); ++i) expect_within_a_step(layer.run(), expected);
    };
    op.epilogue = silu_program();
    expect_results();
    const Shape result = Layer(op, in, constant).result();
    op.epilogue = silu_and_sum_program();
    op.operand = {0.75f, -3};
    in.emplace_back(bytes(DataType::kINT8, result));
    constant.push_back(false);
    expect_results();
  }
}

// The largest sums on each way, which wrap there.
TEST(IntegerWinogradKernelTest, EndsOfTheRangesAreExact) {
  if (byte_product_kernels() == nullptr) GTEST_SKIP() << "no AVX2";
  const IntegerWinogradCase c{{1, 64, 9, 10}, 17, {1, 1}, {1, 1}};
  const auto filled = [](DataType type, const Shape& shape, auto&& value) {
    Tensor t(type, shape);
    for (int64_t i = 0; i < t.count(); ++i) t.mutable_data<uint8_t>()[i] = value(i);
    return t;
  };
  const auto fill_of = [](int value) {
    return [value](int64_t) { return static_cast<uint8_t>(value); };
  };
  const auto in_turn = [](int64_t i) { return static_cast<uint8_t>(i % 2 == 0 ? 127 : 128); };
  const auto chequered = [](int64_t i) {
    return static_cast<uint8_t>((i % 10 + i / 10) % 2 == 0 ? 255 : 0);
  };
  const Types t{DataType::kUINT8, DataType::kINT8, DataType::kINT32};
  const auto expect_of = [&](auto&& data, auto&& weight) {
    const auto in =
        operands(t, filled(t.data, c.data, data), filled(t.weights, weights_of(c), weight),
                 c.output_channels, Zeros::kNone);
    expect_all_exact(op_of(c, t.to), in, 2);
  };
  for (const int weight : {127, 128, 255}) {
    expect_of(fill_of(255), fill_of(weight));
    expect_of(chequered, fill_of(weight));
  }
  expect_of(fill_of(255), in_turn);
  expect_of(chequered, in_turn);
}

TEST(IntegerWinogradKernelTest, SumsThatCouldLeave32BitsAreRefused) {
  if (byte_product_kernels() == nullptr) GTEST_SKIP() << "no AVX2";
  const auto offer = [&](int64_t channels, uint8_t weight) {
    const IntegerWinogradCase c{{1, channels, 12, 12}, 1, {1, 1}, {1, 1}};
    const Types t{DataType::kUINT8, DataType::kINT8, DataType::kINT32};
    Tensor weights(t.weights, weights_of(c));
    std::fill_n(weights.mutable_data<uint8_t>(), weights.count(), weight);
    const auto in = operands(t, bytes(t.data, c.data), weights, c.output_channels, Zeros::kNone);
    Layer layer(op_of(c, t.to), in, std::vector<bool>(in.size(), true));
    const std::string refusal = layer.offer(kIntegerWinogradCandidate);
    return refusal.empty() && layer.take_variant(0) ? "both" : refusal;
  };
  // 2^31 / 255 / 9 / 128 is 7310, in quarters 1827, in 64 parts 114.
  EXPECT_EQ(offer(96, 128), "both");
  EXPECT_EQ(offer(128, 128), "");
  EXPECT_EQ(offer(1824, 128), "");
  EXPECT_EQ(offer(1856, 128), "sums could leave 32 bits");
}

TEST(IntegerWinogradKernelTest, TheNumberOfThreadsChangesNothing) {
  if (byte_product_kernels() == nullptr) GTEST_SKIP() << "no AVX2";
  const int before = thread_count();
  for (const int threads : {1, 3, 64})
    for (const IntegerWinogradCase& c : cases()) {
      SCOPED_TRACE(fmt::format("{} threads, {}", threads, c.data));
      set_thread_count(threads);
      const Types t{DataType::kUINT8, DataType::kINT8, DataType::kINT8};
      auto in = operands(t, bytes(t.data, c.data), bytes(t.weights, weights_of(c)),
                         c.output_channels, Zeros::kEach);
      in[In::kWeightsZero].reset();
      expect_all_exact(op_of(c, t.to), in, forms_of(c));
    }
  set_thread_count(before);
}

TEST(IntegerWinogradKernelTest, RefusesOthers) {
  if (byte_product_kernels() == nullptr) GTEST_SKIP() << "no AVX2";
  const auto refusal = [](int64_t channels, const Shape& kernel, int64_t stride, int64_t dilation) {
    const Types t{DataType::kINT8, DataType::kINT8, DataType::kINT32};
    auto op = integer_convolution(2, kernel, 1);
    op.stride = {1, stride};
    op.dilation = {dilation, 1};
    const auto in =
        operands(t, bytes(t.data, {1, channels, 9, 9}),
                 bytes(t.weights, {2, channels, kernel[0], kernel[1]}), 2, Zeros::kNone);
    return Layer(op, in, std::vector<bool>(in.size(), true)).offer(kIntegerWinogradCandidate);
  };
  const std::string windows = "only windows of 3x3 without a stride are supported";
  EXPECT_EQ(refusal(32, {3, 3}, 1, 1), "");
  EXPECT_EQ(refusal(32, {3, 2}, 1, 1), windows);
  EXPECT_EQ(refusal(32, {3, 3}, 2, 1), windows);
  EXPECT_EQ(refusal(32, {3, 3}, 1, 2), windows);
  EXPECT_EQ(refusal(20, {3, 3}, 1, 1),
            fmt::format("only multiples of {} channels are supported", unit()));
}

// A damaged plan may give its tensors extents that follow an input.
TEST(IntegerWinogradKernelTest, ShapesThatDoNotFitTheWeightsAreErrors) {
  if (byte_product_kernels() == nullptr) GTEST_SKIP() << "no AVX2";
  const Types t{DataType::kINT8, DataType::kINT8, DataType::kINT8};
  const IntegerWinogradCase c{{2, 32, 9, 9}, 20, {1, 1}, {1, 1}};
  Layer layer(op_of(c, t.to),
              operands(t, bytes(t.data, c.data), bytes(t.weights, weights_of(c)), 20, Zeros::kNone),
              std::vector<bool>(In::kCount, true));
  ASSERT_EQ(layer.offer(kIntegerWinogradCandidate), "");
  const auto error_for = [&](const Shape& data, const Shape& result) {
    return error_of([&] { layer.prepare(data, result); });
  };
  EXPECT_EQ(error_for({3, 32, 5, 5}, {3, 20, 5, 5}), "");
  EXPECT_THAT(error_for({2, 17, 9, 9}, {2, 20, 9, 9}), ::testing::HasSubstr("17 channels"));
  EXPECT_THAT(error_for({2, 64, 9, 9}, {2, 20, 9, 9}), ::testing::HasSubstr("64 channels"));
  EXPECT_THAT(error_for({2, 32, 9, 9}, {2, 1, 9, 9}), ::testing::HasSubstr("1 output channels"));
  EXPECT_THAT(error_for({2, 32, 9, 9}, {1, 20, 9, 9}), ::testing::HasSubstr("1 images"));
}

TEST(IntegerWinogradKernelTest, DamagedPlansAreErrors) {
  if (byte_product_kernels() == nullptr) GTEST_SKIP() << "no AVX2";
  const Types t{DataType::kINT8, DataType::kINT8, DataType::kINT8};
  const IntegerWinogradCase c{{1, 32, 9, 9}, 2, {1, 1}, {1, 1}};
  const auto in =
      operands(t, bytes(t.data, c.data), bytes(t.weights, weights_of(c)), 2, Zeros::kNone);
  Layer layer(op_of(c, t.to), in, std::vector<bool>(in.size(), true));
  ASSERT_EQ(layer.offer(kIntegerWinogradCandidate), "");
  const auto error_after = [&](auto&& damage) {
    StoredKernel stored = layer.stored();
    damage(stored);
    return error_of([&] { layer.offer(kIntegerWinogradCandidate, &stored); });
  };
  EXPECT_EQ(error_after([](StoredKernel&) {}), "");
  const auto refusal = ::testing::HasSubstr(
      "stored weights do not fit 2 output channels of 32 channels and windows of 3x3");
  EXPECT_THAT(error_after([](StoredKernel& s) { s.packed.clear(); }), refusal);
  EXPECT_THAT(error_after([](StoredKernel& s) { s.packed[0] = bytes(DataType::kINT8, {1, 25}); }),
              refusal);
  EXPECT_THAT(error_after([](StoredKernel& s) { s.packed[1] = biases(3); }), refusal);
}

}  // namespace
}  // namespace tenon::cpu
