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
  Plan plan() {
    Network n;
    Value* x = &n.add_input("x", DataType::kFLOAT, {1, 4, 8, 8});
    for (const char* name : {"a", "b", "c", "d"}) x = &testing::convolve(n, *x, name, 4, 4);
    finish(n, *x, "y");
    return build_plan(n, target_, BuildOptions());
  }
  std::shared_ptr<const Engine> engine(int64_t budget) {
    return std::make_shared<const Engine>(plan(), target_, Log(), nullptr, false, budget);
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
