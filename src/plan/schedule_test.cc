#include "plan/schedule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ops/activation.h"
#include "ops/non_zero.h"
#include "ops/shape_of.h"

namespace tenon {
namespace {

using ::testing::ElementsAre;

Value& add_relu(Network& n, Value& x, const char* name) {
  return *n.add_node(std::make_unique<Activation>(), {&x}, name).outputs[0];
}

std::vector<std::string> names(const Schedule& schedule) {
  std::vector<std::string> list;
  for (const Node* node : schedule.layers()) list.push_back(node->name);
  return list;
}

TEST(Schedule, LeavesOutWhatNobodyNeeds) {
  Network n;
  Value& x = n.add_input("x", DataType::kFLOAT, {4});
  Value& a = add_relu(n, x, "a");
  add_relu(n, a, "idle");
  Value& b = add_relu(n, a, "b");
  n.mark_output(b);
  n.infer();
  const Schedule schedule(n);
  EXPECT_THAT(names(schedule), ElementsAre("a", "b"));
  EXPECT_EQ(schedule.last_use(x), 0);
  EXPECT_EQ(schedule.last_use(a), 1);
  EXPECT_EQ(schedule.last_use(b), Schedule::kForever);
}

TEST(Schedule, ElementsThatFollowFromShapesNeedNoLayer) {
  Network n;
  Value& x = n.add_input("x", DataType::kFLOAT, {-1, 3});
  Value& shape = *n.add_node(std::make_unique<ShapeOf>(), {&x}, "shape").outputs[0];
  n.mark_output(shape);
  n.infer();
  const Schedule schedule(n);
  EXPECT_TRUE(schedule.on_host(shape));
  EXPECT_FALSE(schedule.on_host(x));
  EXPECT_THAT(names(schedule), ElementsAre());
}

TEST(Schedule, LayersOfEarlySizesComeBeforeThoseOfLateOnes) {
  Network n;
  Value& x = n.add_input("x", DataType::kFLOAT, {4});
  Value& found = *n.add_node(std::make_unique<NonZero>(), {&x}, "find").outputs[0];
  found.name = "found";
  Value& shape = *n.add_node(std::make_unique<ShapeOf>(), {&found}, "shape").outputs[0];
  Value& again = *n.add_node(std::make_unique<NonZero>(), {&found}, "again").outputs[0];
  Value& early = add_relu(n, x, "early");
  for (Value* v : {&shape, &again, &early}) n.mark_output(*v);
  n.infer();
  const Schedule schedule(n);
  EXPECT_THAT(names(schedule), ElementsAre("find", "early", "again"));
  EXPECT_TRUE(schedule.is_data_dependent(found));
  EXPECT_FALSE(schedule.is_data_dependent(early));
  EXPECT_TRUE(schedule.on_host(shape));
}

TEST(Schedule, AnInputThatDecidesAShapeIsToldApart) {
  Network n;
  Value& x = n.add_input("x", DataType::kFLOAT, {4});
  Value& sizes = n.add_input("sizes", DataType::kINT64, {2});
  n.mark_output(add_relu(n, x, "a"));
  n.infer();
  EXPECT_FALSE(Schedule(n).is_shape_input(sizes));
  x.dims = {sizes.content->front()};  // as a shape rule may say
  EXPECT_TRUE(Schedule(n).is_shape_input(sizes));
}

}  // namespace
}  // namespace tenon
