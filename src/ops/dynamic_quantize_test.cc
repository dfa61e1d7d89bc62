#include "ops/dynamic_quantize.h"

#include "ops/dequantize.h"
#include "ops/op_test.h"

namespace tenon {
namespace {

using namespace testing;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Numbers by hand: the scale of a block is its largest magnitude over 6, here 1 and 2.
TEST(DynamicQuantize, Fp4InBlocksOfAnAxis) {
  DynamicQuantize op;
  op.axis = 1;
  op.block_size = 3;
  const auto x = input(make<float>({1, 6}, {6, -1.2f, 0.2f, 12, 5, 1}));
  const auto y = run(op, {x});
  EXPECT_EQ(y[1].shape(), (Shape{1, 2}));
  EXPECT_THAT(y[1].numbers(), ElementsAre(1, 2));
  EXPECT_THAT(y[0].numbers(), ElementsAre(6, -1, 0, 6, 2, 0.5));
}

// Scales are stored as multiples of a number, in fp8: 1/3 of 0.25 is 1.3333, which becomes 1.375.
TEST(DynamicQuantize, DoubleQuantisation) {
  DynamicQuantize op;
  op.axis = -1;
  op.block_size = 2;
  const auto y = run(op, {input(make<float>({2}, {2, 0.34f})), input(make<float>({}, {0.25f}))});
  EXPECT_THAT(y[1].numbers(), ElementsAre(1.375));
  EXPECT_THAT(y[0].numbers(), ElementsAre(6, 1));  // 2 / 0.34375, 0.34 / 0.34375
}

// MXFP8: powers of two, rounded up so that nothing saturates; blocks of two axes, the last one cut.
TEST(DynamicQuantize, PowersOfTwoAndBlocksOfTwoAxes) {
  DynamicQuantize op;
  op.to = DataType::kFP8;
  op.scale_type = DataType::kE8M0;
  op.block = Shape{-1, 2};
  const auto y = run(op, {input(make<float>({2, 3}, {449, 1, 0, 4, 5, 0}))});
  EXPECT_EQ(y[1].shape(), (Shape{1, 2}));
  EXPECT_THAT(y[1].numbers()[0], 2);
  EXPECT_THAT(y[0].numbers(), ElementsAre(224, 0.5, 0, 2, 2.5, 0));
  Dequantize back;
  back.layout.block = Shape{-1, 2};
  EXPECT_THAT(run(back, {input(y[0]), input(y[1])})[0].numbers(), ElementsAre(448, 1, 0, 4, 5, 0));
}

TEST(DynamicQuantize, ErrorsSayWhatIsWrong) {
  DynamicQuantize op;
  const auto x = input(make<float>({4}, {1, 2, 3, 4}));
  EXPECT_THAT(infer_error(op, {x}), HasSubstr("expected a block size of 1 or more, found 0"));
  op.block = Shape{1, 2};
  EXPECT_THAT(infer_error(op, {x}), HasSubstr("expected a block of 1 extents, found 1x2"));
  op.block = Shape{0};
  EXPECT_THAT(infer_error(op, {x}), HasSubstr("1 or more, or -1, found 0"));
  op.block = Shape{2};
  op.to = DataType::kINT64;
  EXPECT_THAT(infer_error(op, {x}), HasSubstr("found int64"));
  op.to = DataType::kFP8;
  op.scale_type = DataType::kINT8;
  EXPECT_THAT(infer_error(op, {x}), HasSubstr("expected scales of type"));
}

}  // namespace
}  // namespace tenon
