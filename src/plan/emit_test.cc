#include "plan/emit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ops/activation.h"
#include "ops/elementwise.h"
#include "ops/shuffle.h"

namespace tenon {
namespace {

using ::testing::ElementsAre;
using Place = PlanTensor::Place;

Value& relu(Network& n, Value& x, const char* name) {
  return *n.add_node(std::make_unique<Activation>(), {&x}, name).outputs[0];
}

Value& reshape(Network& n, Value& x, const Shape& shape, std::vector<int32_t> transpose = {}) {
  auto op = std::make_unique<Shuffle>();
  op->has_reshape = true;
  op->reshape = shape;
  op->first_transpose = std::move(transpose);
  return *n.add_node(std::move(op), {&x}, "reshape").outputs[0];
}

Plan plan_of(Network& n, Value& output) {
  n.mark_output(output);
  n.infer();
  BuildOptions options;
  options.time_kernels = false;
  return compile(n, cpu_target(), options);
}

std::vector<std::string> names(const Plan& plan) {
  std::vector<std::string> list;
  for (const PlanStep& step : plan.steps) list.push_back(step.name);
  return list;
}

TEST(Emit, AReshapeIsAViewWithoutAStep) {
  Network n;
  Value& x = n.add_input("x", DataType::kFLOAT, {2, 3});
  const Plan plan = plan_of(n, relu(n, reshape(n, relu(n, x, "first"), {6}), "last"));
  EXPECT_THAT(names(plan), ElementsAre("first", "last"));
  const PlanStep& last = plan.steps[1];
  EXPECT_EQ(plan.root_of(last.inputs[0]), plan.steps[0].outputs[0]);
  EXPECT_NE(last.inputs[0], plan.steps[0].outputs[0]);
}

TEST(Emit, ATransposeAndAnOutputAreSteps) {
  Network moved;
  Value& x = moved.add_input("x", DataType::kFLOAT, {2, 3});
  EXPECT_THAT(names(plan_of(moved, relu(moved, reshape(moved, x, {6}, {1, 0}), "last"))),
              ElementsAre("reshape", "last"));
  Network output;
  Value& y = output.add_input("x", DataType::kFLOAT, {2, 3});
  EXPECT_THAT(names(plan_of(output, reshape(output, y, {6}))), ElementsAre("reshape"));
}

TEST(Emit, OutputsLieWhereTheyAreNeeded) {
  Network n;
  Value& x = n.add_input("x", DataType::kFLOAT, {4});
  const Plan plan = plan_of(n, relu(n, relu(n, x, "first"), "last"));
  const auto place = [&](size_t step) {
    return plan.tensors[static_cast<size_t>(plan.steps[step].outputs[0])].place;
  };
  EXPECT_EQ(place(0), Place::kArena);
  EXPECT_EQ(place(1), Place::kOutput);
}

}  // namespace
}  // namespace tenon
