// Runs whose steps are spread over streams, with kernels that work when their stream comes to them.
#include "run/step_streams.h"

#include <chrono>
#include <random>
#include <thread>

#include "base/cuda_stream.h"
#include "cpu/remote_target_testing.h"
#include "run/testing.h"

namespace tenon {
namespace {

using namespace testing;
using ::testing::Each;
using ::testing::HasSubstr;

std::atomic<int> at_work = 0, max_at_work = 0;

// The sum of its inputs, after a while, by way of its scratch memory.
class SlowSum final : public Execution {
 public:
  explicit SlowSum(int64_t count) : count_(static_cast<size_t>(count)) {}
  size_t scratch_bytes() const override { return count_ * sizeof(float); }
  void run(const RunArguments& arguments) override {
    if (left-- == 0) fail(ErrorCode::kFAILED_EXECUTION, "it was told to fail");
    auto* work = new Work{arguments.inputs[0], arguments.inputs[1], arguments.outputs[0],
                          arguments.scratch, count_};
    ASSERT_EQ(cudaLaunchHostFunc(to_cuda(arguments.stream), work_on, work), cudaSuccess);
  }
  static inline int left = -1;  // runs before one fails; none does if it is negative

 private:
  struct Work {
    const void *a, *b;
    void *sum, *scratch;
    size_t count;
  };
  static void work_on(void* data) {
    const std::unique_ptr<Work> work(static_cast<Work*>(data));
    const int now = ++at_work;
    for (int max_seen = max_at_work;
         now > max_seen && !max_at_work.compare_exchange_weak(max_seen, now);) {}
    auto* scratch = static_cast<float*>(work->scratch);
    std::copy_n(static_cast<const float*>(work->a), work->count, scratch);
    std::this_thread::sleep_for(
        std::chrono::microseconds(reinterpret_cast<uintptr_t>(work->sum) / 64 % 7 * 50));
    for (size_t i = 0; i < work->count; ++i)
      static_cast<float*>(work->sum)[i] = scratch[i] + static_cast<const float*>(work->b)[i];
    --at_work;
  }
  size_t count_;
};

class SlowSumKernel final : public Kernel {
 public:
  explicit SlowSumKernel(const KernelRequest& request) {
    name = "slow_sum";
    complete(*this, request);
  }
  std::unique_ptr<Execution> prepare(std::span<const TensorSpec> inputs,
                                     std::span<const TensorSpec>) const override {
    return std::make_unique<SlowSum>(inputs[0].shape.volume());
  }
};

class SlowTarget final : public Target {
 public:
  std::string_view name() const override { return "cpu"; }
  std::string fingerprint() const override { return "slow"; }
  std::string instruction_set() const override { return "slow"; }
  std::span<const Candidate> candidates(const Op&) const override {
    static const Candidate sum[] = {{"slow_sum", [](const KernelRequest& request) -> Offer {
                                       return std::make_unique<SlowSumKernel>(request);
                                     }}};
    return sum;
  }
  bool fuses(const Op&, const PointwiseProgram&) const override { return false; }
  const Device& device() const override { return RemoteTarget::memory; }
};

// Sums over sums of "x", in a network of `depth` of them, and how many times x each output is.
class SumsSideBySide : public ::testing::Test {
 protected:
  static constexpr size_t kCount = 64;

  std::shared_ptr<const Engine> engine(unsigned seed, int32_t aux_streams, int depth = 40) {
    Network n;
    Value& x = n.add_input("x", DataType::kFLOAT, {static_cast<int64_t>(kCount)});
    std::mt19937 random(seed);
    std::vector<Value*> values{&x};
    std::vector<float> factors{1};
    std::vector<bool> is_read{true};
    for (int i = 0; i < depth; ++i) {
      const size_t reach = std::min<size_t>(values.size(), 6);
      const size_t a = values.size() - 1 - random() % reach,
                   b = values.size() - 1 - random() % reach;
      values.push_back(&combine(n, *values[a], *values[b]));
      factors.push_back(factors[a] + factors[b]);
      is_read[a] = is_read[b] = true;
      is_read.push_back(false);
    }
    factors_.clear();
    for (size_t i = 0; i < values.size(); ++i) {
      if (is_read[i]) continue;
      finish(n, *values[i], fmt::format("y{}", i).c_str());
      factors_.push_back(factors[i]);
    }
    BuildOptions options;
    options.aux_streams = aux_streams;
    return std::make_shared<const Engine>(compile(n, target_, options), target_, Log());
  }

  // The outputs for x = value, in their order.
  struct Memory {
    explicit Memory(const Engine& engine) {
      for (size_t i = 0; i < engine.plan().bindings.size(); ++i)
        buffers.emplace_back(RemoteTarget::memory, kCount * sizeof(float));
    }
    void bind(Context& context, float value) {
      std::fill_n(static_cast<float*>(buffers[0].data()), kCount, value);
      for (size_t i = 0; i < buffers.size(); ++i)
        context.set_address(static_cast<int>(i), buffers[i].data());
    }
    std::vector<DeviceBuffer> buffers;
  };
  void expect(const Memory& memory, float value) const {
    for (size_t i = 0; i < factors_.size(); ++i)
      EXPECT_THAT(std::span(static_cast<const float*>(memory.buffers[i + 1].data()), kCount),
                  Each(factors_[i] * value))
          << i;
  }

