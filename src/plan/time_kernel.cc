#include "plan/time_kernel.h"

#include <algorithm>
#include <cmath>

#include "ops/reorder.h"
#include "plan/timing_cache.h"
#include "plan/trial_run.h"

namespace tenon {
namespace {

// What a kernel reads that is the same in each run, but for copies that it made when it was loaded.
std::vector<Tensor> weights_of(const Kernel& kernel, const KernelRequest& request) {
  std::vector<Tensor> weights = kernel.store().packed;
  for (size_t i = 0; i < request.constants.size(); ++i)
    if (request.constants[i] != nullptr && !kernel.input_is_packed[i])
      weights.push_back(*request.constants[i]);
  return weights;
}

float time_kernel(const Kernel& kernel, const KernelRequest& request, const Device& device) {
  TrialRun trial(kernel, request, device);
  std::vector<Tensor> cold;
  if (request.cold_weights) cold = weights_of(kernel, request);
  return device.measure([&](Stream* stream) { trial.run(stream); }, {cold, trial.written()});
}

// What it takes to bring inputs into the layouts that the kernel wants.
float time_reorders(const Kernel& kernel, const KernelRequest& request, const Target& target) {
  float milliseconds = 0;
  for (size_t i = 0; i < request.inputs.size(); ++i) {
    const TensorSpec& arrives = request.inputs[i];
    const bool is_read =
        arrives.present && !kernel.input_is_packed[i] && request.constants[i] == nullptr;
    if (!is_read || kernel.input_layouts[i] == arrives.layout) continue;
    Reorder op;
    op.from = arrives.layout;
    op.to = kernel.input_layouts[i];
    TensorSpec wanted = arrives;
    wanted.layout = op.to;
    const Tensor* const constant = nullptr;
    const KernelRequest reorder{op, {&arrives, 1}, {&wanted, 1}, {&constant, 1}};
    const Choice choice = choose(target, reorder);
    if (choice.kernel != nullptr)
      milliseconds += time_kernel(*choice.kernel, reorder, target.device());
  }
  return milliseconds;
}

}  // namespace

std::string tactic_of(const Kernel& kernel) {
  return tactic_name(kernel.name, kernel.variant);
}

size_t fastest(const std::vector<TimedKernel>& kernels) {
  const auto it = std::min_element(kernels.begin(), kernels.end(),
                                   [](const TimedKernel& a, const TimedKernel& b) {
                                     return a.milliseconds() < b.milliseconds();
                                   });
  return static_cast<size_t>(it - kernels.begin());
}

void time_in_turn(std::vector<TimedKernel>& kernels, const Target& target,
                  const KernelRequest& request, std::string_view layer, const Log& log) {
  constexpr int kRounds = 3;
  constexpr float kHopeless = 2;  // times what the fastest took
  const int rounds = target.device().is_host() ? kRounds : 1;
  for (int round = 0; round < rounds; ++round) {
    const float limit = kHopeless * kernels[fastest(kernels)].milliseconds();
    for (TimedKernel& timed : kernels) {
      if (round > 0 && !(timed.milliseconds() <= limit)) continue;
      try {
        if (round == 0) timed.reorders = time_reorders(*timed.kernel, request, target);
        timed.own = std::min(timed.own, time_kernel(*timed.kernel, request, target.device()));
      } catch (const std::exception& e) {
        log.verbose("layer {}: {} cannot be timed: {}", layer, tactic_of(*timed.kernel), e.what());
        timed.own = INFINITY;
      }
    }
  }
  for (const TimedKernel& timed : kernels)
    log.verbose("layer {}: {} takes {:.3f} ms", layer, tactic_of(*timed.kernel),
                timed.milliseconds());
}

}  // namespace tenon
