#include "plan/kernel_error.h"

#include <algorithm>
#include <cmath>
#include <random>

#include "common/channel_groups.h"
#include "ops/convolution.h"
#include "plan/trial_run.h"

namespace tenon {
namespace {

constexpr size_t kData = 0, kWeights = 1, kBias = 2, kOperands = 3;
constexpr int kSamples = 256;
constexpr double kLargest = 1e-5, kRms = 5e-7;
constexpr double kProductsOfRms = 64;  // in a sum, for which kRms is
constexpr double kTimesDirect = 4;

// An element of the result, and what it should be.
struct Sample {
  Shape index;
  double exact = 0;
  float direct = 0;  // by a plain sum in float32
};

bool is_measured(const Kernel& kernel, const KernelRequest& request, const Device& device) {
  if (!device.is_host() || dynamic_cast<const Convolution*>(&request.op) == nullptr) return false;
  for (const auto& specs : {request.inputs, request.outputs})
    for (const TensorSpec& spec : specs)
      if (spec.present && spec.type != DataType::kFLOAT) return false;
  const bool has_bias = request.inputs.size() > kBias && request.inputs[kBias].present;
  return kernel.name != "reference" && request.constants[kWeights] != nullptr
         && (!has_bias || request.constants[kBias] != nullptr) && can_be_tried(request);
}

// Where an element with that index lies; an axis of extent 1 is broadcast.
int64_t offset_of(const TensorSpec& spec, const Shape& index) {
  const ChannelGroups groups(spec.shape, spec.layout);
  const auto at = [&](int axis) { return spec.shape[axis] == 1 ? 0 : index[axis]; };
  int64_t position = 0;
  for (int axis = 2; axis < spec.shape.rank(); ++axis)
    position = position * spec.shape[axis] + at(axis);
  return groups.offset(at(0), at(1)) + position * groups.width;
}

float element(const void* data, const TensorSpec& spec, const Shape& index) {
  return static_cast<const float*>(data)[offset_of(spec, index)];
}

// The sums of products at samples of the result.
class Sums {
 public:
  Sums(const Convolution& op, const KernelRequest& request, const TrialRun& trial)
      : op_(op),
        request_(request),
        data_(static_cast<const float*>(trial.input(kData))),
        spec_(trial.inputs()[kData]),
        groups_(spec_.shape, spec_.layout),
        weights_(request.constants[kWeights]->data<float>()),
        depth_(spec_.shape[1] / op.groups) {
    const auto windows = op.windows();
    for (size_t i = 0; i < windows.size(); ++i) {
      const int axis = static_cast<int>(i) + 2;
      windows_.push_back(
          resolved(windows[i], spec_.shape[axis], request.outputs[0].shape[axis], op.padding_mode));
    }
  }

  int64_t products() const { return depth_ * op_.kernel.volume(); }

  void compute(Sample& sample) const {
    const int64_t channel = sample.index[1];
    const bool has_bias = request_.inputs.size() > kBias && request_.inputs[kBias].present;
    const float bias = has_bias ? request_.constants[kBias]->data<float>()[channel] : 0;
    sample.exact = bias;
    sample.direct = bias;
    const int64_t taps = op_.kernel.volume();
    for (int64_t tap = 0; tap < taps; ++tap) {
      const int64_t position = read_at(sample.index, tap);
      if (position < 0) continue;
      const int64_t first = channel / (op_.output_channels / op_.groups) * depth_;
      for (int64_t d = 0; d < depth_; ++d) {
        const float x =
            data_[groups_.offset(sample.index[0], first + d) + position * groups_.width];
        const float w = weights_[(channel * depth_ + d) * taps + tap];
        sample.exact += static_cast<double>(x) * static_cast<double>(w);
        sample.direct += x * w;
      }
    }
  }

 private:
  // The position in the data's plane that a tap reads; -1 in the padding.
  int64_t read_at(const Shape& index, int64_t tap) const {
    int64_t position = 0, stride = 1;
    for (size_t i = windows_.size(); i-- > 0;) {
      const Window& w = windows_[i];
      const int axis = static_cast<int>(i) + 2;
      const int64_t at = index[axis] * w.stride - w.pre + tap % w.kernel * w.dilation;
      if (at < 0 || at >= spec_.shape[axis]) return -1;
      tap /= w.kernel;
      position += at * stride;
      stride *= spec_.shape[axis];
    }
    return position;
  }

