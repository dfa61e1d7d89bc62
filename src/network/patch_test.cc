#include "network/patch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "network/test_op.h"

namespace tenon {
namespace {

using namespace testing;
using ::testing::ElementsAre;

struct PatchTest : ::testing::Test {
  Network network;
  Value* x = &network.add_input("x", DataType::kFLOAT, {2});

  std::vector<std::string> names() const {
    std::vector<std::string> list;
    for (const Node* node : network.sorted()) list.push_back(node->name);
    return list;
  }
};

TEST_F(PatchTest, ChangesNothingUntilItIsApplied) {
  Node& a = add(network, {x}, "a");
  network.mark_output(*a.outputs[0]);
  const std::string before = dump(network);
  Patch patch;
  EXPECT_TRUE(patch.empty());
  patch.fuse(std::make_unique<Repeat>(), {x}, {&a});
  EXPECT_FALSE(patch.empty());
  EXPECT_TRUE(patch.removes(a));
  EXPECT_EQ(dump(network), before);
}

TEST_F(PatchTest, PutsOneLayerInThePlaceOfTwo) {
  Node& a = add(network, {x}, "a");
  Node& b = add(network, {a.outputs[0]}, "b");
  Node& c = add(network, {b.outputs[0]}, "c");
  Node& side = add(network, {x}, "side");
  network.mark_output(*c.outputs[0]);
  network.mark_output(*side.outputs[0]);
  a.metadata = "A";
  b.metadata = "B";
  b.outputs[0]->name = "between";
  Patch patch;
  patch.fuse(std::make_unique<Repeat>(), {x, &patch.weight(floats({1, 2}), "w")}, {&a, &b});
  std::move(patch).apply(network);
  verify(network);
  EXPECT_THAT(names(), ElementsAre("a + b", "c", "side")) << "in the place of what it replaces";
  const Node& fused = *network.sorted()[0];
  EXPECT_EQ(fused.metadata,
            "A\x1E"
            "B");
  EXPECT_EQ(fused.outputs[0]->name, "between");
  EXPECT_TRUE(fused.inputs[1]->is_weight());
  EXPECT_EQ(c.inputs[0], fused.outputs[0]);
}

TEST_F(PatchTest, KeepsInputsAndOutputs) {
  Node& a = add(network, {x}, "a");
  Value& y = *a.outputs[0];
  y.name = "y";
  y.allowed_formats = 3;
  y.requested_type = DataType::kHALF;
  network.mark_output(y);
  Patch patch;
  patch.fuse(std::make_unique<Repeat>(), {x}, {&a});
  std::move(patch).apply(network);
  verify(network);
  ASSERT_EQ(network.outputs().size(), 1u);
  EXPECT_EQ(network.outputs()[0]->name, "y");
  EXPECT_EQ(network.outputs()[0]->allowed_formats, 3u);
  EXPECT_EQ(network.outputs()[0]->requested_type, DataType::kHALF);
}

TEST_F(PatchTest, FollowsReplacementsOfReplacements) {
  Node& a = add(network, {x}, "a");
  Node& b = add(network, {a.outputs[0]}, "b");
  Node& c = add(network, {b.outputs[0]}, "c");
  network.mark_output(*c.outputs[0]);
  Patch patch;
  patch.replace(*b.outputs[0], *a.outputs[0]);
  patch.replace(*a.outputs[0], *x);
  patch.remove(a);
  patch.remove(b);
  std::move(patch).apply(network);
  verify(network);
  EXPECT_THAT(names(), ElementsAre("c"));
  EXPECT_EQ(c.inputs[0], x);
}

TEST_F(PatchTest, LayersOfOnePatchMayUseEachOther) {
  Node& a = add(network, {x}, "a");
  Node& b = add(network, {a.outputs[0]}, "b");
  network.mark_output(*b.outputs[0]);
  Patch patch;
  patch.fuse(std::make_unique<Repeat>(), {a.outputs[0]}, {&b});  // the user first
  patch.fuse(std::make_unique<Repeat>(), {x}, {&a});
  std::move(patch).apply(network);
  verify(network);
  EXPECT_EQ(network.nodes().size(), 2u);
}

TEST_F(PatchTest, RemovesWeightsThatNobodyUses) {
  Value& weight = network.add_weight(floats({1, 2}), "w");
  Node& a = add(network, {x, &weight}, "a");
  network.mark_output(*a.outputs[0]);
  Patch patch;
  patch.fuse(std::make_unique<Repeat>(), {x}, {&a});
  std::move(patch).apply(network);
  EXPECT_EQ(network.values().size(), 2u);
}

TEST_F(PatchTest, KnowsWhatMayStandForAnOutput) {
  Node& a = add(network, {x}, "a");
  Node& b = add(network, {a.outputs[0]}, "b");
  network.mark_output(*b.outputs[0]);
  EXPECT_TRUE(can_replace(*b.outputs[0], *a.outputs[0]));
  EXPECT_FALSE(can_replace(*b.outputs[0], *x));
  EXPECT_TRUE(can_replace(*a.outputs[0], *x));
  network.mark_output(*a.outputs[0]);
  EXPECT_FALSE(can_replace(*b.outputs[0], *a.outputs[0]));
}

TEST_F(PatchTest, IsFastOnManyLayers) {
  constexpr int kLayers = 100000;
  Value* v = x;
  std::vector<Node*> layers;
  for (int i = 0; i < kLayers; ++i) {
    layers.push_back(&add(network, {v}, ""));
    v = layers.back()->outputs[0];
  }
  network.mark_output(*v);
  Patch patch;
  for (size_t i = 0; i < layers.size(); i += 2)
    patch.fuse(std::make_unique<Repeat>(), {layers[i]->inputs[0]}, {layers[i], layers[i + 1]});
  std::move(patch).apply(network);  // quadratic work here would run into the test's time limit
  EXPECT_EQ(network.sorted().size(), kLayers / 2u);
}

}  // namespace
}  // namespace tenon
