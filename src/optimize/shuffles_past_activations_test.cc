#include "ops/activation.h"
#include "ops/convolution.h"
#include "ops/matrix_multiply.h"
#include "ops/shuffle.h"
#include "optimize/pass_test.h"

namespace tenon {
namespace {

using namespace testing;
using ::testing::ElementsAre;

Value& reshape(Model& m, Value& x, const Shape& shape) {
  auto op = std::make_unique<Shuffle>();
  op->has_reshape = true;
  op->reshape = shape;
  return m.add(std::move(op), {&x});
}

std::vector<LayerType> kinds_of(const Network& network) {
  std::vector<LayerType> kinds;
  for (const Node* node : network.sorted()) kinds.push_back(node->kind());
  return kinds;
}

// As a convolution along one axis comes out of an importer.
TEST(ShufflesPastActivations, ActivationsComeFirst) {
  Model m;
  Value& convolved = m.convolution(m.input({2, 3, 5, 1}), 4);
  m.output(m.relu(reshape(m, convolved, {0, 4, 5})));
  const auto after = rewritten(m.network, shuffles_past_activations);
  EXPECT_THAT(kinds_of(*after),
              ElementsAre(LayerType::kCONVOLUTION, LayerType::kACTIVATION, LayerType::kSHUFFLE));
}

TEST(ShufflesPastActivations, TranspositionsOfProductsToo) {
  Model m;
  auto op = std::make_unique<Shuffle>();
  op->first_transpose = {1, 0};
  Value& product = m.matrix_product(m.input({3, 5}), m.weight({5, 4}));
  m.output(m.relu(m.add(std::move(op), {&product})));
  const auto after = rewritten(m.network, shuffles_past_activations);
  EXPECT_THAT(kinds_of(*after), ElementsAre(LayerType::kMATRIX_MULTIPLY, LayerType::kACTIVATION,
                                            LayerType::kSHUFFLE));
}

TEST(ShufflesPastActivations, AsksTheTarget) {
  Model m;
  m.output(m.relu(reshape(m, m.convolution(m.input({2, 3, 5, 1}), 4), {0, 4, 5})));
  FusingTarget refuses;
  refuses.accepts = [](const auto&) { return false; };
  EXPECT_EQ(kinds_of(*rewritten(m.network, shuffles_past_activations, refuses)),
            kinds_of(m.network));
}

TEST(ShufflesPastActivations, WhatOthersUseStays) {
  Model shuffled;
  {
    Value& x = reshape(shuffled, shuffled.convolution(shuffled.input({1, 3, 5, 1}), 4), {1, 4, 5});
    shuffled.output(shuffled.sum(shuffled.relu(x), x));
  }
  Model convolved;
  {
    Value& x = convolved.convolution(convolved.input({1, 3, 5, 1}), 4);
    convolved.output(convolved.relu(reshape(convolved, x, {1, 4, 5})));
    convolved.output(x, "z");
  }
  Model input;
  input.output(input.relu(reshape(input, input.input({3, 4}), {12})));
  for (Model* m : {&shuffled, &convolved, &input})
    EXPECT_EQ(kinds_of(*rewritten(m->network, shuffles_past_activations)), kinds_of(m->network));
}

}  // namespace
}  // namespace tenon
