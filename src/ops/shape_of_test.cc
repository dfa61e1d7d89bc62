#include "ops/shape_of.h"

#include "ops/op_test.h"

namespace tenon {
namespace {

using namespace testing;

TEST(ShapeOf, GivesExtents) {
  const auto out = run(ShapeOf(), {input(make<float>({1, 2, 1}, {1, 2}))})[0];
  EXPECT_EQ(out.type(), DataType::kINT64);
  EXPECT_THAT(out.integers(), ::testing::ElementsAre(1, 2, 1));
  EXPECT_EQ(run(ShapeOf(), {input(make<float>({}, {1}))})[0].shape(), Shape{0});
}

TEST(ShapeOf, IsKnownBeforeTheNetworkRuns) {
  Network network;
  Value& x = network.add_input("x", DataType::kFLOAT, {-1, 3});
  Node& node = network.add_node(ShapeOf().clone(), {&x});
  network.infer();
  EXPECT_EQ(node.outputs[0]->content, x.dims);
}

}  // namespace
}  // namespace tenon
