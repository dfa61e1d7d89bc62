#include "builder/refit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backend/targets.h"
#include "builder/build_plan.h"
#include "cpu/cpu_target.h"
#include "ops/dequantize.h"
#include "ops/quantize.h"
#include "optimize/plugin_scales.h"
#include "plan/plan_file.h"
#include "plan/plan_test_network.h"
#include "plugin_layers/idle_plugin_test.h"
#include "plugin_layers/plugin.h"

namespace tenon {
namespace {

constexpr int64_t kChannels = 32;

// Of two convolutions, built, written and read.
Plan plan_from_file() {
  Network n;
  Value& x = n.add_input("image", DataType::kFLOAT, {1, kChannels, 8, 8});
  Value& y = testing::convolve(n, x, "conv1", kChannels, kChannels);
  n.mark_output(testing::convolve(n, y, "conv2", kChannels, kChannels));
  BuildOptions options;
  options.time_kernels = false;
  options.refit = RefitScope::kAll;
  return read_plan(write_plan(build_plan(n, cpu_target(), options)), nullptr, "x.plan");
}

using Given = std::vector<std::optional<Tensor>>;

Plan refitted_with(const Plan& plan, const Given& given) {
  return refitted(plan, given, cpu_target(), Log());
}

// Of the step of that layer.
const void* packed_by(const Plan& plan, const std::string& layer) {
  for (const PlanStep& step : plan.steps)
    if (step.name.find(layer) != std::string::npos && !step.packed.empty())
      return plan.weights[static_cast<size_t>(step.packed[0])].data();
  ADD_FAILURE() << "no step of " << layer << " has packed weights";
  return nullptr;
}

TEST(Refit, LayersWhoseWeightsStayKeepWhatTheyPacked) {
  const Plan plan = plan_from_file();
  const auto weights = refittable_weights(plan);
  const auto kernel_of = [&](const char* layer) {
    for (size_t i = 0; i < weights.size(); ++i)
      for (const auto& use : weights[i].uses)
        if (use.layer == layer && use.role == nvinfer1::WeightsRole::kKERNEL) return i;
    ADD_FAILURE() << layer;
    return size_t{0};
  };
  Given given(weights.size());
  given[kernel_of("conv1")] = testing::ramp({kChannels, kChannels, 3, 3}, 0.25f);
  const Plan first = refitted_with(plan, given);
  EXPECT_NE(packed_by(first, "conv2"), packed_by(plan, "conv2")) << "a file tells nothing of it";

  given[kernel_of("conv1")] = testing::ramp({kChannels, kChannels, 3, 3}, -0.5f);
  const Plan second = refitted_with(first, given);
  EXPECT_NE(packed_by(second, "conv1"), packed_by(first, "conv1"));
  EXPECT_EQ(packed_by(second, "conv2"), packed_by(first, "conv2"));
  EXPECT_EQ(write_plan(second), write_plan(refitted_with(plan, given))) << "as all packed anew";

  const Plan third = refitted_with(second, Given(weights.size()));
  EXPECT_EQ(packed_by(third, "conv1"), packed_by(second, "conv1"));
  EXPECT_EQ(write_plan(third), write_plan(second));
}

Tensor number(float value) {
  Tensor tensor(DataType::kFLOAT, Shape{});
  *tensor.mutable_data<float>() = value;
  return tensor;
}

TEST(Refit, ScalesOfPluginsAreThoseOfTheNewWeights) {
  Network n;
  Value& scale = n.add_weight(number(0.5f));
  Value& x = n.add_input("x", DataType::kFLOAT, {3});
  Value& steps = *n.add_node(std::make_unique<Quantize>(), {&x, &scale}).outputs[0];
  testing::IdlePlugin idle;
  Value& y = *n.add_node(make_plugin_v2(idle), {&steps}).outputs[0];
  n.mark_output(*n.add_node(std::make_unique<Dequantize>(), {&y, &scale}).outputs[0]);
  set_plugin_scales(n);
  BuildOptions options;
  options.time_kernels = false;
  options.refit = RefitScope::kAll;
  const Plan plan = build_plan(n, cpu_target(), options);

  const auto scales_of = [](const Plan& p) {
    for (const auto& node : p.source->network->nodes())
      if (const auto* layer = dynamic_cast<const PluginLayer*>(node->op.get()))
        return layer->scales;
    return std::vector<float>{};
  };
  EXPECT_THAT(scales_of(plan), ::testing::ElementsAre(0.5f, 0.5f));
  EXPECT_THAT(scales_of(refitted_with(plan, {number(0.25f)})),
              ::testing::ElementsAre(0.25f, 0.25f));
}

}  // namespace
}  // namespace tenon
