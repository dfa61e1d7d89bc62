#include "ops/quantize.h"

#include "ops/dequantize.h"
#include "target/accuracy_testing.h"
#include "target/cuda/cuda_target.h"

namespace tenon::cuda {
namespace {

constexpr DataType kNarrow[] = {DataType::kINT8, DataType::kUINT8, DataType::kINT4, DataType::kFP8,
                                DataType::kFP4};

TestInput scales(const Shape& shape) {
  return {random_tensor(shape, 7, 0.02f, 0.5f), true};
}

TestInput zeros(DataType type, const Shape& shape) {
  Tensor t(type, shape);
  for (int64_t i = 0; i < t.count(); ++i) t.mutable_data<int8_t>()[i] = static_cast<int8_t>(i % 5);
  return {t, true};
}

void expect_same(const Op& op, std::vector<TestInput> inputs) {
  LayerTest test(op, std::move(inputs), cuda_target());
  ASSERT_EQ(test.offer("quantize"), "");
  expect_identical(test.run(), test.reference());
}

// One scale, one for each channel, blocks along two axes, blocks that do not divide an axis.
struct Laid {
  Shape data, scale;
  ScaleLayout layout;
};
const Laid kLaid[] = {{{2, 6, 5, 4}, {}, {}},
                      {{2, 6, 5, 4}, {6}, {1, {}}},
                      {{2, 6, 5, 4}, {4}, {-1, {}}},
                      {{4, 32}, {2, 4}, {-1, {2, 8}}},
                      {{3, 32}, {3, 2}, {-1, {1, 16}}}};
const Laid kUneven = {{5, 30}, {3, 4}, {-1, {2, 8}}};

TEST(CudaQuantizeTest, EveryTypeAndLayoutOfScales) {
  for (const DataType narrow : kNarrow)
    for (const Laid& laid : kLaid) {
      SCOPED_TRACE(fmt::format("{} {} {}", name_of(narrow), laid.data, laid.scale));
      Quantize quantize;
      quantize.to = narrow;
      quantize.layout = laid.layout;
      const TestInput data = {random_tensor(laid.data, 1, -8, 8)};
      expect_same(quantize, {data, scales(laid.scale)});
      if (narrow == DataType::kINT8 || narrow == DataType::kUINT8)
        expect_same(quantize, {data, scales(laid.scale), zeros(narrow, laid.scale)});
      LayerTest quantized(quantize, {data, scales(laid.scale)}, cuda_target());
      Dequantize dequantize;
      dequantize.layout = laid.layout;
      expect_same(dequantize, {{quantized.reference()}, scales(laid.scale)});
      dequantize.to = DataType::kHALF;
      expect_same(dequantize, {{quantized.reference()}, scales(laid.scale)});
    }
}

TEST(CudaQuantizeTest, BlocksThatDoNotDivideAnAxis) {
  Quantize quantize;
  quantize.layout = kUneven.layout;
  expect_same(quantize, {{random_tensor(kUneven.data, 1, -8, 8)}, scales(kUneven.scale)});
}

TEST(CudaQuantizeTest, ChannelsLast) {
  Quantize quantize;
  quantize.layout.axis = 1;
  const TestInput in = {random_tensor({2, 16, 3, 5}, 1, -8, 8), false, Layout::kChannelsLast};
  LayerTest test(quantize, {typed(DataType::kHALF, in), typed(DataType::kHALF, scales({16}))},
                 cuda_target());
  ASSERT_EQ(test.offer("quantize"), "");
  EXPECT_EQ(test.kernel().output_layouts[0], Layout::kChannelsLast);
  expect_identical(test.run(), test.reference());
}

TEST(CudaQuantizeTest, SumsOfProductsWithZeroPoints) {
  const std::vector<int32_t> sums = {0, 1, -1, INT32_MAX, INT32_MIN, 16777217, -16777219, 77};
  Dequantize op;
  op.layout.axis = 1;
  const TestInput zero = integers<int32_t>(DataType::kINT32, {4}, {0, 1, -5, 1 << 20});
  expect_same(op, {integers<int32_t>(DataType::kINT32, {2, 4}, sums), scales({4}), zero});
}

TEST(CudaQuantizeTest, BoundsNarrowerThanTheType) {
  Quantize op;
  op.to = DataType::kINT32;
  op.lowest = -32768;
  op.highest = 32767;
  expect_same(op, {{random_tensor({3, 50}, 1, -9000, 9000)}, scales({})});
}

}  // namespace
}  // namespace tenon::cuda
