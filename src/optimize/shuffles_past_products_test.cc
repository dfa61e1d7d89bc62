#include "ops/shuffle.h"
#include "optimize/pass_test.h"

namespace tenon {
namespace {

using namespace testing;

Value& shuffle(Model& m, Value& x, std::vector<int32_t> first, const Shape& reshape = {},
               std::vector<int32_t> second = {}) {
  auto op = std::make_unique<Shuffle>();
  op->first_transpose = std::move(first);
  op->second_transpose = std::move(second);
  op->has_reshape = reshape.rank() > 0;
  op->reshape = reshape;
  return m.add(std::move(op), {&x});
}

Value& product(Model& m, Value& x, Value& weights, Value* bias = nullptr) {
  std::vector<Value*> inputs{&x, &weights};
  if (bias != nullptr) inputs.push_back(bias);
  return m.add(std::make_unique<MatrixMultiply>(), std::move(inputs));
}

TEST(ShufflesPastProducts, ATranspositionGoesBehind) {
  Model m;
  Value& y = product(m, shuffle(m, m.input({2, 5, 8}), {1, 0, 2}), m.weight({1, 8, 12}),
                     &m.weight({1, 1, 12}));
  m.output(shuffle(m, y, {}, {5, 2, 3, 4}), "y");
  m.output(shuffle(m, y, {2, 0, 1}), "z");
  const auto after = rewritten(m.network, shuffles_past_products);
  EXPECT_EQ(after->nodes().size(), 3u);
  EXPECT_NE(after->sorted()[0]->as<MatrixMultiply>(), nullptr);
}

TEST(ShufflesPastProducts, AShuffleOfRowsGoesBefore) {
  Model m;
  Value& x = shuffle(m, m.input({2, 3, 5, 4}), {2, 0, 1, 3}, {10, 12});
  Value& y = product(m, x, m.weight({12, 7}), &m.weight({1, 7}));
  m.output(shuffle(m, y, {}, {5, 2, 7}, {1, 0, 2}));
  const auto after = rewritten(m.network, shuffles_past_products);
  ASSERT_EQ(after->nodes().size(), 2u);
  EXPECT_NE(after->sorted()[1]->as<MatrixMultiply>(), nullptr);
}

TEST(ShufflesPastProducts, WhatIsMoreThanRowsStays) {
  const auto count = [](Model& m) {
    return rewritten(m.network, shuffles_past_products)->nodes().size();
  };
  Model elements;  // the axis summed over moves
  {
    Value& x = shuffle(elements, elements.input({8, 5, 2}), {2, 1, 0});
    elements.output(
        shuffle(elements, product(elements, x, elements.weight({1, 8, 12})), {1, 0, 2}));
  }
  EXPECT_EQ(count(elements), 3u);
  Model weights;  // each matrix has weights of its own
  {
    Value& x = shuffle(weights, weights.input({2, 5, 8}), {1, 0, 2});
    weights.output(shuffle(weights, product(weights, x, weights.weight({5, 8, 12})), {1, 0, 2}));
  }
  EXPECT_EQ(count(weights), 3u);
  Model bias;  // rows have a bias of their own
  {
    Value& x = shuffle(bias, bias.input({2, 5, 8}), {1, 0, 2});
    Value& y = product(bias, x, bias.weight({1, 8, 12}), &bias.weight({5, 1, 12}));
    bias.output(shuffle(bias, y, {1, 0, 2}));
  }
  EXPECT_EQ(count(bias), 3u);
}

}  // namespace
}  // namespace tenon
