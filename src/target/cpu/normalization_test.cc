// Normalisation against the reference.
#include "ops/normalization.h"

#include "target/testing.h"

namespace tenon::cpu {
namespace {

void check(const Normalization& op, std::vector<TestInput> inputs) {
  LayerTest test(op, std::move(inputs));
  ASSERT_EQ(test.offer("normalization"), "");
  expect_close(test.run(), test.reference());
}

TEST(NormalizationKernelTest, LastAxes) {
  for (const bool subtracts : {true, false})
    for (const uint32_t axes : {0b100u, 0b110u, 0b111u})
      for (const int64_t length : {1, 7, 40, 9000}) {
        SCOPED_TRACE(fmt::format("{} {} {}", subtracts, axes, length));
        Normalization op;
        op.axes = axes;
        op.subtracts_mean = subtracts;
        const Shape shape = {2, 3, length};
        Shape parameter = shape;
        for (int i = 0; i < 3; ++i)
          if ((axes >> i & 1) == 0) parameter[i] = 1;
        check(op, {data(shape), constant(parameter), constant(parameter, 3)});
        check(op, {data(shape), constant(parameter)});
        check(op, {data(shape)});
      }
}

// What instance normalisation is.
TEST(NormalizationKernelTest, ParametersOfRows) {
  Normalization op;
  op.axes = 0b1100;
  check(op, {data({2, 5, 6, 7}), constant({1, 5, 1, 1}), constant({1, 5, 1, 1}, 3)});
  check(op, {data({2, 5, 6, 7}), absent(), constant({1, 5, 1, 1}, 3)});
}

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
