#include "cuda/convolution/depthwise.h"

#include "base/cuda_stream.h"
#include "cuda/check.h"
#include "cuda/convolution/sliding.h"
#include "cuda/empty_execution.h"
#include "cuda/kernels.h"
#include "cuda/variant_kernel.h"

namespace tenon::cuda {
namespace {

constexpr int kAtOnce[] = {4, 2, 1};

class DepthwiseExecution final : public Execution {
 public:
  explicit DepthwiseExecution(const DepthwiseParameters& parameters) : p_(parameters) {}
  void run(const RunArguments& arguments) override {
    p_.data = arguments.inputs[kDataInput];
    p_.weights = arguments.packed[0];
    p_.bias = arguments.input(kBiasInput);
    p_.result = arguments.outputs[0];
    const void* const tensors[] = {p_.data, p_.bias, p_.result};
    check_alignment(tensors, DepthwiseParameters::kPack * bytes_of(p_.type, 1));
    launch_depthwise(p_, to_cuda(arguments.stream));
    check_launch("a depthwise convolution");
  }

 private:
  DepthwiseParameters p_;
};

class DepthwiseKernel final : public VariantKernel<DepthwiseKernel> {
 public:
  DepthwiseKernel(SlidingOp op, const SimpleEpilogue& epilogue)
      : op_(std::move(op)), epilogue_(epilogue) {
    timing_id = convolution_timing_id();  // it is timed against cuDNN's
    choose(0);
  }
  size_t variant_count() const { return std::size(kAtOnce); }
  void describe_variant() { describe_as(fmt::format("{} at once", kAtOnce[chosen()])); }

  std::unique_ptr<Execution> prepare(std::span<const TensorSpec> inputs,
                                     std::span<const TensorSpec> outputs) const override {
    const Shape &in = inputs[kDataInput].shape, &out = outputs[0].shape;
    if (out.volume() == 0) return std::make_unique<EmptyExecution>();
    require(out.volume(1, 4) / DepthwiseParameters::kPack <= INT32_MAX,
            "a result of {} has too many elements for each image", out);
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
    p.at_once = kAtOnce[chosen()];
    p.epilogue = epilogue_;
    return std::make_unique<DepthwiseExecution>(p);
  }

 private:
  SlidingOp op_;
  SimpleEpilogue epilogue_;
};

std::string refusal(const SlidingOp& op, const KernelRequest& request) {
  if (std::string reason = op.refusal(request); !reason.empty()) return reason;
  const ConvolutionAttributes& a = op.attributes;
  const TensorSpec& data = request.inputs[kDataInput];
  const int64_t channels = data.shape[1];
  if (op.transposed || a.kernel.rank() != 2 || a.groups != channels
      || a.output_channels != channels)
    return "only one output channel per group is supported";
  if (channels % DepthwiseParameters::kPack != 0)
    return "only multiples of 4 channels are supported";
  if (!(a.kernel == Shape{3, 3} || a.kernel == Shape{5, 5})
      || !(a.stride == Shape{1, 1} || a.stride == Shape{2, 2}) || a.dilation != Shape{1, 1})
    return "only windows of 3x3 and 5x5 with strides of 1 and 2 are supported";
  if (data.type == DataType::kFLOAT && data.layout != Layout::kChannelsLast)
    return "float32 in rows is left to others";
  for (int axis = 2; axis < 4; ++axis)
    if (data.shape[axis] > 1 << 20) return "the plane is too large";
  if (!match_simple_epilogue(a.epilogue) || match_simple_epilogue(a.epilogue)->adds)
    return "the epilogue is not supported";
  return "";
}

std::unique_ptr<DepthwiseKernel> make(SlidingOp op, const KernelRequest& request) {
  const SimpleEpilogue epilogue = *match_simple_epilogue(op.attributes.epilogue);
  auto kernel = std::make_unique<DepthwiseKernel>(std::move(op), epilogue);
  kernel->input_layouts.assign(request.inputs.size(), Layout::kLinear);
  kernel->input_layouts[kDataInput] = Layout::kChannelsLast;
  kernel->output_layouts = {Layout::kChannelsLast};
  kernel->input_is_packed.assign(request.inputs.size(), false);
  kernel->input_is_packed[kWeightsInput] = true;
  return kernel;
}

}  // namespace

Offer offer_depthwise_convolution(const KernelRequest& request) {
  const SlidingOp op(request.op);
  if (std::string reason = refusal(op, request); !reason.empty()) return reason;
  const Tensor* const weights = request.constants[kWeightsInput];
  if (weights == nullptr) return "computed weights are not supported";
  auto kernel = make(op, request);
  kernel->packed = {with_channels_last(*weights, 1, op.attributes.groups)};
  return kernel;
}

Offer load_depthwise_convolution(const KernelRequest& request, const StoredKernel& stored) {
  const SlidingOp op(request.op);
  if (std::string reason = refusal(op, request); !reason.empty()) return reason;
  auto kernel = make(op, request);
  kernel->choose_stored(stored.state);
  const auto& packed = stored.packed;
  require(packed.size() == 1 && packed[0].type() == request.inputs[kDataInput].type
              && packed[0].count() == op.attributes.groups * op.attributes.kernel.volume(),
          "a stored kernel is damaged");
  kernel->packed = packed;
  return kernel;
}

}  // namespace tenon::cuda