  const Convolution& op_;
  const KernelRequest& request_;
  const float* data_;
  const TensorSpec& spec_;
  const ChannelGroups groups_;
  const float* weights_;
  const int64_t depth_;
  std::vector<Window> windows_;
};

float with_epilogue(const PointwiseProgram& epilogue, float value, const TrialRun& trial,
                    const Shape& index) {
  std::vector<float> registers{value};
  for (size_t i = kOperands; i < trial.inputs().size(); ++i)
    registers.push_back(element(trial.input(i), trial.inputs()[i], index));
  registers.insert(registers.end(), epilogue.constants.begin(), epilogue.constants.end());
  for (const PointwiseStep& step : epilogue.steps)
    registers.push_back(evaluate(step, registers[static_cast<size_t>(step.a)],
                                 step.b < 0 ? 0 : registers[static_cast<size_t>(step.b)]));
  return registers.back();
}

double range_of(const std::vector<Sample>& samples) {
  double low = INFINITY, high = -INFINITY;
  for (const Sample& sample : samples) {
    if (!std::isfinite(sample.exact) || !std::isfinite(sample.direct)) return INFINITY;
    low = std::min(low, sample.exact);
    high = std::max(high, sample.exact);
  }
  return high - low;
}

// Makes the sums what the layer writes. Returns what errors of sums that are allowed may make of
// results: a steep function makes more of them.
KernelError apply_epilogue(std::vector<Sample>& samples, double allowed_rms,
                           const PointwiseProgram& epilogue, const TrialRun& trial) {
  const double range = range_of(samples);
  double largest = 0, squares = 0;
  for (Sample& sample : samples) {
    const auto result = [&](double sum) {
      return static_cast<double>(
          with_epilogue(epilogue, static_cast<float>(sum), trial, sample.index));
    };
    const double sum = sample.exact;
    sample.exact = result(sum);
    sample.direct = static_cast<float>(result(static_cast<double>(sample.direct)));
    const auto change = [&](double allowed) {
      const double error = allowed * range;
      return std::max(std::abs(result(sum + error) - sample.exact),
                      std::abs(result(sum - error) - sample.exact));
    };
    largest = std::max(largest, change(kLargest));
    squares += change(allowed_rms) * change(allowed_rms);
  }
  return {static_cast<float>(largest),
          static_cast<float>(std::sqrt(squares / static_cast<double>(samples.size())))};
}

std::vector<Sample> samples_in(const Shape& shape) {
  std::mt19937 random(1);
  std::vector<Sample> samples(kSamples);
  for (Sample& sample : samples)
    for (const int64_t extent : shape)
      sample.index.push_back(static_cast<int64_t>(random()) % extent);
  return samples;
}

// Of two lists of results, in parts of the range.
template <class Actual>
KernelError error_of(const std::vector<Sample>& samples, double range, const Actual& actual) {
  double largest = 0, squares = 0;
  for (size_t i = 0; i < samples.size(); ++i) {
    const double difference = std::abs(actual(i) - samples[i].exact) / range;
    largest = std::max(largest, difference);
    squares += difference * difference;
  }
  return {static_cast<float>(largest),
          static_cast<float>(std::sqrt(squares / static_cast<double>(samples.size())))};
}

}  // namespace

std::optional<MeasuredError> measure_error(const Kernel& kernel, const KernelRequest& request,
                                           const Device& device) {
  if (!is_measured(kernel, request, device)) return std::nullopt;
  const auto& op = static_cast<const Convolution&>(request.op);
  const Shape& shape = request.outputs[0].shape;
  if (shape.volume() == 0) return std::nullopt;
  TrialRun trial(kernel, request, device);
  for (size_t i = kOperands; i < request.inputs.size(); ++i)
    if (trial.input(i) == nullptr || (request.constants[i] != nullptr && !trial.has_constant(i)))
      return std::nullopt;
  const Sums sums(op, request, trial);
  std::vector<Sample> samples = samples_in(shape);
  for (Sample& sample : samples) sums.compute(sample);
  const double rms =
      kRms * std::sqrt(std::max(static_cast<double>(sums.products()) / kProductsOfRms, 1.0));
  KernelError of_epilogue;
  if (!op.epilogue.empty()) of_epilogue = apply_epilogue(samples, rms, op.epilogue, trial);
  trial.run(nullptr);
  std::vector<float> results;
  for (const Sample& sample : samples) {
    results.push_back(element(trial.output(0), trial.outputs()[0], sample.index));
    if (!std::isfinite(results.back())) return std::nullopt;
  }
  const double range = range_of(samples);
  if (!(range > 0) || !std::isfinite(range)) return std::nullopt;
  const KernelError direct = error_of(samples, range, [&](size_t i) { return samples[i].direct; });
  const auto allowed = [range](double plain, float by_direct, float by_epilogue) {
    return static_cast<float>(std::max({plain, kTimesDirect * static_cast<double>(by_direct),
                                        static_cast<double>(by_epilogue) / range}));
  };
  MeasuredError measured;
  measured.error = error_of(samples, range, [&](size_t i) { return results[i]; });
  measured.allowed = {allowed(kLargest, direct.largest, of_epilogue.largest),
                      allowed(rms, direct.rms, of_epilogue.rms)};
  return measured;
}

}  // namespace tenon
