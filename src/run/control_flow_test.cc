// Loops and conditionals, through a plan file and a context.
#include "network/control_flow.h"

#include <thread>

#include "cpu/cpu_target.h"
#include "cpu/remote_target_testing.h"
#include "ops/conditional.h"
#include "ops/identity.h"
#include "ops/loop.h"
#include "ops/reduce.h"
#include "run/testing.h"

namespace tenon {
namespace {

using namespace testing;
using ::testing::ElementsAre;

// On the host, and on a device.
class ControlFlowOn : public ::testing::TestWithParam<bool> {
 protected:
  const Target& target() const {
    return GetParam() ? static_cast<const Target&>(device_) : cpu_target();
  }

 private:
  RemoteTarget device_;
};
INSTANTIATE_TEST_SUITE_P(Targets, ControlFlowOn, ::testing::Bool(),
                         [](const auto& test) { return test.param ? "device" : "host"; });

// Loop: inputs "trips", "start" (n) and "x" (n). Outputs: the state, start + trips * x; each state
// on the way; and x + x of each iteration.
std::shared_ptr<const Engine> counted_sum(const Target& target) {
  auto body = std::make_shared<Network>();
  body->add_input("i", DataType::kINT64, {});
  Value& go = body->add_input("go", DataType::kBOOL, {});
  Value& sum = body->add_input("sum", DataType::kFLOAT, {-1}, {"n"});
  Value& x = body->add_input("x", DataType::kFLOAT, {-1}, {"n"});
  finish(*body, add(*body, std::make_unique<Identity>(), {&go}), "next");
  Value& next = combine(*body, sum, x);
  finish(*body, next, "state");
  finish(*body, add(*body, std::make_unique<Identity>(), {&next}), "piece");
  finish(*body, combine(*body, x, x), "twice");

  Network n;
  Value& trips = n.add_input("trips", DataType::kINT64, {});
  Value& start = n.add_input("start", DataType::kFLOAT, {-1}, {"n"});
  Value& all = n.add_input("x", DataType::kFLOAT, {-1}, {"n"});
  auto loop = std::make_unique<Loop>();
  loop->state_count = 1;
  loop->collect_axes = {0, 0};
  loop->collect_reverse = {0, 1};
  loop->bodies = {body};
  const auto extent = BodyExtent::of_input(3, 0);
  loop->outputs.add({DataType::kFLOAT, {extent}});
  loop->outputs.add({DataType::kFLOAT, {{}, extent}});
  loop->outputs.add({DataType::kFLOAT, {{}, extent}});
  Node& node = n.add_node(std::move(loop), {&trips, nullptr, &start, &all}, "loop");
  n.infer();
  finish(n, *node.outputs[0], "last");
  finish(n, *node.outputs[1], "states");
  finish(n, *node.outputs[2], "doubles");
  ProfileRequest profile;
  for (const char* name : {"start", "x"})
    profile.inputs[name] = {Shape{1}, Shape{2}, Shape{8}, {}, {}, {}};
  return engine_of(n, profile, target);
}

TEST_P(ControlFlowOn, ALoopCountsSumsAndCollects) {
  Runner r(counted_sum(target()));
  std::vector<float> start{1, 10}, x{2, 3};
  r.input("start", {2}, start);
  r.input("x", {2}, x);
  for (int64_t count : {3, 0, 5, 3}) {
    std::vector<int64_t> trips{count};
    r.input("trips", {}, trips);
    ASSERT_EQ(r.error(), "");
    std::vector<float> last = start, states, doubles;
    for (int64_t i = 0; i < count; ++i)
      for (size_t k = 0; k < 2; ++k) {
        states.push_back(last[k] += x[k]);
        doubles.push_back(2 * x[k]);
      }
    EXPECT_EQ(r.outputs[0].floats(), last);
    EXPECT_EQ(r.outputs[1].shape, (Shape{count, 2}));
    EXPECT_EQ(r.outputs[1].floats(), states);
    EXPECT_EQ(r.outputs[2].shape, (Shape{count, 2}));
    EXPECT_EQ(r.outputs[2].floats(), doubles);
  }
}

// The state doubles its length in each iteration; a layer follows that sees how long it became.
TEST_P(ControlFlowOn, AStateGrows) {
  auto body = std::make_shared<Network>();
  body->add_input("i", DataType::kINT64, {});
  Value& go = body->add_input("go", DataType::kBOOL, {});
  Value& state = body->add_input("s", DataType::kFLOAT, {-1});
  finish(*body, add(*body, std::make_unique<Identity>(), {&go}), "next");
  finish(*body, join(*body, state, state), "joined");
  Network n;
  Value& trips = n.add_input("trips", DataType::kINT64, {});
  Value& x = n.add_input("x", DataType::kFLOAT, {2});
  auto loop = std::make_unique<Loop>();
  loop->state_count = 1;
  loop->bodies = {body};
  loop->outputs.add({DataType::kFLOAT, {{}}});
  Value& grown = add(n, std::move(loop), {&trips, nullptr, &x}, "loop");
  finish(n, combine(n, grown, grown), "sum");

  Runner r(engine_of(n, {}, target()));
  std::vector<float> values{1, 2};
  r.input("x", {2}, values);
  for (int64_t count : {4, 0, 6, 4}) {
    std::vector<int64_t> trips_now{count};
    r.input("trips", {}, trips_now);
    ASSERT_EQ(r.error(), "");
    EXPECT_EQ(r.outputs[0].shape, Shape{2 << count});
    const auto found = r.outputs[0].floats();
    for (size_t i = 0; i < found.size(); ++i) ASSERT_EQ(found[i], i % 2 == 0 ? 2 : 4);
    EXPECT_EQ(r.context.tensor_shape(2), Shape{2 << count});
  }
}

TEST_P(ControlFlowOn, AConditionalRunsOneBody) {
  const auto branch = [](bool longer) {
    auto body = std::make_shared<Network>();
    Value& x = body->add_input("x", DataType::kFLOAT, {2});
    finish(*body, longer ? join(*body, x, x) : combine(*body, x, x), "y");
    return body;
  };
  Network n;
  Value& condition = n.add_input("condition", DataType::kBOOL, {});
  Value& x = n.add_input("x", DataType::kFLOAT, {2});
  auto op = std::make_unique<Conditional>();
  op->bodies = {branch(false), branch(true)};
  op->outputs.add({DataType::kFLOAT, {{}}});
  finish(n, add(n, std::move(op), {&condition, &x}, "if"), "y");
  Runner r(engine_of(n, {}, target()));
  std::vector<float> values{1, 2};
  std::vector<uint8_t> yes{1}, no{0};
  r.input("x", {2}, values);
  r.input("condition", {}, yes);
  ASSERT_EQ(r.error(), "");
  EXPECT_THAT(r.outputs[0].floats(), ElementsAre(2, 4));
  r.input("condition", {}, no);
  ASSERT_EQ(r.error(), "");
  EXPECT_THAT(r.outputs[0].floats(), ElementsAre(1, 2, 1, 2));
}

// Bodies whose shapes follow from elements that only the run tells.
TEST_P(ControlFlowOn, ABodyReadsSizes) {
  const auto branch = [](uint32_t axes) {
    auto body = std::make_shared<Network>();
    Value& x = body->add_input("x", DataType::kFLOAT, {12});
    Value& size = body->add_input("size", DataType::kINT64, {2});
    auto reshape = std::make_unique<Shuffle>();
    reshape->has_reshape = true;
    auto sum = std::make_unique<Reduce>();
    sum->axes = axes;
    Value& rows = add(*body, std::move(reshape), {&x, &size});
    finish(*body, add(*body, std::move(sum), {&rows}), "y");
    return body;
  };
  Network n;
  Value& condition = n.add_input("condition", DataType::kBOOL, {});
  Value& x = n.add_input("x", DataType::kFLOAT, {12});
  Value& half = n.add_input("half", DataType::kINT64, {2});
  auto op = std::make_unique<Conditional>();
  op->bodies = {branch(1u << 0), branch(1u << 1)};
  op->outputs.add({DataType::kFLOAT, {{}}});
  finish(n, add(n, std::move(op), {&condition, &x, &combine(n, half, half)}, "if"), "y");
  ProfileRequest profile;
  profile.inputs["half"].min_values = profile.inputs["half"].opt_values = {1, 1};
  profile.inputs["half"].max_values = {3, 3};
  Runner r(engine_of(n, profile, target()));
  std::vector<float> values{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
  std::vector<int64_t> halves{1, 3};
  std::vector<uint8_t> yes{1}, no{0};
  r.input("x", {12}, values);
  r.input("half", {2}, halves);
  r.input("condition", {}, yes);
  ASSERT_EQ(r.error(), "");
  EXPECT_THAT(r.outputs[0].floats(), ElementsAre(8, 10, 12, 14, 16, 18));
  r.input("condition", {}, no);
  ASSERT_EQ(r.error(), "");
  EXPECT_THAT(r.outputs[0].floats(), ElementsAre(21, 57));
}

// What a thread keeps for its loops is its own.
TEST_P(ControlFlowOn, ContextsOfOneEngineLoopInSeveralThreads) {
  const auto engine = counted_sum(target());
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      Runner r(engine);
      std::vector<float> start{0, 0}, x{static_cast<float>(t), 1};
      r.input("start", {2}, start);
      r.input("x", {2}, x);
      for (int64_t count = 1; count < 20; ++count) {
        std::vector<int64_t> trips{count};
        r.input("trips", {}, trips);
        ASSERT_EQ(r.error(), "");
        ASSERT_THAT(r.outputs[0].floats(), ElementsAre(t * count, count));
        ASSERT_EQ(r.outputs[1].shape, (Shape{count, 2}));
      }
    });
  for (std::thread& t : threads) t.join();
}

}  // namespace
}  // namespace tenon
