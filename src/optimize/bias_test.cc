#include "optimize/pass_test.h"

namespace tenon {
namespace {

using namespace testing;

TEST(Bias, OfAMatrixProductIsItsThirdInput) {
  for (const bool on_left : {false, true}) {
    Model m;
    Value& product = m.matrix_product(m.input({2, 3, 4}, "a"), m.input({2, 4, 5}, "b"));
    Value& row = m.weight({1, 1, 5});
    m.output(on_left ? m.sum(row, product) : m.sum(product, row));
    const auto after = rewritten(m.network, bias);
    ASSERT_EQ(after->nodes().size(), 1u);
    EXPECT_EQ(after->nodes()[0]->inputs.size(), 3u);
  }
}

TEST(Bias, LeavesColumnsAndTensorsOfTheNetwork) {
  Model m;
  Value& x = m.input({2, 3, 4});
  Value& column = m.sum(m.matrix_product(x, m.weight({1, 4, 3})), m.weight({1, 3, 1}));
  m.output(m.sum(m.matrix_product(column, m.weight({1, 3, 4})), x));
  EXPECT_EQ(rewritten(m.network, bias)->nodes().size(), 4u);
}

}  // namespace
}  // namespace tenon
