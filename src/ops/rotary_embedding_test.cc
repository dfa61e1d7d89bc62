// ONNX's node tests give the numbers; here are other types, and errors.
#include "ops/rotary_embedding.h"

#include "base/half.h"
#include "ops/op_test.h"

namespace tenon {
namespace {

using namespace testing;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(RotaryEmbedding, WorksOnHalves) {
  const auto halves = [](const Shape& shape, std::vector<Half> values) {
    return input(Tensor::of<Half>(DataType::kHALF, shape, values));
  };
  const auto y =
      run(RotaryEmbedding(), {halves({1, 1, 1, 2}, {Half(3), Half(4)}),
                              halves({1, 1, 1}, {Half(0)}), halves({1, 1, 1}, {Half(1)})});
  EXPECT_THAT(y.at(0).numbers(), ElementsAre(-4, 3));
}

TEST(RotaryEmbedding, RefusesWhatDoesNotFit) {
  const auto x = [](const Shape& shape) { return input(Tensor(DataType::kFLOAT, shape)); };
  RotaryEmbedding op;
  EXPECT_EQ(infer_error(op, {x({1, 2, 3, 4}), x({1, 3, 2}), x({1, 3, 2})}), "");
  EXPECT_THAT(infer_error(op, {x({1, 2, 3, 5}), x({1, 3, 2}), x({1, 3, 2})}),
              HasSubstr("5 of 5 elements cannot be rotated in pairs"));
  EXPECT_THAT(infer_error(op, {x({2, 3, 4}), x({1, 3, 2}), x({1, 3, 2})}),
              HasSubstr("expected data of 4 dimensions"));
  EXPECT_THAT(infer_error(op, {x({1, 2, 3, 4}), x({1, 3, 3}), x({1, 3, 2})}),
              HasSubstr("expected input 1 with a last extent of 2"));
  op.dimension = 6;
  EXPECT_THAT(infer_error(op, {x({1, 2, 3, 4}), x({1, 3, 3}), x({1, 3, 3})}),
              HasSubstr("6 of 4 elements cannot be rotated in pairs"));
}

TEST(RotaryEmbedding, PositionsOutsideAreErrors) {
  const auto message = [](int32_t position) -> std::string {
    const Given table = input(make<float>({2, 1}, {1, 1}));
    try {
      run(RotaryEmbedding(), {input(make<float>({1, 1, 1, 2}, {1, 2})), table, table,
                              input(make<int32_t>({1, 1}, {position}))});
    } catch (const Error& e) {
      return e.what();
    }
    return "";
  };
  EXPECT_EQ(message(1), "");
  EXPECT_THAT(message(2), HasSubstr("position 2 is outside [0, 2)"));
  EXPECT_THAT(message(-1), HasSubstr("position -1 is outside [0, 2)"));
}

}  // namespace
}  // namespace tenon
