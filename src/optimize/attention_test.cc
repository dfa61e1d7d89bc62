#include "ops/attention.h"

#include "ops/shuffle.h"
#include "ops/softmax.h"
#include "optimize/pass_test.h"

namespace tenon {
namespace {

using namespace testing;
using Operation = ElementWiseOperation;

Value& transposed(Model& m, Value& x) {
  auto op = std::make_unique<Shuffle>();
  op->second_transpose = {0, 1, 3, 2};
  return m.add(std::move(op), {&x});
}

// What exporters write.
struct Form {
  bool factors_before = false, divides = false, transposes = true;
  Shape mask = {};
};

Value& attended(Model& m, const Form& form) {
  Value* query = &m.input({2, 3, 5, 8}, "q");
  Value* key = &m.input({2, 3, 7, 8}, "k");
  Value& value = m.input({2, 3, 7, 4}, "v");
  if (form.transposes) key = &transposed(m, *key);
  if (form.factors_before) {
    query = &m.product(*query, m.number(.5f));
    key = &m.product(m.number(.6f), *key);
  }
  Value* scores = &m.matrix_product(*query, *key, !form.transposes);
  if (!form.factors_before)
    scores = form.divides ? &m.elementwise(*scores, Operation::kDIV, m.number(2))
                          : &m.product(*scores, m.number(.3f));
  if (form.mask.rank() > 0) scores = &m.sum(m.input(form.mask, "mask"), *scores);
  return m.matrix_product(m.softmax(*scores), value);
}

TEST(AttentionPass, EveryForm) {
  for (const Form& form :
       {Form{}, Form{true}, Form{false, true}, Form{false, false, false},
        Form{false, false, true, {2, 1, 1, 7}}, Form{true, false, true, {1, 1, 5, 7}}}) {
    Model m;
    m.output(attended(m, form));
    const auto after = rewritten(m.network, attention);
    const Node* last = after->sorted().back();
    ASSERT_NE(last->as<Attention>(), nullptr);
    EXPECT_LE(after->nodes().size(), 2u);  // the keys' shuffle changes nothing now
    EXPECT_FLOAT_EQ(last->as<Attention>()->scale, form.factors_before ? .3f
                                                  : form.divides      ? .5f
                                                                      : .3f);
    EXPECT_EQ(last->inputs.size() > 3, form.mask.rank() > 0);
  }
}

TEST(AttentionPass, WhatOthersNeedStays) {
  Model m;
  Value& query = m.input({2, 3, 5, 8}, "q");
  Value& shares = m.softmax(m.matrix_product(query, transposed(m, m.input({2, 3, 7, 8}, "k"))));
  m.output(shares, "shares");
  m.output(m.matrix_product(shares, m.input({2, 3, 7, 4}, "v")));
  EXPECT_EQ(rewritten(m.network, attention)->nodes().size(), 4u);
}

TEST(AttentionPass, HeadsThatAreRepeatedStay) {
  Model m;
  Value& query = m.input({2, 3, 5, 8}, "q");
  Value& scores = m.matrix_product(query, transposed(m, m.input({2, 1, 7, 8}, "k")));
  m.output(m.matrix_product(m.softmax(scores), m.input({2, 1, 7, 4}, "v")));
  EXPECT_EQ(rewritten(m.network, attention)->nodes().size(), 4u);
}

TEST(AttentionPass, LongVectorsStay) {
  Model m;
  Value& query = m.input({1, 1, 3, 257}, "q");
  Value& scores = m.matrix_product(query, transposed(m, m.input({1, 1, 2, 257}, "k")));
  m.output(m.matrix_product(m.softmax(scores), m.input({1, 1, 2, 4}, "v")));
  EXPECT_EQ(rewritten(m.network, attention)->nodes().size(), 4u);
}

TEST(AttentionPass, OnlyWhereTheTargetIsFast) {
  FusingTarget slow;
  slow.accepts = [](const auto&) { return false; };
  Model m;
  m.output(attended(m, {}));
  EXPECT_GT(rewritten(m.network, attention, slow)->nodes().size(), 3u);
}

}  // namespace
}  // namespace tenon
