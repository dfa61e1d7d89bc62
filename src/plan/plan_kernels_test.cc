#include "plan/plan_kernels.h"

#include <gtest/gtest.h>

namespace tenon {
namespace {

PlanStep step(const char* name, const char* op, const char* kernel, const char* variant = "") {
  PlanStep made;
  made.name = name;
  made.op = op;
  made.kernel = kernel;
  made.variant = variant;
  return made;
}

TEST(PlanKernels, AreTakenOnceByNameAndOperatorInThePlansOrder) {
  Plan plan, body;
  body.steps = {step("inner", "Softmax", "vectors")};
  plan.steps = {step("a", "Convolution", "winograd", "6x6"), step("a", "Convolution", "direct"),
                step("a", "Reorder", "copy"), step("loop", "Loop", "bodies")};
  plan.steps.back().bodies = {body};
  PlanKernels kernels(plan);
  const auto first = kernels.take("a", "Convolution");
  ASSERT_TRUE(first.has_value());
  EXPECT_EQ(first->step->kernel, "winograd");
  EXPECT_EQ(first->step->variant, "6x6");
  EXPECT_EQ(kernels.take("a", "Convolution")->step->kernel, "direct");
  EXPECT_FALSE(kernels.take("a", "Convolution").has_value());
  EXPECT_EQ(kernels.take("a", "Reorder")->step->kernel, "copy");
  const auto inner = kernels.take("inner", "Softmax");
  EXPECT_EQ(inner->step->kernel, "vectors") << "of a body";
  EXPECT_EQ(inner->plan, &plan.steps.back().bodies[0]);
  EXPECT_FALSE(kernels.take("b", "Convolution").has_value());
}

}  // namespace
}  // namespace tenon
