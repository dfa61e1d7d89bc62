#include "plan/emit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cpu/cpu_target.h"
#include "cpu/remote_target_testing.h"
#include "ops/activation.h"
#include "ops/elementwise.h"
#include "ops/shuffle.h"
#include "plan/plan_test_network.h"

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

// Three layers whose kernels' weights want more than the network's: the last finds no room left.
TEST(Emit, LayersShareTheRoomThatWeightsMayTake) {
  const auto plan_within = [](size_t limit) {
    Network n;
    Value* x = &n.add_input("image", DataType::kFLOAT, {1, 32, 56, 56});
    for (const char* name : {"a", "b", "c"}) x = &testing::convolve(n, *x, name, 32, 32);
    n.mark_output(*x);
    n.infer();
    BuildOptions options;
    options.time_kernels = false;
    options.max_growth.plan = limit;
    return compile(n, cpu_target(), options);
  };
  const auto weight_bytes = [](const Plan& plan) {
    std::vector<size_t> layers;
    for (const PlanStep& step : plan.steps) {
      size_t bytes = 0;
      for (const int32_t w : step.packed) bytes += plan.weights[static_cast<size_t>(w)].bytes();
      if (bytes > 0) layers.push_back(bytes);
    }
    return layers;
  };
  constexpr size_t kPlain = (32 * 32 * 9 + 32) * sizeof(float);
  const std::vector<size_t> free = weight_bytes(plan_within(SIZE_MAX));
  ASSERT_EQ(free.size(), 3u);
  const size_t growth = free[0] - kPlain;
  ASSERT_GT(growth, kPlain);
  const std::vector<size_t> limited = weight_bytes(plan_within(5 * growth / 2));
  ASSERT_EQ(limited.size(), 3u);
  EXPECT_EQ(limited[0], kPlain + growth);
  EXPECT_EQ(limited[1], kPlain + growth);
  EXPECT_LE(limited[2], kPlain + growth / 2);
}

TEST(Emit, KernelsAreTimedWithColdWeightsWhereTheCacheIsTooSmall) {
  const testing::RemoteTarget target;
  const auto cold_bytes = [&](size_t cache) {
    target.memory.cache = cache;
    target.memory.cold_bytes = 0;
    Network n;
    testing::make_network(n);
    BuildOptions options;
    options.profiles = {testing::profile({1, 4, 8, 8}, {1, 4, 8, 8}, {1, 4, 8, 8})};
    compile(n, target, options);
    return target.memory.cold_bytes;
  };
  EXPECT_EQ(cold_bytes(0), 0u);  // it is not known
  EXPECT_EQ(cold_bytes(1 << 20), 0u);
  EXPECT_GT(cold_bytes(1 << 10), 0u);
  target.memory.cache = 0;
}

TEST(Emit, KernelsAreTimedWithDataThatTheLayerBeforeWrote) {
  const testing::RemoteTarget target;
  Network n;
  testing::make_network(n);
  BuildOptions options;
  options.profiles = {testing::profile({2, 4, 8, 8}, {2, 4, 8, 8}, {2, 4, 8, 8})};
  target.memory.written.clear();
  compile(n, target, options);
  ASSERT_FALSE(target.memory.written.empty());
  for (const WrittenRows& rows : target.memory.written) EXPECT_EQ(rows.images, 2);
}

}  // namespace
}  // namespace tenon
