#include "plan/measure_memory.h"

#include <gtest/gtest.h>

#include "cpu/cpu_target.h"
#include "ops/activation.h"
#include "ops/non_zero.h"

namespace tenon {
namespace {

// Three layers in a row over x: two tensors lie in the context's memory, the third is the output.
Plan plan_of(std::initializer_list<int64_t> max_extents) {
  Network n;
  Value* v = &n.add_input("x", DataType::kFLOAT, {-1});
  for (int i = 0; i < 3; ++i) v = n.add_node(std::make_unique<Activation>(), {v}).outputs[0];
  n.mark_output(*v);
  n.infer();
  BuildOptions options;
  options.time_kernels = false;
  for (int64_t m : max_extents) {
    options.profiles.emplace_back();
    options.profiles.back().inputs["x"] = {Shape{1}, Shape{1}, Shape{m}, {}, {}, {}};
  }
  return compile(n, cpu_target(), options);
}

TEST(MeasureMemory, EachProfileNeedsWhatItsMaximumNeeds) {
  const Plan plan = plan_of({1000, 10});
  // 4000 and 40 bytes each, in units of 256.
  EXPECT_EQ(plan.profiles[0].device_memory, 2 * 4096);
  EXPECT_EQ(plan.profiles[1].device_memory, 2 * 256);
}

// Each layer tells the extents that the next one works on.
size_t memory_of_non_zeros(int layers) {
  Network n;
  Value* v = &n.add_input("x", DataType::kFLOAT, {1000});
  for (int i = 0; i < layers; ++i) v = n.add_node(std::make_unique<NonZero>(), {v}).outputs[0];
  n.mark_output(*v);
  n.infer();
  return compile(n, cpu_target(), BuildOptions()).profiles[0].device_memory;
}

TEST(MeasureMemory, LaterStagesAreNotCounted) {
  EXPECT_EQ(memory_of_non_zeros(3), memory_of_non_zeros(1));
}

}  // namespace
}  // namespace tenon
