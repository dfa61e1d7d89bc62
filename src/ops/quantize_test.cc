#include "ops/quantize.h"

#include "ops/dequantize.h"
#include "ops/op_test.h"

namespace tenon {
namespace {

using namespace testing;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(Quantize, AgreesWithOnnxRuntime) {
  run_cases("quantize");
}
TEST(Dequantize, AgreesWithOnnxRuntime) {
  run_cases("dequantize");
}

// An odd number of nibbles, in rows that begin within a byte.
TEST(Quantize, NarrowTypesComeBack) {
  const auto x = make<float>({3, 3}, {0.6f, -1.4f, 3, 100, -100, 8, -20, 14.1f, 2});
  const auto scale = make<float>({3}, {1, 2, 4});
  Quantize to;
  Dequantize back;
  to.layout.axis = back.layout.axis = 0;
  const auto through = [&](DataType type, bool saturate = true) {
    to.to = type;
    to.saturate = saturate;
    const auto q = run(to, {input(x), input(scale)});
    return run(back, {input(q[0]), input(scale)})[0].numbers();
  };
  EXPECT_THAT(through(DataType::kINT4), ElementsAre(1, -1, 3, 14, -16, 8, -20, 16, 0));
  EXPECT_THAT(through(DataType::kFP4), ElementsAre(0.5, -1.5, 3, 12, -12, 8, -16, 16, 2));
  EXPECT_THAT(through(DataType::kFP8), ElementsAre(0.625, -1.375, 3, 96, -96, 8, -20, 14, 2));
  to.layout.axis = -1;
  to.saturate = false;
  to.to = DataType::kFP8;
  const auto one = make<float>({}, {0.125f});
  EXPECT_THAT(run(to, {input(x), input(one)})[0].numbers()[3], ::testing::IsNan());
}

// TensorRT's blocks: scales of the data's rank, in any type of floats; -1 is a whole axis.
TEST(Quantize, BlocksOfTwoAxes) {
  Dequantize op;
  op.layout.block = Shape{2, -1};
  const auto q = make<int8_t>({3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9});
  EXPECT_THAT(run(op, {input(q), input(make<float>({2, 1}, {1, 10}))})[0].numbers(),
              ElementsAre(1, 2, 3, 4, 5, 6, 70, 80, 90));
  Tensor powers(DataType::kE8M0, {2, 1});
  powers.mutable_data<uint8_t>()[0] = 128;
  powers.mutable_data<uint8_t>()[1] = 126;
  EXPECT_THAT(run(op, {input(q), input(powers)})[0].numbers(),
              ElementsAre(2, 4, 6, 8, 10, 12, 3.5, 4, 4.5));
}

TEST(Quantize, BoundsMayBeNarrowerThanTheType) {
  Quantize op;
  op.to = DataType::kUINT8;
  op.highest = 15;
  EXPECT_THAT(
      run(op, {input(make<float>({3}, {-3, 9, 99})), input(make<float>({}, {1}))})[0].integers(),
      ElementsAre(0, 9, 15));
}

TEST(Quantize, ErrorsSayWhatIsWrong) {
  Quantize op;
  const auto x = input(make<float>({2, 3}, {1, 2, 3, 4, 5, 6}));
  EXPECT_THAT(infer_error(op, {x, input(make<float>({2}, {1, 2}))}),
              HasSubstr("expected 3 scales, one per position along axis 1, found 2"));
  EXPECT_THAT(infer_error(op, {x, input(make<int32_t>({}, {1}))}),
              HasSubstr("expected scales (input 1) of a floating-point type, found int32"));
  EXPECT_THAT(infer_error(op, {x, input(make<float>({1, 2, 1}, {1, 2}))}),
              HasSubstr("of the data's rank 2"));
  EXPECT_THAT(infer_error(op, {x, input(make<float>({}, {1})), input(make<int8_t>({2}, {1, 2}))}),
              HasSubstr("zero points (input 2) of the scales' shape scalar, found 2"));
  op.layout.block = Shape{1, 2};
  EXPECT_THAT(infer_error(op, {x, input(make<float>({2, 3}, {1, 2, 3, 4, 5, 6}))}),
              HasSubstr("axis 1: expected 2 scales for 3 elements in blocks of 2, found 3"));
  op.to = DataType::kINT64;
  EXPECT_THAT(infer_error(op, {x, input(make<float>({}, {1}))}), HasSubstr("found int64"));
  Dequantize back;
  EXPECT_THAT(infer_error(back, {x, input(make<float>({}, {1}))}),
              HasSubstr("expected quantised data (input 0)"));
}

}  // namespace
}  // namespace tenon
