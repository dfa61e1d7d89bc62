// What the CPU target's normalization kernel refuses.
#include "ops/normalization.h"

#include "backend/testing.h"

namespace tenon::cpu {
namespace {

TEST(NormalizationKernelTest, OthersAreRefused) {
  Normalization op;
  op.axes = 0b010;
  LayerTest middle(op, {data({2, 3, 4})});
  EXPECT_EQ(middle.offer("normalization"), "only the last axes are supported");
  op.axes = 0b100;
  LayerTest mixed(op, {data({2, 3, 4}), constant({1, 1, 4}), constant({1, 3, 1})});
  EXPECT_NE(mixed.offer("normalization"), "");
}

}  // namespace
}  // namespace tenon::cpu
