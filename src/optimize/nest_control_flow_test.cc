// Flat loops and conditionals become layers with bodies: which layers go into them.
#include "optimize/nest_control_flow.h"

#include "network/control_flow.h"
#include "ops/flow_boundary.h"
#include "optimize/pass_test.h"

namespace tenon::testing {
namespace {

using ::testing::ElementsAre;

template <class Kind> std::unique_ptr<Kind> boundary(const char* name, int32_t flow = 0) {
  auto op = std::make_unique<Kind>();
  op->flow = flow;
  op->flow_name = name;
  return op;
}

Value& number(Model& m, DataType type, double value) {
  Tensor t(type, Shape());
  if (type == DataType::kBOOL)
    *t.mutable_data<bool>() = value != 0;
  else
    *t.mutable_data<int32_t>() = static_cast<int32_t>(value);
  return m.network.add_weight(std::move(t));
}

// relu(x) does not depend on the state: it stays outside, and is computed once.
TEST(NestControlFlow, WhatDoesNotChangeStaysOutside) {
  Model m;
  Value& x = m.input({2, -1});
  Value& same = m.add(std::make_unique<Activation>(), {&x}, "outside");
  Value& state = m.add(boundary<Recurrence>("loop"), {&x}, "state");
  Value& next = m.sum(state, same);
  state.producer->inputs.push_back(&next);
  m.network.infer(
      m.network.add_node(boundary<LoopLimit>("loop"), {&number(m, DataType::kINT32, 3)}));
  Value& last = m.add(boundary<LoopExit>("loop"), {&state}, "last");
  m.output(last);
  nest_control_flow(m.network);
  verify(m.network);
  EXPECT_THAT(layers_of(m.network), ElementsAre("outside", "loop"));
  EXPECT_EQ(m.network.outputs()[0]->name, "y");
  const ControlFlow& layer = *control_flow_of(*m.network.outputs()[0]->producer);
  ASSERT_EQ(layer.bodies.size(), 1u);
  verify(*layer.bodies[0]);
  const Tensor in = Tensor::of<float>(DataType::kFLOAT, {2, 1}, std::vector<float>{1, 2});
  const Tensor inputs[] = {in};
  EXPECT_THAT(run_reference(m.network, inputs)[0].numbers(), ElementsAre(4, 8));
}

// One value that leaves twice, and one branch that is shared.
TEST(NestControlFlow, ConditionalOfOneValue) {
  Model m;
  Value& x = m.input({2});
  Value& b = m.network.add_input("b", DataType::kBOOL, Shape());
  m.network.infer(m.network.add_node(boundary<BranchCondition>("if"), {&b}));
  Value& inside = m.add(boundary<BranchInput>("if"), {&x}, "inside");
  Value& twice = m.sum(inside, inside);
  Value& first = m.add(boundary<BranchOutput>("if"), {&twice, &inside}, "first");
  Value& second = m.add(boundary<BranchOutput>("if"), {&twice, &twice}, "second");
  m.output(first, "y");
  m.output(second, "z");
  nest_control_flow(m.network);
  verify(m.network);
  EXPECT_THAT(layers_of(m.network), ElementsAre("if"));
  const Tensor in = Tensor::of<float>(DataType::kFLOAT, {2}, std::vector<float>{1, 2});
  for (const bool yes : {false, true}) {
    const Tensor inputs[] = {in, Tensor::of<bool>(DataType::kBOOL, Shape(), std::span(&yes, 1))};
    const auto results = run_reference(m.network, inputs);
    EXPECT_THAT(results[0].numbers(), yes ? ElementsAre(2, 4) : ElementsAre(1, 2));
    EXPECT_THAT(results[1].numbers(), ElementsAre(2, 4));
  }
}

// The last value of one recurrence, twice.
TEST(NestControlFlow, OneStateThatLeavesTwice) {
  Model m;
  Value& x = m.input({2});
  Value& state = m.add(boundary<Recurrence>("loop"), {&x}, "state");
  state.producer->inputs.push_back(&m.sum(state, state));
  m.network.infer(
      m.network.add_node(boundary<LoopLimit>("loop"), {&number(m, DataType::kINT32, 2)}));
  m.output(m.add(boundary<LoopExit>("loop"), {&state}, "first"), "y");
  m.output(m.add(boundary<LoopExit>("loop"), {&state}, "second"), "z");
  nest_control_flow(m.network);
  verify(m.network);
  const Tensor inputs[] = {Tensor::of<float>(DataType::kFLOAT, {2}, std::vector<float>{1, 2})};
  for (const Tensor& result : run_reference(m.network, inputs))
    EXPECT_THAT(result.numbers(), ElementsAre(4, 8));
}

}  // namespace
}  // namespace tenon::testing
