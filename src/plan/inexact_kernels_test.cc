// Kernels that are passed over, since their results are not exact enough on a layer's weights.
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "ops/convolution.h"
#include "plan/choose_kernel.h"
#include "plan/choose_kernel_testing.h"
#include "plan/timing_cache.h"

namespace tenon {
namespace {

using testing::FakeTarget;

// A 1x1 convolution of 4 channels. Its results are too large by `error`, if weight 0 is 1.
class PickyKernel final : public Kernel {
 public:
  PickyKernel(const char* label, float error, int milliseconds)
      : error_(error), milliseconds_(milliseconds) {
    name = label;
  }
  std::unique_ptr<Execution> prepare(std::span<const TensorSpec>,
                                     std::span<const TensorSpec>) const override {
    return std::make_unique<Run>(*this);
  }

 private:
  struct Run final : Execution {
    explicit Run(const PickyKernel& kernel) : error(kernel.error_), pause(kernel.milliseconds_) {}
    void run(const RunArguments& arguments) override {
      std::this_thread::sleep_for(std::chrono::milliseconds(pause));
      const auto* x = static_cast<const float*>(arguments.inputs[0]);
      const auto* w = static_cast<const float*>(arguments.inputs[1]);
      auto* y = static_cast<float*>(arguments.outputs[0]);
      const float factor = w[0] == 1 ? 1 + error : 1;
      for (int k = 0; k < 4; ++k)
        for (int p = 0; p < 64; ++p) {
          float sum = 0;
          for (int c = 0; c < 4; ++c) sum += w[4 * k + c] * x[64 * c + p];
          y[64 * k + p] = factor * sum;
        }
    }
    float error;
    int pause;
  };
  float error_;
  int milliseconds_;
};

Candidate picky(const char* name, float error, int milliseconds) {
  return {name, [=](const KernelRequest&) -> Offer {
            return std::make_unique<PickyKernel>(name, error, milliseconds);
          }};
}

std::string convolution_of(const FakeTarget& target, float weight, const BuildOptions& options) {
  Convolution op;
  op.output_channels = 4;
  op.kernel = op.stride = op.dilation = {1, 1};
  op.pre_padding = op.post_padding = {0, 0};
  Tensor weights(DataType::kFLOAT, {4, 4, 1, 1});
  for (int i = 0; i < 16; ++i)
    weights.mutable_data<float>()[i] = i == 0 ? weight : 0.25f * static_cast<float>(i % 7 - 3);
  const TensorSpec data{DataType::kFLOAT, Layout::kLinear, {1, 4, 8, 8}, true};
  const TensorSpec inputs[] = {data, {DataType::kFLOAT, Layout::kLinear, {4, 4, 1, 1}, true}};
  const Tensor* constants[] = {nullptr, &weights};
  return choose_kernel(target, {op, inputs, {&data, 1}, constants}, "layer", options)->name;
}

TEST(InexactKernels, ArePassedOverByTheWeightsOfTheLayer) {
  const FakeTarget target({timed(picky("picky", 1e-3f, 0)), picky("plain", 0, 5)});
  for (const bool has_cache : {false, true}) {
    TimingCache cache;
    BuildOptions options;
    options.timing_cache = has_cache ? &cache : nullptr;
    // The layers differ in their weights alone, and have the same key.
    for (int build = 0; build < 2; ++build) {
      EXPECT_EQ(convolution_of(target, 1, options), "plain");
      EXPECT_EQ(convolution_of(target, 2, options), "picky");
      EXPECT_EQ(convolution_of(target, 1, options), "plain");
      options.error_on_timing_cache_miss = has_cache;  // all is known by now
    }
  }
  BuildOptions options;
  options.time_kernels = false;
  EXPECT_EQ(convolution_of(target, 1, options), "plain");
  EXPECT_EQ(convolution_of(target, 2, options), "picky");
}

TEST(InexactKernels, OfTheLeastErrorAreTakenWhereNoneIsExact) {
  const FakeTarget target({timed(picky("far", 1e-2f, 0)), timed(picky("near", 1e-3f, 2)),
                           picky("farther", 1e-1f, 1), picky("reference", 0, 0)});
  BuildOptions options;
  EXPECT_EQ(convolution_of(target, 1, options), "near");
  EXPECT_EQ(convolution_of(target, 2, options), "far");
  options.time_kernels = false;
  EXPECT_EQ(convolution_of(target, 1, options), "near");
}

}  // namespace
}  // namespace tenon
