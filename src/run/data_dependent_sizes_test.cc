// Sizes that only running tells, through a plan file and a context.
#include <climits>
#include <cstdlib>
#include <numeric>
#include <set>
#include <thread>

#include "base/cuda_stream.h"
#include "cpu/cpu_target.h"
#include "ops/activation.h"
#include "ops/non_zero.h"
#include "ops/reduce.h"
#include "run/testing.h"

namespace tenon {
namespace {

using namespace testing;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// "x" (6) to the positions of what is not 0, twice each, as "y" (1, count).
std::shared_ptr<const Engine> positions() {
  Network n;
  Value& x = n.add_input("x", DataType::kFLOAT, {6});
  Value& found = to_float(n, add(n, std::make_unique<NonZero>(), {&x}, "find"));
  finish(n, combine(n, found, found), "y");
  return engine_of(n);
}

TEST(DataDependentSizes, AContextRunsWithOneSizeAndThenAnother) {
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

TEST(DataDependentSizes, ContextsOfOneEngineRunInSeveralThreads) {
  const auto engine = positions();
  std::vector<std::thread> threads;
  for (size_t t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      Runner r(engine);
      for (size_t round = 0; round < 20; ++round) {
        std::vector<float> x(6);
        const size_t count = (t + round) % 6 + 1, last = count - 1;
        std::fill_n(x.begin(), count, 1.f);
        r.input("x", {6}, x);
        ASSERT_EQ(r.error(), "");
        ASSERT_EQ(r.outputs[0].shape, (Shape{1, static_cast<int64_t>(count)}));
        ASSERT_EQ(r.outputs[0].floats()[last], 2.f * static_cast<float>(last));
      }
    });
  for (std::thread& t : threads) t.join();
}

TEST(DataDependentSizes, AnEnqueuedRunKeepsItsAllocatorAndTellsTheShapeAtOnce) {
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
    context.enqueue(from_cuda(stream));
    ASSERT_EQ(kept[i].shape, (Shape{1, 5})) << i;
    ASSERT_EQ(context.tensor_shape(1), (Shape{1, 5}));
  }
  ASSERT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
  for (size_t i = 0; i < kept.size(); ++i)
    for (size_t k = 0; k < 5; ++k)
      ASSERT_EQ(kept[i].floats()[k], 2.f * static_cast<float>(k + (k >= i % 6 ? 1 : 0)));
  context.set_output_allocator(1, nullptr);
  EXPECT_THROW(context.enqueue(from_cuda(stream)), Error);  // it has no address either
  std::vector<float> out(6);
  context.set_address(1, out.data());
  context.enqueue(from_cuda(stream));
  EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
  EXPECT_EQ(out[4], 10);
  EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
}

// Counts what it gave, in which stream, until it has given `most` blocks.
class Lender final : public nvinfer1::IGpuAllocator {
 public:
  void* allocate(uint64_t, uint64_t, nvinfer1::AllocatorFlags) noexcept override {
    ADD_FAILURE() << "memory of a run is asked for in its stream";
    return nullptr;
  }
  void* allocateAsync(uint64_t size, uint64_t alignment, nvinfer1::AllocatorFlags,
                      cudaStream_t stream) noexcept override {
    if (given == max_given) return nullptr;
    ++given, ++held;
    streams.insert(stream);
    return std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
  }
  bool deallocateAsync(void* memory, cudaStream_t stream) noexcept override {
    --held;
    streams.insert(stream);
    std::free(memory);
    return true;
  }
  int given = 0, held = 0, max_given = INT_MAX;
  std::set<cudaStream_t> streams;
};

TEST(DataDependentSizes, ATemporaryAllocatorLendsMemoryForOneRun) {
  Runner r(positions());
  std::vector<float> some{0, 1, 0, 1, 1, 0}, all(6, 1);
  Lender lender;
  r.context.set_temporary_allocator(&lender);
  EXPECT_EQ(r.context.temporary_allocator(), &lender);
  for (int round = 1; round <= 2; ++round) {
    r.input("x", {6}, some);
    ASSERT_EQ(r.error(), "");
    EXPECT_THAT(r.outputs[0].floats(), ElementsAre(2, 6, 8));
    r.input("x", {6}, all);
    ASSERT_EQ(r.error(), "");
    EXPECT_THAT(r.outputs[0].floats(), ElementsAre(0, 2, 4, 6, 8, 10));
    EXPECT_EQ(lender.held, 0);
    EXPECT_GE(lender.given, 2 * round);
  }
  lender.max_given = lender.given + 1;  // not enough for a run
  EXPECT_THAT(r.error(), HasSubstr("needed of the temporary storage allocator"));
  EXPECT_EQ(lender.held, 0);
  r.context.set_temporary_allocator(nullptr);
  ASSERT_EQ(r.error(), "");
  EXPECT_THAT(r.outputs[0].floats(), ElementsAre(0, 2, 4, 6, 8, 10));
  EXPECT_EQ(lender.given, lender.max_given);
}

TEST(DataDependentSizes, AnEnqueuedRunKeepsItsTemporaryAllocator) {
  Context context(positions(), true);
  cudaStream_t stream = nullptr;
  ASSERT_EQ(cudaStreamCreate(&stream), cudaSuccess);
  std::vector<float> x(6, 1), y(6);
  context.set_address(0, x.data());
  context.set_address(1, y.data());
  Lender lender;
  context.set_temporary_allocator(&lender);
  context.enqueue(from_cuda(stream));
  context.set_temporary_allocator(nullptr);
  ASSERT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
  EXPECT_THAT(y, ElementsAre(0, 2, 4, 6, 8, 10));
  EXPECT_GT(lender.given, 0);
  EXPECT_EQ(lender.held, 0);
  EXPECT_THAT(lender.streams, ElementsAre(stream));
  EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
}

TEST(DataDependentSizes, AViewOfFixedSizeFitsOrIsRefused) {
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
std::shared_ptr<const Engine> residual(bool data_dependent) {
  Network n;
  Value& image = n.add_input("image", DataType::kFLOAT, {1, 4, 8, 8});
  Value* factor = nullptr;
  if (data_dependent) {
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

TEST(DataDependentSizes, ALateLayerAddsToWhatAnEarlyOneMade) {
  Tensor image = testing::ramp({1, 4, 8, 8}, 0.25f);
  std::vector<float> values(image.data<float>(), image.data<float>() + image.count()), factor(4);
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i] == 0) continue;
    factor[1] += static_cast<float>(i / 64);
    factor[2] += static_cast<float>(i / 8 % 8);
    factor[3] += static_cast<float>(i % 8);
  }
  Runner data_dependent(residual(true)), early(residual(false));
  data_dependent.input("image", {1, 4, 8, 8}, values);
  early.input("image", {1, 4, 8, 8}, values);
  early.input("factor", {1, 4, 1, 1}, factor);
  ASSERT_EQ(early.error(), "");
  const auto want = early.outputs[0].floats();
  for (int round = 0; round < 2; ++round) {
    ASSERT_EQ(data_dependent.error(), "");
    const auto found = data_dependent.outputs[0].floats();
    ASSERT_EQ(found.size(), want.size());
    for (size_t i = 0; i < want.size(); ++i)
      ASSERT_NEAR(found[i], want[i], 1e-5f * std::abs(want[i]) + 1e-3f) << i;
  }
}

// In memory of the caller, and seen by a profiler.
TEST(DataDependentSizes, AGraphRunsAgainWithAnotherSize) {
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
  context.enqueue(from_cuda(stream));
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
TEST(DataDependentSizes, APlanWhoseMemoryNobodyGivesIsRefused) {
  Plan plan = residual(false)->plan();
  for (PlanTensor& t : plan.tensors)
    if (t.place == PlanTensor::Place::kArena) t.place = PlanTensor::Place::kDataDependent;
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
