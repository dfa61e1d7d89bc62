// Loops, conditionals and sizes that only running tells, through a plan file and a context.
#include "network/control_flow.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "ops/activation.h"
#include "ops/cast.h"
#include "ops/concatenation.h"
#include "ops/conditional.h"
#include "ops/elementwise.h"
#include "ops/identity.h"
#include "ops/loop.h"
#include "ops/non_zero.h"
#include "ops/reduce.h"
#include "ops/shuffle.h"
#include "plan/plan_file.h"
#include "plan/plan_test_network.h"
#include "run/context.h"

namespace tenon {
namespace {

using nvinfer1::ElementWiseOperation;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

Value& add(Network& n, std::unique_ptr<Op> op, std::vector<Value*> inputs, const char* name = "") {
  Value& v = *n.add_node(std::move(op), std::move(inputs), name).outputs[0];
  n.infer();
  return v;
}
Value& combine(Network& n, Value& a, Value& b,
               ElementWiseOperation operation = ElementWiseOperation::kSUM) {
  auto op = std::make_unique<ElementWise>();
  op->operation = operation;
  return add(n, std::move(op), {&a, &b});
}
Value& join(Network& n, Value& a, Value& b) {
  return add(n, std::make_unique<Concatenation>(), {&a, &b});
}
Value& reshape(Network& n, Value& v, const Shape& shape) {
  auto op = std::make_unique<Shuffle>();
  op->has_reshape = true;
  op->reshape = shape;
  return add(n, std::move(op), {&v});
}
Value& to_float(Network& n, Value& v) {
  return add(n, std::make_unique<Cast>(), {&v});
}
void finish(Network& n, Value& v, const char* name) {
  v.name = name;
  n.mark_output(v);
  n.infer();
}

// Through a file, which is the same when it is written again.
std::shared_ptr<const Engine> engine_of(Network& n, const ProfileRequest& profile = {}) {
  BuildOptions options;
  options.profiles = {profile};
  const auto bytes = write_plan(build_plan(n, cpu_target(), options));
  Plan plan = read_plan(bytes, nullptr, "plan");
  EXPECT_EQ(write_plan(plan), bytes);
  return std::make_shared<const Engine>(std::move(plan), cpu_target(), Log());
}

// Keeps one output.
class Keeper final : public nvinfer1::IOutputAllocator {
 public:
  void* reallocateOutputAsync(const char*, void*, uint64_t size, uint64_t,
                              cudaStream_t) noexcept override {
    memory_.resize(size);
    return memory_.data();
  }
  void notifyShape(const char*, const nvinfer1::Dims& dims) noexcept override {
    shape = Shape(dims);
  }
  std::vector<float> floats() const {
    std::vector<float> values(static_cast<size_t>(shape.volume()));
    std::copy_n(reinterpret_cast<const float*>(memory_.data()), values.size(), values.begin());
    return values;
  }
  Shape shape;

