#include "ops/quantize.h"

#include "backend/accuracy_testing.h"
#include "ops/dequantize.h"

namespace tenon {
namespace {

constexpr DataType kQuantized[] = {DataType::kINT8, DataType::kUINT8, DataType::kINT4,
                                   DataType::kFP8, DataType::kFP4};

TestInput scales(const Shape& shape) {
  return {random_tensor(shape, 7, 0.02f, 0.5f), true};
}

TestInput zeros(DataType type, const Shape& shape) {
  Tensor t(type, shape);
  for (int64_t i = 0; i < t.count(); ++i) t.mutable_data<int8_t>()[i] = static_cast<int8_t>(i % 5);
  return {t, true};
}

// One scale, of pictures too, one for each channel, blocks along two axes, blocks that do not
// divide an axis.
struct Laid {
  Shape data, scale;
  ScaleLayout layout;
};
const Laid kLaid[] = {
    {{2, 6, 5, 4}, {}, {}},          {{3, 7, 30, 43}, {}, {}},        {{2, 3, 30, 43}, {}, {}},
    {{1, 2, 9, 7}, {}, {}},          {{2, 3, 12, 10}, {}, {}},        {{2, 4, 6, 8}, {}, {}},
    {{3, 4, 1, 1}, {}, {}},          {{2, 6, 5, 4}, {6}, {1, {}}},    {{2, 6, 5, 4}, {4}, {-1, {}}},
    {{4, 32}, {2, 4}, {-1, {2, 8}}}, {{3, 32}, {3, 2}, {-1, {1, 16}}}};
const Laid kUneven = {{5, 30}, {3, 4}, {-1, {2, 8}}};

TEST(QuantizeTest, EveryTypeAndLayoutOfScales) {
  for (const DataType narrow : kQuantized)
    for (const Laid& laid : kLaid) {
      SCOPED_TRACE(fmt::format("{} {} {}", name_of(narrow), laid.data, laid.scale));
      Quantize quantize;
      quantize.to = narrow;
      quantize.layout = laid.layout;
      const TestInput data = {random_tensor(laid.data, 1, -8, 8)};
      expect_as_reference(quantize, {data, scales(laid.scale)});
      if (narrow == DataType::kINT8 || narrow == DataType::kUINT8)
        expect_as_reference(quantize, {data, scales(laid.scale), zeros(narrow, laid.scale)});
      LayerTest quantized(quantize, {data, scales(laid.scale)});
      Dequantize dequantize;
      dequantize.layout = laid.layout;
      expect_as_reference(dequantize, {{quantized.reference()}, scales(laid.scale)});
      dequantize.to = DataType::kHALF;
      expect_as_reference(dequantize, {{quantized.reference()}, scales(laid.scale)});
    }
}

TEST(QuantizeTest, PicturesOfEveryType) {
  for (const DataType type : {DataType::kFLOAT, DataType::kHALF, DataType::kBF16})
    for (const int64_t channels : {2, 3, 4})
      for (const int64_t columns : {8, 7}) {
        SCOPED_TRACE(fmt::format("{} {} {}", name_of(type), channels, columns));
        Quantize op;
        TestInput in = {random_tensor({2, channels, 4, columns}, 1, -80, 80)};
        in.tensor->mutable_data<float>()[5] = NAN;
        in.tensor->mutable_data<float>()[9] = INFINITY;
        const TestInput scale = as_type(type, scales({}));
        expect_as_reference(op, {as_type(type, in), scale});
        op.lowest = -11;
        op.highest = 90;
        expect_as_reference(op, {as_type(type, in), scale});
      }
}

TEST(QuantizeTest, BlocksThatDoNotDivideAnAxis) {
  Quantize quantize;
  quantize.layout = kUneven.layout;
  expect_as_reference(quantize, {{random_tensor(kUneven.data, 1, -8, 8)}, scales(kUneven.scale)});
}

TEST(QuantizeTest, ChannelsLast) {
  Quantize quantize;
  quantize.layout.axis = 1;
  const TestInput in = {random_tensor({2, 16, 3, 5}, 1, -8, 8), false, Layout::kChannelsLast};
  expect_as_reference(quantize,
                      {as_type(DataType::kHALF, in), as_type(DataType::kHALF, scales({16}))});
}

TEST(QuantizeTest, SumsOfProductsWithZeroPoints) {
  const std::vector<int32_t> sums = {0, 1, -1, INT32_MAX, INT32_MIN, 16777217, -16777219, 77};
  Dequantize op;
  op.layout.axis = 1;
  const TestInput zero = integers<int32_t>(DataType::kINT32, {4}, {0, 1, -5, 1 << 20});
  expect_as_reference(op, {integers<int32_t>(DataType::kINT32, {2, 4}, sums), scales({4}), zero});
}

TEST(QuantizeTest, BoundsNarrowerThanTheType) {
  Quantize op;
  op.to = DataType::kINT32;
  op.lowest = -32768;
  op.highest = 32767;
  expect_as_reference(op, {{random_tensor({3, 50}, 1, -9000, 9000)}, scales({})});
}

}  // namespace
}  // namespace tenon
