// What the importer's cases (recurrent.json) do not show: other element types, and errors.
#include "ops/recurrent.h"

#include "base/half.h"
#include "ops/op_test.h"

namespace tenon {
namespace {

using namespace testing;
using ::testing::HasSubstr;

Recurrent plain(int64_t units) {
  Recurrent op;
  op.kind_of_cell = RecurrentKind::kPlain;
  op.hidden_size = units;
  op.activations = {static_cast<int32_t>(nvinfer1::ActivationType::kRELU)};
  op.alpha = op.beta = {0};
  return op;
}

Given zeros(const Shape& shape, DataType type = DataType::kFLOAT) {
  return input(Tensor(type, shape));
}

// h = x + h, a running sum.
template <class T> std::vector<double> running_sum(DataType type) {
  const auto tensor = [&](const Shape& shape, std::vector<T> values) {
    return input(Tensor::of<T>(type, shape, values));
  };
  const auto y = run(plain(1), {tensor({3, 1, 1}, {T(1), T(2), T(3)}), tensor({1, 1, 1}, {T(1)}),
                                tensor({1, 1, 1}, {T(1)})});
  EXPECT_EQ(y.at(1).numbers(), (std::vector<double>{6}));
  return y.at(0).numbers();
}

TEST(Recurrent, WorksOnAllFloats) {
  const std::vector<double> sums{1, 3, 6};
  EXPECT_EQ(running_sum<float>(DataType::kFLOAT), sums);
  EXPECT_EQ(running_sum<Half>(DataType::kHALF), sums);
  EXPECT_EQ(running_sum<BFloat16>(DataType::kBF16), sums);
}

TEST(Recurrent, ShapesAndAttributesMustFit) {
  const Given x = zeros({4, 2, 3}), w = zeros({1, 5, 3}), r = zeros({1, 5, 5});
  EXPECT_EQ(infer_error(plain(5), {x, w, r}), "");
  EXPECT_THAT(infer_error(plain(6), {x, w, r}),
              HasSubstr("expected W (input 1) of shape 1x6x3, found 1x5x3"));
  EXPECT_THAT(infer_error(plain(5), {x, w, zeros({1, 5, 4})}), HasSubstr("expected R (input 2)"));
  EXPECT_THAT(infer_error(plain(5), {x, w, r, zeros({1, 5})}), HasSubstr("expected B (input 3)"));
  EXPECT_THAT(
      infer_error(plain(5), {x, w, r, std::nullopt, std::nullopt, std::nullopt, zeros({1, 2, 5})}),
      HasSubstr("only an LSTM"));
  EXPECT_THAT(infer_error(plain(0), {x, w, r}), HasSubstr("the hidden size is 0"));
  Recurrent op = plain(5);
  op.activations.clear();
  EXPECT_THAT(infer_error(op, {x, w, r}), HasSubstr("expected 1 activations"));
  EXPECT_THAT(infer_error(plain(5), {zeros({4, 2, 3}, DataType::kINT32), w, r}),
              HasSubstr("float32, float16 or bfloat16"));
}

TEST(Recurrent, LengthsOutsideAreErrors) {
  const auto message = [](int32_t length) -> std::string {
    const auto ones = [](const Shape& s) {
      return input(Tensor::of<float>(DataType::kFLOAT, s, std::vector<float>(3, 1.f)));
    };
    const Given one = input(make<float>({1, 1, 1}, {1}));
    try {
      run(plain(1), {ones({3, 1, 1}), one, one, std::nullopt, input(make<int32_t>({1}, {length}))});
    } catch (const Error& e) {
      return e.what();
    }
    return "";
  };
  EXPECT_EQ(message(3), "");
  EXPECT_THAT(message(4), HasSubstr("the length of a sequence is 4; expected 0 to 3"));
  EXPECT_THAT(message(-1), HasSubstr("the length of a sequence is -1"));
}

}  // namespace
}  // namespace tenon
