#include "plan/work.h"

#include <gtest/gtest.h>

#include "cpu/cpu_target.h"
#include "ops/gather.h"
#include "plan/plan_test_network.h"

namespace tenon {
namespace {

using namespace testing;

constexpr double kFloat = 4;

// The work of the steps of `network` when its inputs are as declared.
std::vector<StepWork> works_of(Network& network, Value& output, Plan* plan_too = nullptr) {
  network.mark_output(output);
  network.infer();
  BuildOptions options;
  options.time_kernels = false;
  Plan plan = compile(network, cpu_target(), options);
  const auto values = plan.shapes.evaluate({});
  std::vector<Shape> shapes;
  for (size_t i = 0; i < plan.tensors.size(); ++i)
    shapes.push_back(shape_of(plan, static_cast<int32_t>(i), values));
  std::vector<StepWork> works;
  for (const PlanStep& step : plan.steps) works.push_back(work_of(plan, step, shapes));
  if (plan_too != nullptr) *plan_too = std::move(plan);
  return works;
}

TEST(Work, ALayerReadsItsInputsAndWritesItsOutputsOnce) {
  Network n;
  Value& x = n.add_input("x", DataType::kFLOAT, {2, 50});
  Value& square =
      *n.add_node(std::make_unique<ElementWise>(), {&x, &x}, "twice the same").outputs[0];
  const auto works = works_of(n, square);
  ASSERT_EQ(works.size(), 1u);
  EXPECT_EQ(works[0].operations, 100);
  EXPECT_EQ(works[0].bytes, 2 * 100 * kFloat);
}

TEST(Work, ConstantsCountAsTheKernelKeepsThem) {
  Network n;
  Value& x = n.add_input("x", DataType::kFLOAT, {1, 4, 10, 10});
  Plan plan;
  const auto works = works_of(n, convolve(n, x, "conv", 4, 8), &plan);
  for (size_t i = 0; i < works.size(); ++i) {
    const PlanStep& step = plan.steps[i];
    if (step.op != Convolution::kName) continue;
    double constants = 0;
    for (int32_t w : step.packed)
      constants += static_cast<double>(plan.weights[static_cast<size_t>(w)].bytes());
    // Not all kernels pack the bias.
    for (int32_t t : step.inputs)
      if (plan.tensors[static_cast<size_t>(t)].place == PlanTensor::Place::kWeight)
        constants += static_cast<double>(
            plan.weights[static_cast<size_t>(plan.tensors[static_cast<size_t>(t)].weight)].bytes());
    EXPECT_GE(constants, 8 * 4 * 9 * kFloat);
    EXPECT_EQ(works[i].operations, 2 * 9 * 4 * 800.0);
    EXPECT_EQ(works[i].bytes, (400 + 800) * kFloat + constants);
  }
}

TEST(Work, OfWhatALayerTakesPartsFromOnlyThoseCount) {
  Network n;
  Value& table = n.add_weight(ramp({1000, 10}, 1));
  Value& rows = n.add_input("rows", DataType::kINT32, {3});
  const auto works =
      works_of(n, *n.add_node(std::make_unique<Gather>(), {&table, &rows}, "take").outputs[0]);
  ASSERT_EQ(works.size(), 1u);
  EXPECT_EQ(works[0].operations, 0);
  EXPECT_EQ(works[0].bytes, (30 + 3 + 30) * kFloat);
}

TEST(Work, WithoutShapesThereIsNone) {
  Network n;
  make_network(n);
  BuildOptions options;
  options.time_kernels = false;
  options.profiles = {profile({1, 4, 8, 8}, {1, 4, 8, 8}, {1, 4, 8, 8})};
  const Plan plan = compile(n, cpu_target(), options);
  const std::vector<Shape> unknown(plan.tensors.size(), Shape{-1});
  EXPECT_EQ(work_of(plan, plan.steps[0], unknown).bytes, 0);
}

}  // namespace
}  // namespace tenon
