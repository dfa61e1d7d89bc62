#include "plan/kernel_error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "common/channel_groups.h"
#include "cpu/cpu_target.h"
#include "ops/convolution.h"
#include "plan/trial_run.h"

namespace tenon {
namespace {

// A convolution of 32 channels, with ReLU or without.
struct Layer {
  Convolution op;
  Tensor weights{DataType::kFLOAT, {32, 32, 3, 3}};
  TensorSpec inputs[2] = {{DataType::kFLOAT, Layout::kLinear, {1, 32, 40, 40}, true},
                          {DataType::kFLOAT, Layout::kLinear, {32, 32, 3, 3}, true}};
  TensorSpec output{DataType::kFLOAT, Layout::kLinear, {1, 32, 40, 40}, true};
  const Tensor* constants[2] = {nullptr, &weights};
  bool tf32 = false;

  explicit Layer(bool has_relu = false) {
    op.output_channels = 32;
    op.kernel = {3, 3};
    op.stride = op.dilation = op.pre_padding = op.post_padding = {1, 1};
    if (has_relu) {
      PointwiseStep relu;
      relu.function = static_cast<int32_t>(nvinfer1::ActivationType::kRELU);
      op.epilogue.steps = {relu};
    }
    std::mt19937 random(2);
    std::normal_distribution<float> normal;
    for (int64_t i = 0; i < weights.count(); ++i) weights.mutable_data<float>()[i] = normal(random);
  }
  KernelRequest request() const { return {op, inputs, {&output, 1}, constants, tf32}; }
};

// Of all elements, against the reference, whose sums are in float64.
KernelError error_of_all(const Kernel& kernel, const Layer& layer) {
  const KernelRequest request = layer.request();
  TrialRun trial(kernel, request, cpu_target().device());
  const TensorSpec& data = trial.inputs()[0];
  const ChannelGroups in(data.shape, data.layout);
  Tensor linear(DataType::kFLOAT, data.shape), expected(DataType::kFLOAT, layer.output.shape);
  for (int64_t c = 0; c < in.channels; ++c)
    for (int64_t p = 0; p < in.plane; ++p)
      linear.mutable_data<float>()[c * in.plane + p] =
          static_cast<const float*>(trial.input(0))[in.offset(0, c) + p * in.width];
  const TensorView reads[] = {view_of(linear), view_of(layer.weights)};
  const TensorView writes[] = {{expected.mutable_data<void>(), expected.type(), expected.shape()}};
  layer.op.reference({reads, writes});
  trial.run(nullptr);
  const ChannelGroups out(layer.output.shape, trial.outputs()[0].layout);
  double low = INFINITY, high = -INFINITY, largest = 0, squares = 0;
  for (int64_t c = 0; c < out.channels; ++c)
    for (int64_t p = 0; p < out.plane; ++p) {
      const double exact = expected.data<float>()[c * out.plane + p];
      const double actual =
          static_cast<const float*>(trial.output(0))[out.offset(0, c) + p * out.width];
      low = std::min(low, exact);
      high = std::max(high, exact);
      largest = std::max(largest, std::abs(actual - exact));
      squares += (actual - exact) * (actual - exact);
    }
  const double range = high - low;
  return {static_cast<float>(largest / range),
          static_cast<float>(std::sqrt(squares / static_cast<double>(expected.count())) / range)};
}

TEST(KernelError, IsThatOfAllResults) {
  for (const bool has_relu : {false, true}) {
    const Layer layer(has_relu);
    const auto list = cpu_target().candidates(layer.op);
    int measured_kernels = 0;
    for (size_t i = 0; i < list.size(); ++i) {
      Offer offer = list[i].offer(layer.request());
      auto* kernel = std::get_if<std::unique_ptr<Kernel>>(&offer);
      if (kernel == nullptr || list[i].name == "reference") continue;
      SCOPED_TRACE(list[i].name);
      (*kernel)->name = list[i].name;
      complete(**kernel, layer.request());
      const auto measured = measure_error(**kernel, layer.request(), cpu_target().device());
      ASSERT_TRUE(measured.has_value());
      ++measured_kernels;
      EXPECT_TRUE(measured->is_allowed());
      const KernelError all = error_of_all(**kernel, layer);
      constexpr float kRounding = 1e-7f;  // of the reference's results
      EXPECT_LE(measured->error.largest, all.largest * 1.2f + kRounding);
      EXPECT_LE(measured->error.rms, all.rms * 1.5f + kRounding);
      EXPECT_GE(measured->error.rms + kRounding, all.rms / 1.5f);
    }
    EXPECT_GE(measured_kernels, 2);
  }
}

// One weight is a thousandth too large: the kernel is one for other weights.
TEST(KernelError, AWrongKernelIsFound) {
  const Layer layer;
  Layer other;
  other.weights.mutable_data<float>()[7] *= 1.001f;
  const Choice choice = choose(cpu_target(), other.request());
  ASSERT_NE(choice.kernel, nullptr);
  const auto measured = measure_error(*choice.kernel, layer.request(), cpu_target().device());
  ASSERT_TRUE(measured.has_value());
  EXPECT_FALSE(measured->is_allowed());
}

TEST(KernelError, OtherLayersAreNotMeasured) {
  Layer layer;
  layer.weights.mutable_data<float>()[7] = INFINITY;
  const Choice choice = choose(cpu_target(), layer.request());
  EXPECT_FALSE(measure_error(*choice.kernel, layer.request(), cpu_target().device()).has_value());
  layer.constants[1] = nullptr;
  EXPECT_FALSE(measure_error(*choice.kernel, layer.request(), cpu_target().device()).has_value());
}

}  // namespace
}  // namespace tenon
