#include "ops/reorder.h"

#include "ops/op_test.h"

namespace tenon {
namespace {

using namespace testing;

TEST(Reorder, KeepsTheTensor) {
  Reorder op;
  op.to = Layout::kBlocked8;
  const Tensor x = make<float>({1, 3, 1, 1}, {1, 2, 3});
  const auto out = run(op, {input(x)})[0];
  EXPECT_EQ(out.shape(), x.shape());
  EXPECT_EQ(out.numbers(), x.numbers());
}

}  // namespace
}  // namespace tenon
