#include "plan/measure.h"

#include <gtest/gtest.h>

#include "ops/activation.h"
#include "ops/non_zero.h"

namespace tenon {
namespace {

// Three layers in a row over x: two tensors lie in the context's memory, the third is the output.
Plan plan_of(std::initializer_list<int64_t> most) {
  Network n;
  Value* v = &n.add_input("x", DataType::kFLOAT, {-1});
  for (int i = 0; i < 3; ++i) v = n.add_node(std::make_unique<Activation>(), {v}).outputs[0];
  n.mark_output(*v);
  n.infer();
  BuildOptions options;
  options.time_kernels = false;
  for (int64_t m : most) {
    options.profiles.emplace_back();
    options.profiles.back().inputs["x"] = {Shape{1}, Shape{1}, Shape{m}, {}, {}, {}};
  }
  return compile(n, cpu_target(), options);
}

TEST(MeasureMemory, EachProfileNeedsWhatItsMaximumNeeds) {
  const Plan plan = plan_of({1000, 10});
  // 4000 and 40 bytes each, in units of 64.
  EXPECT_EQ(plan.profiles[0].device_memory, 2 * 4032);
  EXPECT_EQ(plan.profiles[1].device_memory, 2 * 64);
}

TEST(MeasureMemory, LaterStagesAreNotCounted) {
  Network n;
  Value& x = n.add_input("x", DataType::kFLOAT, {1000});
  Value* v = n.add_node(std::make_unique<NonZero>(), {&x}).outputs[0];
  for (int i = 0; i < 2; ++i) v = n.add_node(std::make_unique<NonZero>(), {v}).outputs[0];
  n.mark_output(*v);
  n.infer();
  EXPECT_EQ(compile(n, cpu_target(), BuildOptions()).profiles[0].device_memory, 0);
}

}  // namespace
}  // namespace tenon