  SlowTarget target_;
  std::vector<float> factors_;
};

TEST_F(SumsSideBySide, AreRight) {
  max_at_work = 0;
  int used = 0;
  for (unsigned seed = 0; seed < 12; ++seed) {
    const auto e = engine(seed, 1 + static_cast<int32_t>(seed % 4));
    used = std::max(used, e->streams().auxiliary);
    Context context(e, true);
    Memory memory(*e);
    cudaStream_t stream = nullptr;
    ASSERT_EQ(cudaStreamCreate(&stream), cudaSuccess);
    for (int round = 1; round < 4; ++round) {
      memory.bind(context, static_cast<float>(round));
      if (round == 1)
        context.execute();
      else
        context.enqueue(from_cuda(stream));
      EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
      expect(memory, static_cast<float>(round));
    }
    EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
  }
  EXPECT_EQ(used, 4);
  EXPECT_GT(max_at_work, 1);
}

TEST_F(SumsSideBySide, RunInTheStreamsOfTheCaller) {
  const auto e = engine(3, 2);
  ASSERT_EQ(e->streams().auxiliary, 2);
  Context context(e, true);
  Memory memory(*e);
  cudaStream_t streams[3] = {};
  for (cudaStream_t& stream : streams) ASSERT_EQ(cudaStreamCreate(&stream), cudaSuccess);
  // Held up, an auxiliary stream holds up the run.
  std::atomic<bool> go = false;
  const auto wait = [](void* data) {
    while (!*static_cast<std::atomic<bool>*>(data)) std::this_thread::yield();
  };
  ASSERT_EQ(cudaLaunchHostFunc(streams[2], wait, &go), cudaSuccess);
  Stream* const auxiliary[] = {from_cuda(streams[1]), from_cuda(streams[2])};
  context.set_aux_streams(auxiliary);
  memory.bind(context, 5);
  context.enqueue(from_cuda(streams[0]));
  EXPECT_EQ(cudaStreamQuery(streams[0]), cudaErrorNotReady);
  go = true;
  EXPECT_EQ(cudaStreamSynchronize(streams[0]), cudaSuccess);
  expect(memory, 5);
  // Fewer than there are: the context makes the others.
  context.set_aux_streams(std::span(auxiliary).first(1));
  memory.bind(context, 6);
  context.enqueue(from_cuda(streams[0]));
  EXPECT_EQ(cudaStreamSynchronize(streams[0]), cudaSuccess);
  expect(memory, 6);
  for (cudaStream_t stream : streams) EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
}

TEST_F(SumsSideBySide, AreCapturedIntoAGraph) {
  const auto e = engine(4, 3);
  Context context(e, true);
  Memory memory(*e);
  cudaStream_t stream = nullptr;
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t instance = nullptr;
  ASSERT_EQ(cudaStreamCreate(&stream), cudaSuccess);
  memory.bind(context, 1);
  context.enqueue(from_cuda(stream));
  ASSERT_EQ(cudaStreamSynchronize(stream), cudaSuccess);  // the memory is written anew below
  ASSERT_EQ(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), cudaSuccess);
  context.enqueue(from_cuda(stream));
  ASSERT_EQ(cudaStreamEndCapture(stream, &graph), cudaSuccess);
  ASSERT_EQ(cudaGraphInstantiate(&instance, graph, 0), cudaSuccess);
  memory.bind(context, 7);
  ASSERT_EQ(cudaGraphLaunch(instance, stream), cudaSuccess);
  EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
  expect(memory, 7);
  cudaGraphExecDestroy(instance);
  cudaGraphDestroy(graph);
  cudaStreamDestroy(stream);
}

TEST_F(SumsSideBySide, AFailureLeavesNothingAtWork) {
  const auto e = engine(5, 3);
  Context context(e, true);
  Memory memory(*e);
  memory.bind(context, 1);
  SlowSum::left = 30;
  EXPECT_THROW(context.execute(), Error);
  EXPECT_EQ(at_work, 0);
  SlowSum::left = -1;
  context.execute();
  expect(memory, 1);
}

// Each step's time is its own.
class Times final : public nvinfer1::IProfiler {
 public:
  void reportLayerTime(const char*, float) noexcept override {
    ++steps;
    max_at_once = std::max(max_at_once, max_at_work.load());
  }
  int steps = 0, max_at_once = 0;
};

// Where the run does not report, it waits for nothing, and its times are there later.
TEST_F(SumsSideBySide, AreProfiledLater) {
  const auto e = engine(7, 3);
  Context context(e, true);
  Memory memory(*e);
  memory.bind(context, 2);
  class Sum final : public nvinfer1::IProfiler {
   public:
    void reportLayerTime(const char*, float ms) noexcept override { all += ms; }
    float all = 0;
  } times;
  context.set_profiler(&times);
  context.emits_profile = false;
  cudaStream_t stream = nullptr;
  ASSERT_EQ(cudaStreamCreate(&stream), cudaSuccess);
  const auto wait = [](void*) { std::this_thread::sleep_for(std::chrono::milliseconds(300)); };
  ASSERT_EQ(cudaLaunchHostFunc(stream, wait, nullptr), cudaSuccess);
  context.enqueue(from_cuda(stream));
  EXPECT_EQ(cudaStreamQuery(stream), cudaErrorNotReady);
  EXPECT_EQ(times.all, 0);
  context.report_profile();
  EXPECT_GT(times.all, 0);
  expect(memory, 2);
  EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
}

TEST_F(SumsSideBySide, AreProfiledOneByOne) {
  const auto e = engine(6, 3);
  Context context(e, true);
  Memory memory(*e);
  memory.bind(context, 1);
  Times times;
  context.set_profiler(&times);
  max_at_work = 0;
  context.execute();
  EXPECT_EQ(times.steps, 40);
  EXPECT_EQ(times.max_at_once, 1);
  expect(memory, 1);
}

}  // namespace
}  // namespace tenon
