// Budgets of weights on the device: what is beyond them waits on the host, and runs give the same.
#include <tenon/gpu.h>

#include "api/cnn_testing.h"

namespace tenon::testing {
namespace {

using namespace nvinfer1;  // the tests speak as an application does
using ::testing::HasSubstr;

Floats output_of(IExecutionContext& context, const Floats& x) {
  Floats y(3 * 3 * 2, -1);
  void* bindings[] = {const_cast<float*>(x.data()), y.data()};
  EXPECT_TRUE(context.executeV2(bindings));
  return y;
}

TEST(Engine, StreamsWeightsBeyondItsBudget) {
  Session s;
  const Cnn cnn;
  cnn.add_to(s, false);
  s.config->setFlag(BuilderFlag::kWEIGHT_STREAMING);
  const auto engine = s.engine();
  ASSERT_NE(engine, nullptr) << s.logger.take_errors();
  const Context first(engine->createExecutionContext());
  const Floats x = numbers(2 * 6 * 4, 0.5f), y = output_of(*first, x);
  const int64_t streamable = engine->getStreamableWeightsSize();
  EXPECT_EQ(streamable > 0, gpu_of(*engine) >= 0);
  EXPECT_EQ(engine->getWeightStreamingBudgetV2(), streamable);
  EXPECT_EQ(engine->getWeightStreamingScratchMemorySize(), 0);
  EXPECT_LE(engine->getWeightStreamingAutomaticBudget(), streamable);
  for (const int64_t budget : {int64_t{0}, streamable / 2, streamable, int64_t{0}}) {
    ASSERT_TRUE(engine->setWeightStreamingBudgetV2(budget)) << s.logger.take_errors();
    EXPECT_EQ(engine->getWeightStreamingBudgetV2(), budget);
    EXPECT_EQ(engine->getWeightStreamingScratchMemorySize() > 0, budget < streamable);
    const Context second(engine->createExecutionContext());
    for (int i = 0; i < 3; ++i) {
      EXPECT_EQ(output_of(*first, x), y);
      EXPECT_EQ(output_of(*second, x), y);
    }
  }
  for (const int64_t budget : {int64_t{-1}, streamable + 1}) {
    EXPECT_FALSE(engine->setWeightStreamingBudgetV2(budget));
    EXPECT_THAT(s.logger.take_errors(), HasSubstr("expected 0 to " + std::to_string(streamable)));
  }
  // In the first version 0 turns it off, and -1 chooses.
  ASSERT_TRUE(engine->setWeightStreamingBudget(0));
  EXPECT_EQ(engine->getWeightStreamingBudget(), streamable);
  EXPECT_TRUE(engine->setWeightStreamingBudget(-1));
  EXPECT_EQ(output_of(*first, x), y);
}

}  // namespace
}  // namespace tenon::testing
