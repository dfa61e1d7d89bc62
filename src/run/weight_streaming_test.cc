#include "run/weight_streaming.h"

#include <numeric>

#include "builder/build_plan.h"
#include "cpu/remote_target_testing.h"
#include "run/testing.h"

namespace tenon {
namespace {

using namespace testing;

class WeightStreamingTest : public ::testing::Test {
 protected:
  static constexpr size_t kElements = 4 * 8 * 8;

  // Four convolutions, one after the other.
  static Plan make_plan(const Target& target) {
    Network n;
    Value* x = &n.add_input("x", DataType::kFLOAT, {1, 4, 8, 8});
    for (const char* name : {"a", "b", "c", "d"}) x = &testing::convolve(n, *x, name, 4, 4);
    finish(n, *x, "y");
    return build_plan(n, target, BuildOptions());
  }
  std::shared_ptr<const Engine> engine(int64_t budget) {
    return std::make_shared<const Engine>(plan_, target_, Log(), nullptr, false, budget);
  }
  std::vector<float> output_of(Context& context, float first) {
    std::vector<float> x(kElements);
    std::iota(x.begin(), x.end(), first);
    const size_t bytes = kElements * sizeof(float);
    const DeviceBuffer in(target_.memory, bytes), out(target_.memory, bytes);
    target_.memory.copy_in(in.data(), x.data(), bytes, nullptr);
    void* addresses[] = {in.data(), out.data()};
    context.execute(addresses);
    target_.memory.copy_out(x.data(), out.data(), bytes, nullptr);
    return x;
  }

  RemoteTarget target_;
  const Plan plan_ = make_plan(target_);  // one: each build times kernels anew
};

TEST_F(WeightStreamingTest, GivesTheSameWithAnyBudget) {
  const auto whole = engine(INT64_MAX);
  const WeightStreaming& all = whole->streaming();
  EXPECT_FALSE(all.is_on());
  EXPECT_EQ(all.resident, all.streamable);
  EXPECT_GE(all.streamable, static_cast<int64_t>(4 * 4 * 4 * 9 * sizeof(float)));
  Context context(whole, true);
  const std::vector<float> first = output_of(context, 1), second = output_of(context, 2);
  EXPECT_NE(first, second);
  for (const int64_t budget : {int64_t{0}, all.streamable / 2, all.streamable - 1}) {
    SCOPED_TRACE(budget);
    const auto streamed = engine(budget);
    const WeightStreaming& streaming = streamed->streaming();
    EXPECT_TRUE(streaming.is_on());
    EXPECT_EQ(streaming.streamable, all.streamable);
    EXPECT_LE(streaming.resident, budget);
    EXPECT_NE(streamed->obstacle_to_capture().find("streams weights"), std::string::npos);
    Context one(streamed, true), other(streamed, true);
    for (int i = 0; i < 3; ++i) {
      EXPECT_EQ(output_of(one, 1), first);
      EXPECT_EQ(output_of(other, 2), second);
    }
  }
}

TEST_F(WeightStreamingTest, CopiesInEachRunWhatIsBeyondTheBudget) {
  const auto whole = engine(INT64_MAX);
  int last = 0;
  for (const int64_t budget :
       {whole->streaming().streamable, whole->streaming().streamable / 2, int64_t{0}}) {
    Context context(engine(budget), true);
    (void)output_of(context, 1);
    const int before = target_.memory.copies_in;
    (void)output_of(context, 1);
    const int copies = target_.memory.copies_in - before - 1;  // one is the input's
    EXPECT_TRUE(budget == whole->streaming().streamable ? copies == 0 : copies > last) << copies;
    last = copies;
  }
}

// The second convolution of three has nothing to compute, and reads no weights.
TEST_F(WeightStreamingTest, GoesOnBehindAStepWithoutElements) {
  Network n;
  Value& x = n.add_input("x", DataType::kFLOAT, {1, 4, 8, 8});
  Value& empty = n.add_input("empty", DataType::kFLOAT, {-1, 4, 8, 8});
  Value& first = testing::convolve(n, x, "a", 4, 4);
  Value& second = testing::convolve(n, empty, "b", 4, 4);
  finish(n, testing::convolve(n, first, "c", 4, 8), "y");  // with other weights
  finish(n, second, "nothing");
  ProfileRequest profile;
  profile.inputs["empty"] = {Shape{0, 4, 8, 8}, Shape{1, 4, 8, 8}, Shape{2, 4, 8, 8}, {}, {}, {}};
  BuildOptions options;
  options.profiles = {profile};
  const Plan plan = build_plan(n, target_, options);
  std::vector<std::vector<float>> results;
  for (const int64_t budget : {INT64_MAX, int64_t{0}}) {
    Context context(std::make_shared<const Engine>(plan, target_, Log(), nullptr, false, budget),
                    true);
    context.set_input_shape(1, Shape{0, 4, 8, 8});
    std::vector<float> numbers(2 * kElements);
    std::iota(numbers.begin(), numbers.end(), 1.F);
    const size_t bytes = numbers.size() * sizeof(float);
    const DeviceBuffer in(target_.memory, bytes), none(target_.memory, 64),
        out(target_.memory, bytes);
    target_.memory.copy_in(in.data(), numbers.data(), bytes, nullptr);
    void* addresses[] = {in.data(), none.data(), out.data(), none.data()};
    for (int i = 0; i < 2; ++i) {
      context.execute(addresses);
      target_.memory.copy_out(numbers.data(), out.data(), bytes, nullptr);
      results.push_back(numbers);
    }
  }
  for (const auto& result : results) EXPECT_EQ(result, results[0]);
}

// Of memory there is enough for the copies alone.
TEST_F(WeightStreamingTest, StreamsWhatDoesNotFit) {
  struct Allocator final : nvinfer1::IGpuAllocator {
    void* allocate(uint64_t size, uint64_t, nvinfer1::AllocatorFlags) noexcept override {
      return size > limit ? nullptr : RemoteTarget::memory.allocate(size);
    }
    bool deallocate(void* memory) noexcept override {
      RemoteTarget::memory.release(memory);
      return true;
    }
    uint64_t limit = UINT64_MAX;
  } allocator;
  Context whole(engine(INT64_MAX), true);
  const std::vector<float> expected = output_of(whole, 1);
  allocator.limit = static_cast<uint64_t>(whole.engine().streaming().streamable) - 1;
  const auto streamed = std::make_shared<const Engine>(plan_, target_, Log(), &allocator);
  EXPECT_EQ(streamed->weight_budget(), 0);
  EXPECT_TRUE(streamed->streaming().is_on());
  Context context(streamed, false);
  const auto bytes = std::max<int64_t>(streamed->device_memory(0), 64);
  const DeviceBuffer memory(target_.memory, static_cast<size_t>(bytes));
  context.set_device_memory(memory.data(), bytes);
  EXPECT_EQ(output_of(context, 1), expected);
}

// The first steps keep their weights, whose copies nothing would run beside.
TEST_F(WeightStreamingTest, StreamsWhatComesLast) {
  const auto half = engine(engine(0)->streaming().streamable / 2);
  std::vector<bool> streams;
  for (size_t i = 0; i < half->plan().steps.size(); ++i)
    if (!engine(0)->streaming().steps[i].empty())
      streams.push_back(!half->streaming().steps[i].empty());
  EXPECT_THAT(streams, ::testing::ElementsAre(false, false, true, true));
}

}  // namespace
}  // namespace tenon
