#include "ops/attention.h"
#include "ops/gather.h"
#include "ops/shuffle.h"
#include "ops/slice.h"
#include "optimize/pass_test.h"

namespace tenon {
namespace {

using namespace testing;

Value& shuffle(Model& m, Value& x, std::vector<int32_t> first, const Shape& reshape,
               std::vector<int32_t> second = {}) {
  auto op = std::make_unique<Shuffle>();
  op->first_transpose = std::move(first);
  op->second_transpose = std::move(second);
  op->has_reshape = reshape.rank() > 0;
  op->reshape = reshape;
  return m.add(std::move(op), {&x});
}

Value& pick(Model& m, Value& x, int64_t index) {
  return m.add(std::make_unique<Gather>(),
               {&x, &m.network.add_weight(
                        Tensor::of<int64_t>(DataType::kINT64, {}, std::vector<int64_t>{index}))});
}

Value& attend(Model& m, Value& q, Value& k, Value& v) {
  auto op = std::make_unique<Attention>();
  op->scale = .3f;
  return m.add(std::move(op), {&q, &k, &v});
}

std::vector<const Attention*> only_attention(const Network& network) {
  std::vector<const Attention*> list;
  for (const auto& node : network.nodes())
    if (const auto* op = node->as<Attention>()) list.push_back(op);
  return list;
}

// What PyTorch's MultiheadAttention exports: one product for all three, steps before batches.
TEST(AttentionStrides, OneTensorForAllOperands) {
  Model m;
  Value& packed = m.input({5, 2, 96});  // steps, batches, 3 * 4 heads * 8
  Value& split =
      shuffle(m, shuffle(m, packed, {}, {1, 5, 2, 3, 32}), {3, 1, 2, 0, 4}, {3, 5, 2, 32});
  Value* operands[3];
  for (int64_t i = 0; i < 3; ++i)
    operands[i] =
        &shuffle(m, shuffle(m, pick(m, split, i), {}, {5, 8, 8}, {1, 0, 2}), {}, {2, 4, 5, 8});
  Value& result = attend(m, *operands[0], *operands[1], *operands[2]);
  m.output(shuffle(m, shuffle(m, result, {2, 0, 1, 3}, {10, 32}), {}, {5, 2, 32}, {1, 0, 2}));
  auto after = rewritten(m.network, attention_strides);
  const auto attention = only_attention(*after);
  ASSERT_EQ(attention.size(), 1u);
  EXPECT_EQ(attention[0]->vectors[Attention::kValue].offset, 64);
  EXPECT_EQ(attention[0]->vectors[Attention::kQuery].steps, (Shape{96, 8, 192, 1}));
  EXPECT_EQ(attention[0]->result_shape, (Shape{2, 5, 32}));
  EXPECT_EQ(after->outputs()[0]->producer->as<Attention>(), attention[0]);
  EXPECT_EQ(after->outputs()[0]->producer->inputs[0], after->inputs()[0]);
}

TEST(AttentionStrides, SlicesOfATensor) {
  Model m;
  Value& packed = m.input({2, 5, 96});
  const auto operand = [&](int64_t i) -> Value& {
    auto op = std::make_unique<Slice>();
    op->start = {0, 0, 32 * i};
    op->size = {2, 5, 32};
    op->stride = {1, 1, 1};
    return shuffle(m, m.add(std::move(op), {&packed}), {}, {2, 5, 4, 8}, {0, 2, 1, 3});
  };
  Value& q = operand(0);
  Value& k = operand(1);
  m.output(attend(m, q, k, operand(2)));
  const auto after = rewritten(m.network, attention_strides);
  const auto* op = only_attention(*after).at(0);
  EXPECT_EQ(op->vectors[Attention::kKey].offset, 32);
  EXPECT_EQ(op->vectors[Attention::kKey].steps, (Shape{480, 8, 96, 1}));
  EXPECT_TRUE(op->vectors[Attention::kResult].is_tensor());
}

// Vectors that do not lie in one piece, or at odd places, are moved as before.
TEST(AttentionStrides, WhatDoesNotSuitStays) {
  Model m;
  Value& q = shuffle(m, m.input({2, 4, 8, 5}, "q"), {0, 1, 3, 2}, {});
  Value& k = shuffle(m, m.input({2, 5, 4, 12}, "k"), {0, 2, 1, 3}, {});
  Value& v = shuffle(m, m.input({2, 5, 4, 8}, "v"), {0, 2, 1, 3}, {});
  auto slice = std::make_unique<Slice>();
  slice->start = {0, 0, 0, 3};
  slice->size = {2, 4, 5, 8};
  slice->stride = {1, 1, 1, 1};
  m.output(attend(m, q, m.add(std::move(slice), {&k}), v));
  const auto after = rewritten(m.network, attention_strides);
  const auto* op = only_attention(*after).at(0);
  EXPECT_TRUE(op->vectors[Attention::kQuery].is_tensor());
  EXPECT_TRUE(op->vectors[Attention::kKey].is_tensor());
  EXPECT_FALSE(op->vectors[Attention::kValue].is_tensor());
}

TEST(AttentionStrides, AResultThatOthersNeedStays) {
  Model m;
  Value& q = m.input({2, 4, 5, 8}, "q");
  Value& k = m.input({2, 4, 5, 8}, "k");
  Value& result = attend(m, q, k, k);
  m.output(result, "plain");
  m.output(shuffle(m, result, {0, 2, 1, 3}, {2, 5, 32}));
  EXPECT_FALSE(only_attention(*rewritten(m.network, attention_strides)).at(0)->has_own_strides());
}

}  // namespace
}  // namespace tenon
