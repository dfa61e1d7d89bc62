#include "ops/normalization.h"
#include "ops/reduce.h"
#include "optimize/pass_test.h"

namespace tenon {
namespace {

using namespace testing;
using nvinfer1::UnaryOperation;
using Operation = ElementWiseOperation;

Value& mean(Model& m, Value& x, uint32_t axes = 4) {
  auto op = std::make_unique<Reduce>();
  op->operation = nvinfer1::ReduceOperation::kAVG;
  op->axes = axes;
  op->keep_dimensions = true;
  return m.add(std::move(op), {&x});
}

struct Form {
  bool two_differences = false, power = true, reciprocal = false, affine = true;
};

// What exporters write.
Value& normalized(Model& m, Value& x, const Form& form) {
  Value& difference = m.elementwise(x, Operation::kSUB, mean(m, x));
  Value& other = form.two_differences ? m.elementwise(x, Operation::kSUB, mean(m, x)) : difference;
  Value& square =
      form.power ? m.elementwise(other, Operation::kPOW, m.number(2, 3)) : m.product(other, other);
  Value& root = m.unary(UnaryOperation::kSQRT, m.sum(mean(m, square), m.number(1e-3f, 3)));
  Value& y = form.reciprocal ? m.product(m.unary(UnaryOperation::kRECIP, root), difference)
                             : m.elementwise(difference, Operation::kDIV, root);
  if (!form.affine) return y;
  return m.sum(m.product(m.weight({1, 1, 8}), y), m.weight({1, 1, 8}));
}

TEST(LayerNormalization, EveryForm) {
  for (const Form& form : {Form{}, Form{true}, Form{false, false}, Form{false, true, true},
                           Form{false, true, false, false}}) {
    Model m;
    Value& x = m.input({2, 5, 8});
    m.output(normalized(m, x, form));
    const auto after = rewritten(m.network, layer_normalization);
    ASSERT_EQ(after->nodes().size(), 1u);
    const auto* op = after->nodes()[0]->as<Normalization>();
    ASSERT_NE(op, nullptr);
    EXPECT_EQ(op->axes, 4u);
    EXPECT_FLOAT_EQ(op->epsilon, 1e-3f);
    EXPECT_EQ(after->nodes()[0]->inputs[1] != nullptr, form.affine);
  }
}

TEST(LayerNormalization, WhatOthersNeedStays) {
  Model m;
  Value& x = m.input({2, 5, 8});
  Value& average = mean(m, x);
  Value& difference = m.elementwise(x, Operation::kSUB, average);
  m.output(average, "mean");
  Value& square = m.product(difference, difference);
  Value& root = m.unary(UnaryOperation::kSQRT, m.sum(mean(m, square), m.number(1e-3f, 3)));
  m.output(m.elementwise(difference, Operation::kDIV, root));
  EXPECT_EQ(rewritten(m.network, layer_normalization)->nodes().size(), 7u);
}

TEST(LayerNormalization, MeansOverUnlikeAxesStay) {
  Model m;
  Value& x = m.input({2, 5, 8});
  Value& difference = m.elementwise(x, Operation::kSUB, mean(m, x));
  Value& square = m.product(difference, difference);
  Value& root = m.unary(UnaryOperation::kSQRT, m.sum(mean(m, square, 6), m.number(1e-3f, 3)));
  m.output(m.elementwise(difference, Operation::kDIV, root));
  EXPECT_EQ(rewritten(m.network, layer_normalization)->nodes().size(), 7u);
}

}  // namespace
}  // namespace tenon
