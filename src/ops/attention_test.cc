#include "ops/attention.h"

#include "ops/op_test.h"

namespace tenon {
namespace {

using namespace testing;
using ::testing::HasSubstr;

TEST(Attention, AgreesWithPlainNumpy) {
  run_cases("attention");
}

TEST(Attention, RefusesWhatDoesNotFit) {
  const auto x = [](const Shape& shape) { return input(Tensor(DataType::kFLOAT, shape)); };
  const Attention op;
  EXPECT_EQ(infer_error(op, {x({1, 4, 2, 3}), x({1, 2, 5, 3}), x({1, 2, 5, 6})}), "");
  EXPECT_THAT(infer_error(op, {x({4, 2, 3}), x({2, 5, 3}), x({2, 5, 6})}),
              HasSubstr("expected query, key and value of 4 dimensions"));
  EXPECT_THAT(infer_error(op, {x({1, 4, 2, 3}), x({1, 2, 5, 4}), x({1, 2, 5, 6})}),
              HasSubstr("do not fit"));
  EXPECT_THAT(infer_error(op, {x({1, 3, 2, 3}), x({1, 2, 5, 3}), x({1, 2, 5, 6})}),
              HasSubstr("3 heads of queries cannot share 2 heads of keys"));
  EXPECT_THAT(infer_error(op, {x({1, 4, 2, 3}), x({1, 2, 5, 3}), x({1, 2, 5, 6}), x({2, 6})}),
              HasSubstr("expected a mask that broadcasts to 1x4x2x5"));
}

// The values of the vectors within other tensors are tested with the pass that makes them.
TEST(Attention, VectorsLieWithinTheirTensor) {
  const auto x = [](const Shape& shape) { return input(Tensor(DataType::kFLOAT, shape)); };
  Attention op;
  op.vectors[Attention::kKey] = {{1, 2, 5, 3}, {30, 3, 6, 1}, 0};
  EXPECT_EQ(infer_error(op, {x({1, 2, 2, 3}), x({5, 6}), x({1, 2, 5, 6})}), "");
  op.vectors[Attention::kKey].offset = 1;
  EXPECT_THAT(infer_error(op, {x({1, 2, 2, 3}), x({5, 6}), x({1, 2, 5, 6})}),
              HasSubstr("vectors 1x2x5x3 at steps 30x3x6x1 from 1 do not lie within 30 elements"));
  op.vectors[Attention::kKey] = {};
  op.vectors[Attention::kResult] = {{1, 2, 2, 6}, {24, 6, 12, 1}, 0};
  op.result_shape = {2, 13};
  EXPECT_THAT(infer_error(op, {x({1, 2, 2, 3}), x({1, 2, 5, 3}), x({1, 2, 5, 6})}),
              HasSubstr("a result of shape 1x2x2x6 does not fill a tensor of shape 2x13"));
}

TEST(Attention, GivesBytes) {
  Attention op;
  op.bytes = {true, 0.5f, 3, DataType::kUINT8, {0, 7}};
  const Tensor one = make<float>({1, 1, 1, 1}, {1});
  const auto bytes = [&](float value) {
    return run(op, {input(one), input(one), input(make<float>({1, 1, 1, 1}, {value}))})[0];
  };
  EXPECT_EQ(bytes(1).type(), DataType::kUINT8);
  EXPECT_THAT(bytes(1).numbers(), ::testing::ElementsAre(5));
  EXPECT_THAT(bytes(9).numbers(), ::testing::ElementsAre(7));
  EXPECT_THAT(bytes(-9).numbers(), ::testing::ElementsAre(0));
  op.bytes.scale = 1e-39f;
  EXPECT_THAT(infer_error(op, {input(one), input(one), input(one)}), HasSubstr("its reciprocal"));
  op.bytes.scale = 1;
  op.scores = AttentionScores::kShares;
  EXPECT_THAT(infer_error(op, {input(one), input(one), input(one)}),
              HasSubstr("scores beside bytes"));
}

TEST(Attention, LengthsOutsideAreErrors) {
  const Given x =
      input(Tensor::of<float>(DataType::kFLOAT, Shape{1, 1, 2, 1}, std::vector<float>{1, 2}));
  const auto message = [&](int64_t length) -> std::string {
    try {
      run(Attention(), {x, x, x, std::nullopt, input(make<int64_t>({1}, {length}))});
    } catch (const Error& e) {
      return e.what();
    }
    return "";
  };
  EXPECT_EQ(message(2), "");
  EXPECT_THAT(message(3), HasSubstr("the number of valid keys is 3; expected 0 to 2"));
  EXPECT_THAT(message(-1), HasSubstr("the number of valid keys is -1"));
}

}  // namespace
}  // namespace tenon
