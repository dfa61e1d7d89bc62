// Plans with right checksums that their writer would not make: an Error, or a run, and nothing
// else.
#include <gtest/gtest.h>

#include "network/control_flow.h"
#include "ops/conditional.h"
#include "ops/gather.h"
#include "ops/identity.h"
#include "ops/loop.h"
#include "ops/non_zero.h"
#include "ops/reduce.h"
#include "plan/inspect.h"
#include "plan/mutations_testing.h"
#include "run/testing.h"

namespace tenon {
namespace {

using namespace testing;

// Convolutions, an epilogue and a reshape by computed extents.
Plan convolutions() {
  Network n;
  make_network(n);
  BuildOptions options;
  options.profiles = {profile({1, 4, 4, 4}, {2, 4, 8, 8}, {4, 4, 16, 16})};
  return build_plan(n, cpu_target(), options);
}

// Sizes that a step tells, and steps after it.
Plan data_dependent_sizes() {
  Network n;
  Value& x = n.add_input("x", DataType::kFLOAT, {6});
  Value& found = add(n, std::make_unique<NonZero>(), {&x});
  Value& row = add(n, std::make_unique<Gather>(), {&x, &found});
  finish(n, combine(n, row, to_float(n, found)), "y");
  return build_plan(n, cpu_target(), BuildOptions());
}

// A loop with a state and a collected tensor.
Plan loop() {
  auto body = std::make_shared<Network>();
  body->add_input("i", DataType::kINT64, {});
  Value& go = body->add_input("go", DataType::kBOOL, {});
  Value& sum = body->add_input("sum", DataType::kFLOAT, {-1}, {"n"});
  Value& x = body->add_input("x", DataType::kFLOAT, {-1}, {"n"});
  finish(*body, add(*body, std::make_unique<Identity>(), {&go}), "next");
  Value& next = combine(*body, sum, x);
  finish(*body, next, "state");
  finish(*body, add(*body, std::make_unique<Identity>(), {&next}), "piece");
  Network n;
  Value& start = n.add_input("start", DataType::kFLOAT, {2});
  Value& trips =
      n.add_weight(Tensor::of<int64_t>(DataType::kINT64, Shape{}, std::vector<int64_t>{3}));
  auto op = std::make_unique<Loop>();
  op->state_count = 1;
  op->collect_axes = {0};
  op->collect_reverse = {1};
  op->bodies = {body};
  op->outputs.add({DataType::kFLOAT, {BodyExtent::of(2)}});
  op->outputs.add({DataType::kFLOAT, {{}, BodyExtent::of(2)}});
  Node& node = n.add_node(std::move(op), {&trips, nullptr, &start, &start}, "loop");
  n.infer();
  finish(n, *node.outputs[0], "last");
  finish(n, *node.outputs[1], "states");
  return build_plan(n, cpu_target(), BuildOptions());
}

// At the optimum of its first profile, unless that takes much memory.
void run(const std::shared_ptr<const Engine>& engine) {
  constexpr int64_t kMax = 1 << 20;
  const Plan& plan = engine->plan();
  Context context(engine, true);
  std::vector<std::vector<std::byte>> memory;
  std::vector<Keeper> kept(plan.bindings.size());
  for (int i = 0; i < static_cast<int>(plan.bindings.size()); ++i) {
    const auto at = static_cast<size_t>(i);
    if (!plan.bindings[at].is_input) {
      context.set_output_allocator(i, &kept[at]);
      continue;
    }
    context.set_input_shape(i, plan.profiles[0].inputs[at].opt);
    const int64_t count = context.tensor_shape(i).volume();
    if (count > kMax) return;
    memory.emplace_back(bytes_of(engine->binding_tensor(i).type, count) + 1);
    context.set_address(i, memory.back().data());
  }
  if (context.device_memory_needed() <= 16 * kMax) context.execute();
}

// How many of `count` mutants are refused.
int refused(const Plan& plan, uint64_t count) {
  int refused = 0;
  for (uint64_t seed = 0; seed < count; ++seed) {
    SCOPED_TRACE(seed);
    Plan mutant = plan;
    PlanMutator mutator(seed);
    for (uint64_t i = 0; i <= seed % 2; ++i) mutator.mutate(mutant);
    try {
      mutant = read_plan(write_plan(mutant), nullptr, "mutant");
      plan_text(mutant);
      plan_json(mutant);
      run(std::make_shared<const Engine>(std::move(mutant), cpu_target(), Log()));
    } catch (const Error&) {
      ++refused;
    }
  }
  return refused;
}

// TENON_MUTANTS: how many of each.
uint64_t mutants() {
  const char* count = std::getenv("TENON_MUTANTS");
  return count != nullptr ? std::strtoull(count, nullptr, 10) : 500;
}

TEST(MutatedPlans, OfConvolutionsAreRefusedOrRun) {
  EXPECT_GT(refused(convolutions(), mutants()), 0);
}
TEST(MutatedPlans, OfDataDependentSizesAreRefusedOrRun) {
  EXPECT_GT(refused(data_dependent_sizes(), mutants()), 0);
}
TEST(MutatedPlans, OfALoopAreRefusedOrRun) {
  EXPECT_GT(refused(loop(), mutants()), 0);
}

}  // namespace
}  // namespace tenon
