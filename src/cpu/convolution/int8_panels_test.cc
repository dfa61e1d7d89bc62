// Int8 products of bytes against the reference: every bit, also where pairs of products would
// saturate.
#include "cpu/convolution/int8_panels.h"

#include "common/convolution_testing.h"
#include "cpu/convolution/integer_testing.h"
#include "cpu/kernels.h"

namespace tenon::cpu {
namespace {

constexpr std::string_view kInt8PanelsCandidate = "integer_convolution";

bool are_there() {
  return byte_product_kernels() != nullptr && byte_product_kernels()->int8->complements;
}

/// A weight by its output channel and by where it lies among the output channel's.
using WeightOf = std::function<int(int64_t output_channel, int64_t element)>;

Tensor weights_of(const Shape& shape, const WeightOf& weight) {
  Tensor made(DataType::kINT8, shape);
  const int64_t each = shape.volume(1, shape.rank());
  for (int64_t i = 0; i < made.count(); ++i)
    made.mutable_data<int8_t>()[i] = static_cast<int8_t>(weight(i / each, i % each));
  return made;
}

// Of few output channels and dot groups large, so that a dot group is complemented for some output
// channels or none.
int some_large(int64_t, int64_t) {
  const auto draw = generator();
  if (draw % 24 == 0) return draw % 48 == 0 ? 127 : -127;
  return static_cast<int>(draw >> 8) % 65;
}

// Whether the layer takes int8 products; its results are the reference's, also loaded.
bool takes_int8_panels(const QuantizedConvolution& op,
                       const std::vector<std::optional<Tensor>>& in) {
  expect_exact(op, in, kInt8PanelsCandidate);
  std::vector<bool> constant(in.size(), true);
  constant[In::kData] = false;
  Layer layer(op, in, constant);
  EXPECT_EQ(layer.offer(kInt8PanelsCandidate), "");
  return layer.stored().packed.size() == 3;
}

TEST(Int8PanelsTest, GiveEveryBit) {
  if (!are_there()) GTEST_SKIP() << "no AVX2, or a processor that does not need them";
  // Pixels, dot groups and panels that are full and not.
  struct Case {
    Shape data;
    int64_t output_channels;
    Shape kernel;
  };
  const Case cases[] = {{{2, 64, 6, 5}, 96, {1, 1}},  {{1, 70, 8, 8}, 33, {3, 3}},
                        {{1, 3, 23, 43}, 32, {7, 7}}, {{1, 1, 5, 4}, 2, {3, 2}},
                        {{1, 37, 3, 7}, 9, {1, 1}},   {{3, 128, 5, 5}, 16, {1, 3}}};
  for (const Case& c : cases)
    for (const DataType data : {DataType::kINT8, DataType::kUINT8})
      for (const DataType to :
           {DataType::kINT32, DataType::kFLOAT, DataType::kINT8, DataType::kUINT8}) {
        SCOPED_TRACE(fmt::format("{} {} {}", c.data, name_of(data), name_of(to)));
        auto op = integer_convolution(c.output_channels, c.kernel, 1);
        op.to = to;
        op.pre_padding = {1, 0};
        op.post_padding = {0, 1};
        const Shape weights{c.output_channels, c.data[1], c.kernel[0], c.kernel[1]};
        auto in = operands({data, DataType::kINT8, to}, bytes(data, c.data),
                           weights_of(weights, some_large), c.output_channels, Zeros::kEach);
        in[In::kWeightsZero].reset();
        EXPECT_TRUE(takes_int8_panels(op, in));
        if (::testing::Test::HasFailure()) return;
      }
}

// Bytes of 255 with pairs of weights that are just within 16 bits, and that are not.
TEST(Int8PanelsTest, EndsOfTheRangesAreExact) {
  if (!are_there()) GTEST_SKIP() << "no AVX2, or a processor that does not need them";
  constexpr int64_t kChannels = 100, kOutputChannels = 28;
  const auto op = integer_convolution(kOutputChannels, {1, 1}, 1);
  const auto expect = [&](const WeightOf& weight, bool int8) {
    for (const uint8_t byte : {uint8_t{255}, uint8_t{0}}) {
      Tensor data(DataType::kUINT8, {1, kChannels, 3, 5});
      std::fill_n(data.mutable_data<uint8_t>(), data.count(), byte);
      const auto in = operands({DataType::kUINT8, DataType::kINT8, DataType::kINT32}, data,
                               weights_of({kOutputChannels, kChannels, 1, 1}, weight),
                               kOutputChannels, Zeros::kNone);
      EXPECT_EQ(takes_int8_panels(op, in), int8);
    }
  };
  // In a dot group of four, the others being 0.
  const auto pair = [](int first, int second) {
    return [=](int64_t, int64_t e) { return e % 16 == 2 ? first : e % 16 == 3 ? second : 0; };
  };
  constexpr std::pair<int, int> kPairs[] = {{127, 127},  {-127, -127}, {-128, -127}, {-127, -128},
                                            {64, 64},    {65, 64},     {-64, -64},   {-65, -64},
                                            {127, -128}, {-128, 127},  {127, 1},     {127, 2}};
  for (const auto& [first, second] : kPairs) {
    SCOPED_TRACE(fmt::format("{} {}", first, second));
    expect(pair(first, second), true);
  }
  // Of one half of the panel only.
  expect([&](int64_t m, int64_t e) { return m % 16 < 8 ? pair(127, 127)(m, e) : 1; }, true);
  expect([&](int64_t m, int64_t e) { return m % 16 < 8 ? 1 : pair(-127, -127)(m, e); }, true);
  // 128 is no weight of int8.
  expect(pair(-128, -128), false);
  // All are complemented, which is no faster.
  expect([](int64_t, int64_t) { return 127; }, false);
  expect([](int64_t, int64_t) { return -128; }, false);
}

TEST(Int8PanelsTest, DamagedPlansAreErrors) {
  if (!are_there()) GTEST_SKIP() << "no AVX2, or a processor that does not need them";
  const auto op = integer_convolution(20, {1, 1}, 1);
  const auto in = operands({DataType::kUINT8, DataType::kINT8, DataType::kINT32},
                           bytes(DataType::kUINT8, {1, 64, 3, 3}),
                           weights_of({20, 64, 1, 1}, some_large), 20, Zeros::kNone);
  Layer layer(op, in, std::vector<bool>(in.size(), true));
  ASSERT_EQ(layer.offer(kInt8PanelsCandidate), "");
  const auto error_after = [&](auto&& damage) {
    StoredKernel stored = layer.stored();
    Tensor order(stored.packed[2].type(), stored.packed[2].shape());
    std::copy_n(stored.packed[2].data<int32_t>(), order.count(), order.mutable_data<int32_t>());
    damage(stored, order.mutable_data<int32_t>());
    if (stored.packed.size() > 2) stored.packed[2] = order;
    return error_of([&] { layer.offer(kInt8PanelsCandidate, &stored); });
  };
  EXPECT_EQ(error_after([](StoredKernel&, int32_t*) {}), "");
  const auto refusal = ::testing::HasSubstr(
      "stored weights do not fit 20 output channels of 64 channels and windows of 1x1");
  EXPECT_THAT(error_after([](StoredKernel& s, int32_t*) { s.packed.pop_back(); }), refusal);
  EXPECT_THAT(error_after([](StoredKernel& s, int32_t*) { s.packed[0] = s.packed[1]; }), refusal);
  EXPECT_THAT(error_after([](StoredKernel& s, int32_t*) { s.packed[1] = biases(20); }), refusal);
  // Weights that are not there.
  EXPECT_THAT(error_after([](StoredKernel& s, int32_t*) {
                s.packed[0] = bytes(DataType::kINT8, {s.packed[0].count() - 32});
              }),
              refusal);
  // DotGroups beyond a run, before it, and groups that are not the run's dot groups.
  EXPECT_THAT(error_after([](StoredKernel&, int32_t* o) { o[kByteGroups] = 16; }), refusal);
  EXPECT_THAT(error_after([](StoredKernel&, int32_t* o) { o[kByteGroups + 3] = -1; }), refusal);
  EXPECT_THAT(error_after([](StoredKernel&, int32_t* o) { ++o[0]; }), refusal);
  EXPECT_THAT(error_after([](StoredKernel&, int32_t* o) {
                o[0] += o[3] + 1;
                o[3] = -1;
              }),
              refusal);
}

}  // namespace
}  // namespace tenon::cpu
