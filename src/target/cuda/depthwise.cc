#include "target/cuda/depthwise.h"

#include <limits>

#include "target/cuda/check.h"
#include "target/cuda/empty_execution.h"
#include "target/cuda/kernels.h"
#include "target/cuda/sliding.h"

namespace tenon::cuda {
namespace {

using nvinfer1::ActivationType;
using nvinfer1::ElementWiseOperation;
using Family = PointwiseStep::Family;

struct Activation {
  DepthwiseActivation kind = DepthwiseActivation::kNone;
  float low = 0, high = 0;
};

/// The program as one of the functions that the kernel has.
std::optional<Activation> match(const PointwiseProgram& program) {
  const auto& steps = program.steps;
  if (steps.empty()) return Activation{};
  const PointwiseStep& first = steps[0];
  if (program.inputs != 1 || steps.size() > 2 || first.family != Family::kActivation
      || first.a != 0)
    return std::nullopt;
  const auto function = static_cast<ActivationType>(first.function);
  if (steps.size() == 1) {
    if (function == ActivationType::kRELU)
      return Activation{DepthwiseActivation::kClip, 0, std::numeric_limits<float>::infinity()};
    if (function == ActivationType::kCLIP)
      return Activation{DepthwiseActivation::kClip, first.alpha, first.beta};
    return std::nullopt;
  }
  const PointwiseStep& product = steps[1];
  const int32_t gate = program.step_register(0);
  if (product.family != Family::kElementWise
      || product.function != static_cast<int32_t>(ElementWiseOperation::kPROD)
      || std::min(product.a, product.b) != 0 || std::max(product.a, product.b) != gate)
    return std::nullopt;
  if (function == ActivationType::kSIGMOID) return Activation{DepthwiseActivation::kSwish};
  if (function == ActivationType::kHARD_SIGMOID && first.beta == 0.5f
      && std::abs(first.alpha - 1 / 6.f) < 1e-7f)
    return Activation{DepthwiseActivation::kHardSwish};
  return std::nullopt;
}

class DepthwiseExecution final : public Execution {
 public:
  explicit DepthwiseExecution(const DepthwiseParameters& parameters) : p_(parameters) {}
  void run(const RunArguments& arguments) override {
    p_.data = arguments.inputs[kDataInput];
    p_.weights = arguments.packed[0];
    p_.bias = arguments.inputs.size() > kBiasInput ? arguments.inputs[kBiasInput] : nullptr;
    p_.result = arguments.outputs[0];
    launch_depthwise(p_, arguments.stream);
    check_launch("a depthwise convolution");
  }

 private:
  DepthwiseParameters p_;
};

class DepthwiseKernel final : public Kernel {
 public:
  DepthwiseKernel(SlidingOp op, Activation activation)
      : op_(std::move(op)), activation_(activation) {
    timing_id = convolution_timing_id();  // it is timed against cuDNN's
    set_at_once(4);
  }
  void set_at_once(int count) {
    at_once_ = count;
    variant = fmt::format("{} at once", count);
    state = {{"at_once", int64_t{count}}};
  }

  std::vector<std::unique_ptr<Kernel>> variants() const override {
    std::vector<std::unique_ptr<Kernel>> others;
    for (const int count : {4, 2, 1})
      if (count != at_once_) {
        auto kernel = std::make_unique<DepthwiseKernel>(*this);
        kernel->set_at_once(count);
        others.push_back(std::move(kernel));
      }
    return others;
  }

  std::unique_ptr<Execution> prepare(std::span<const TensorSpec> inputs,
                                     std::span<const TensorSpec> outputs) const override {
    const Shape &in = inputs[kDataInput].shape, &out = outputs[0].shape;
    if (out.volume() == 0) return std::make_unique<EmptyExecution>();
    const auto windows = op_.windows(in, out);
    DepthwiseParameters p;
    p.type = inputs[kDataInput].type;
    p.images = in[0];
    p.channels = in[1];
    for (size_t i = 0; i < 2; ++i) {
      p.in[i] = static_cast<int>(in[static_cast<int>(i) + 2]);
      p.out[i] = static_cast<int>(out[static_cast<int>(i) + 2]);
      p.pre[i] = static_cast<int>(windows[i].pre);
    }
    p.kernel = static_cast<int>(windows[0].kernel);
    p.stride = static_cast<int>(windows[0].stride);
    p.at_once = at_once_;
    p.activation = activation_.kind;
    p.low = activation_.low;
    p.high = activation_.high;
    return std::make_unique<DepthwiseExecution>(p);
  }

 private:
  SlidingOp op_;
  Activation activation_;
  int at_once_ = 4;
};

std::string refusal(const SlidingOp& op, const KernelRequest& request) {
  if (std::string reason = op.refusal(request); !reason.empty()) return reason;
  const ConvolutionAttributes& a = op.attributes;
  const TensorSpec& data = request.inputs[kDataInput];
  const int64_t channels = data.shape[1];
  if (op.transposed || a.kernel.rank() != 2 || a.groups != channels || a.output_maps != channels)
    return "only one map for each channel of a plane is supported";
  if (channels % DepthwiseParameters::kPack != 0)
    return "only multiples of 4 channels are supported";
  if (!(a.kernel == Shape{3, 3} || a.kernel == Shape{5, 5})
      || !(a.stride == Shape{1, 1} || a.stride == Shape{2, 2}) || a.dilation != Shape{1, 1})
    return "only windows of 3x3 and 5x5 with strides of 1 and 2 are supported";
  if (data.type == DataType::kFLOAT && data.layout != Layout::kChannelsLast)
    return "float32 in rows is left to others";
  for (int axis = 2; axis < 4; ++axis)
    if (data.shape[axis] > 1 << 20) return "the plane is too large";
  if (request.stored == nullptr && request.constants[kWeightsInput] == nullptr)
    return "computed weights are not supported";
  return "";
}

}  // namespace

Offer offer_depthwise_convolution(const KernelRequest& request) {
  SlidingOp op(request.op);
  if (std::string reason = refusal(op, request); !reason.empty()) return reason;
  const auto activation = match(op.attributes.epilogue);
  if (!activation) return "the epilogue is not supported";
  const int64_t channels = op.attributes.groups, taps = op.attributes.kernel.volume();
  auto kernel = std::make_unique<DepthwiseKernel>(std::move(op), *activation);
  kernel->input_layouts.assign(request.inputs.size(), Layout::kLinear);
  kernel->input_layouts[kDataInput] = Layout::kChannelsLast;
  kernel->output_layouts = {Layout::kChannelsLast};
  kernel->input_is_packed.assign(request.inputs.size(), false);
  kernel->input_is_packed[kWeightsInput] = true;
  if (request.stored == nullptr) {
    kernel->packed = {with_channels_last(*request.constants[kWeightsInput], 1, channels)};
    return kernel;
  }
  const auto& state = request.stored->state;
  const auto* at_once = state.size() == 1 ? std::get_if<int64_t>(&state[0].second) : nullptr;
  require(at_once != nullptr && (*at_once == 1 || *at_once == 2 || *at_once == 4)
              && request.stored->packed.size() == 1
              && request.stored->packed[0].type() == request.inputs[kDataInput].type
              && request.stored->packed[0].count() == channels * taps,
          "a stored kernel is damaged");
  kernel->set_at_once(static_cast<int>(*at_once));
  kernel->packed = request.stored->packed;
  return kernel;
}

}  // namespace tenon::cuda