 private:
  std::vector<std::byte> memory_;
};

// A context whose outputs are kept.
class Runner {
 public:
  explicit Runner(const std::shared_ptr<const Engine>& engine)
      : context(engine, true),
        outputs(engine->plan().bindings.size()
                - static_cast<size_t>(engine->plan().input_count())) {
    for (size_t i = 0; i < outputs.size(); ++i)
      context.set_output_allocator(engine->plan().input_count() + static_cast<int>(i), &outputs[i]);
  }
  template <class T> void input(const char* name, const Shape& shape, std::vector<T>& values) {
    const int binding = context.engine().find_binding(name);
    context.set_input_shape(binding, shape);
    context.set_address(binding, values.data());
  }
  std::string error() {
    try {
      context.execute();
      return "";
    } catch (const Error& e) {
      return e.what();
    }
  }
  Context context;
  std::vector<Keeper> outputs;
};

// Loop: inputs "trips", "start" (n) and "x" (n). Outputs: the state, start + trips * x; each state
// on the way; and x + x of each iteration.
std::shared_ptr<const Engine> counted_sum() {
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
  return engine_of(n, profile);
}

TEST(ControlFlow, ALoopCountsSumsAndCollects) {
  Runner r(counted_sum());
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
TEST(ControlFlow, AStateGrows) {
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

  Runner r(engine_of(n));
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

TEST(ControlFlow, AConditionalRunsOneBody) {
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
  Runner r(engine_of(n));
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

// "x" (6) to the positions of what is not 0, twice each, as "y" (1, count).
std::shared_ptr<const Engine> positions() {
  Network n;
  Value& x = n.add_input("x", DataType::kFLOAT, {6});
  Value& found = to_float(n, add(n, std::make_unique<NonZero>(), {&x}, "find"));
  finish(n, combine(n, found, found), "y");
  return engine_of(n);
}

TEST(LateSizes, AContextRunsWithOneSizeAndThenAnother) {
  Runner r(positions());
  std::vector<float> some{0, 1, 0, 1, 1, 0}, none(6), all(6, 1);
  const auto run = [&](std::vector<float>& values) {
    r.input("x", {6}, values);
    EXPECT_EQ(r.error(), "");
    EXPECT_EQ(r.outputs[0].shape, (Shape{1, r.outputs[0].shape[1]}));
    return r.outputs[0].floats();
  };
  for (int round = 0; round < 2; ++round) {
    EXPECT_THAT(run(some), ElementsAre(2, 6, 8));
    EXPECT_THAT(run(none), ElementsAre());
    EXPECT_THAT(run(all), ElementsAre(0, 2, 4, 6, 8, 10));
  }
}

TEST(LateSizes, AnEnqueuedRunKeepsItsAllocatorAndTellsTheShapeAtOnce) {
  const auto engine = positions();
  Context context(engine, true);
  cudaStream_t stream = nullptr;
  ASSERT_EQ(cudaStreamCreate(&stream), cudaSuccess);
  std::vector<std::vector<float>> inputs(20, std::vector<float>(6, 1));
  std::vector<Keeper> kept(inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    inputs[i][i % 6] = 0;
    context.set_address(0, inputs[i].data());
    context.set_output_allocator(1, &kept[i]);
    context.enqueue(stream);
    ASSERT_EQ(kept[i].shape, (Shape{1, 5})) << i;
    ASSERT_EQ(context.tensor_shape(1), (Shape{1, 5}));
  }
  ASSERT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
  for (size_t i = 0; i < kept.size(); ++i)
    for (size_t k = 0; k < 5; ++k)
      ASSERT_EQ(kept[i].floats()[k], 2.f * static_cast<float>(k + (k >= i % 6 ? 1 : 0)));
  context.set_output_allocator(1, nullptr);
  EXPECT_THROW(context.enqueue(stream), Error);  // it has no address either
  std::vector<float> out(6);
  context.set_address(1, out.data());
  context.enqueue(stream);
  EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
  EXPECT_EQ(out[4], 10);
  EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
}

TEST(LateSizes, AViewOfFixedSizeFitsOrIsRefused) {
  Network n;
  Value& x = n.add_input("x", DataType::kFLOAT, {6});
  finish(n, to_float(n, reshape(n, add(n, std::make_unique<NonZero>(), {&x}), {2})), "y");
  Runner r(engine_of(n));
  std::vector<float> two{0, 1, 0, 0, 1, 0}, one{0, 0, 1, 0, 0, 0};
  r.input("x", {6}, two);
  ASSERT_EQ(r.error(), "");
  EXPECT_THAT(r.outputs[0].floats(), ElementsAre(1, 4));
  r.input("x", {6}, one);
  EXPECT_THAT(r.error(), HasSubstr("larger than the memory it shares"));
  r.input("x", {6}, two);
  EXPECT_EQ(r.error(), "");
}

// relu(conv2(image * factor) + relu(conv1(image))), where the factor of each channel is an input,
// or the sum of the positions along each axis of what is not 0.
std::shared_ptr<const Engine> residual(bool late) {
  Network n;
  Value& image = n.add_input("image", DataType::kFLOAT, {1, 4, 8, 8});
  Value* factor = nullptr;
  if (late) {
    auto sum = std::make_unique<Reduce>();
    sum->axes = 2;
    Value& found = to_float(n, add(n, std::make_unique<NonZero>(), {&image}));
    factor = &reshape(n, add(n, std::move(sum), {&found}), {1, 4, 1, 1});
  } else {
    factor = &n.add_input("factor", DataType::kFLOAT, {1, 4, 1, 1});
  }
  Value& early = add(n, std::make_unique<Activation>(), {&testing::convolve(n, image, "c1", 4, 4)});
  Value& scaled = combine(n, image, *factor, ElementWiseOperation::kPROD);
  Value& sum = combine(n, testing::convolve(n, scaled, "c2", 4, 4), early);
  finish(n, add(n, std::make_unique<Activation>(), {&sum}), "y");
  return engine_of(n);
}

TEST(LateSizes, ALateLayerAddsToWhatAnEarlyOneMade) {
  Tensor image = testing::ramp({1, 4, 8, 8}, 0.25f);
  std::vector<float> values(image.data<float>(), image.data<float>() + image.count()), factor(4);
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i] == 0) continue;
    factor[1] += static_cast<float>(i / 64);
    factor[2] += static_cast<float>(i / 8 % 8);
    factor[3] += static_cast<float>(i % 8);
  }
  Runner late(residual(true)), early(residual(false));
  late.input("image", {1, 4, 8, 8}, values);
  early.input("image", {1, 4, 8, 8}, values);
  early.input("factor", {1, 4, 1, 1}, factor);
  ASSERT_EQ(early.error(), "");
  const auto want = early.outputs[0].floats();
  for (int round = 0; round < 2; ++round) {
    ASSERT_EQ(late.error(), "");
    const auto found = late.outputs[0].floats();
    ASSERT_EQ(found.size(), want.size());
    for (size_t i = 0; i < want.size(); ++i)
      ASSERT_NEAR(found[i], want[i], 1e-5f * std::abs(want[i]) + 1e-3f) << i;
  }
}

// In memory of the caller, and seen by a profiler.
TEST(LateSizes, AGraphRunsAgainWithAnotherSize) {
  const auto engine = positions();
  const int64_t bytes = std::max<int64_t>(64, engine->device_memory(0));
  const auto memory = allocate_aligned(static_cast<size_t>(bytes));
  struct Profiler final : nvinfer1::IProfiler {
    void reportLayerTime(const char*, float) noexcept override { ++layers; }
    size_t layers = 0;
  } profiler;
  Context context(engine, false);
  context.set_device_memory(memory.get(), bytes);
  context.set_profiler(&profiler);
  std::vector<float> values{0, 1, 0, 0, 0, 0};
  Keeper kept;
  context.set_address(0, values.data());
  context.set_output_allocator(1, &kept);
  cudaStream_t stream = nullptr;
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t launch = nullptr;
  ASSERT_EQ(cudaStreamCreate(&stream), cudaSuccess);
  ASSERT_EQ(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), cudaSuccess);
  context.enqueue(stream);
  ASSERT_EQ(cudaStreamEndCapture(stream, &graph), cudaSuccess);
  ASSERT_EQ(cudaGraphInstantiate(&launch, graph, 0), cudaSuccess);
  EXPECT_EQ(profiler.layers, 0u);
  for (size_t count = 1; count <= 3; ++count) {
    values[count] = 1;
    ASSERT_EQ(cudaGraphLaunch(launch, stream), cudaSuccess);
    ASSERT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
    EXPECT_EQ(kept.shape, (Shape{1, static_cast<int64_t>(count)}));
    EXPECT_EQ(kept.floats().back(), 2.f * static_cast<float>(count));
    EXPECT_EQ(profiler.layers, count * engine->plan().steps.size());
  }
  EXPECT_EQ(cudaGraphExecDestroy(launch), cudaSuccess);
  EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
  EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
}

// What only a crafted plan says.
TEST(LateSizes, APlanWhoseMemoryNobodyGivesIsRefused) {
  Plan plan = residual(false)->plan();
  for (PlanTensor& t : plan.tensors)
    if (t.place == PlanTensor::Place::kArena) t.place = PlanTensor::Place::kLate;
  const Plan read = read_plan(write_plan(plan), nullptr, "plan");
  try {
    Runner r(std::make_shared<const Engine>(read, cpu_target(), Log()));
    FAIL() << "it was accepted";
  } catch (const Error& e) {
    EXPECT_THAT(e.what(), HasSubstr("nothing tells the size of tensor"));
  }
}

}  // namespace
}  // namespace tenon
