#include "ops/cast.h"
#include "ops/quantized_convolution.h"
#include "optimize/quantized_model.h"

namespace tenon {
namespace {

using namespace testing;
using ::testing::UnorderedElementsAre;

Value& cast(QuantizedModel& m, Value& x, DataType to) {
  auto op = std::make_unique<Cast>();
  op->to = to;
  return m.add(std::move(op), {&x});
}

// A convolution of bytes that gives float32.
Value& convolved(QuantizedModel& m) {
  Value& x = m.through(m.input({1, 2, 5, 5}), DataType::kINT8, 0.01f, 0);
  Value& kernel = m.dequantize(m.bytes(DataType::kINT8, {3, 2, 3, 3}), {0.01f}, nullptr, 0);
  return m.convolution_with(x, kernel, 3, &m.weight({3}));
}

TEST(QuantizedCasts, GiveTheResultIn16Bits) {
  for (const DataType to : {DataType::kHALF, DataType::kBF16}) {
    QuantizedModel m;
    m.output(cast(m, cast(m, convolved(m), to), DataType::kFLOAT));
    EXPECT_THAT(
        kinds(*rewritten(*with_quantized_products(m.network), quantized_casts, FusingTarget(), 0)),
        UnorderedElementsAre("Quantize", "Dequantize", "Dequantize", "QuantizedConvolution",
                             "Cast"));
  }
}

TEST(QuantizedCasts, LeaveWhatOthersReadInFloat32) {
  QuantizedModel m;
  Value& y = convolved(m);
  m.output(cast(m, y, DataType::kHALF));
  m.output(m.relu(y));
  EXPECT_FALSE(quantized_casts(*with_quantized_products(m.network), FusingTarget()));
}

TEST(QuantizedCasts, LeaveCastsToOtherTypes) {
  QuantizedModel m;
  m.output(cast(m, convolved(m), DataType::kINT32));
  EXPECT_FALSE(quantized_casts(*with_quantized_products(m.network), FusingTarget()));
}

}  // namespace
}  // namespace tenon
