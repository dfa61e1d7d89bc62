// Depthwise convolutions of 8-bit integers.
#include "cuda/capability.h"
#include "cuda/convolution/depthwise.h"
#include "cuda/empty_execution.h"
#include "cuda/kernels.h"
#include "cuda/quantized_execution.h"
#include "cuda/variant_kernel.h"
#include "ops/support/window.h"

namespace tenon::cuda {
namespace {

using In = QuantizedInputs;

constexpr int kAtOnce[] = {4, 2, 1};
constexpr int kPack = DepthwiseParameters::kPack;

class IntegerDepthwiseExecution final : public Execution {
 public:
  explicit IntegerDepthwiseExecution(const IntegerDepthwiseParameters& parameters)
      : p_(parameters) {}
  void run(const RunArguments& arguments) override {
    p_.plane.data = arguments.input(In::kData);
    p_.plane.weights = arguments.packed[PackedWeights::kWeights];
    p_.plane.bias = arguments.packed[PackedWeights::kBias];
    p_.plane.result = arguments.outputs[0];
    p_.data_zero = arguments.packed[PackedWeights::kPadding];
    set_operands(p_.epilogue, arguments);
    const void* const tensors[] = {p_.plane.data, p_.epilogue.addend, p_.plane.result};
    check_alignment(tensors, kPack);
    launch_integer_depthwise(p_, to_cuda(arguments.stream));
    check_launch("a depthwise convolution of bytes");
  }

 private:
  IntegerDepthwiseParameters p_;
};

class IntegerDepthwiseKernel final : public VariantKernel<IntegerDepthwiseKernel> {
 public:
  explicit IntegerDepthwiseKernel(const QuantizedConvolution& op) : op_(op) { choose(0); }
  size_t variant_count() const { return std::size(kAtOnce); }
  void describe_variant() { describe_as(fmt::format("{} at once", kAtOnce[chosen()])); }

  std::unique_ptr<Execution> prepare(std::span<const TensorSpec> inputs,
                                     std::span<const TensorSpec> outputs) const override {
    const Shape &in = inputs[In::kData].shape, &out = outputs[0].shape;
    if (out.volume() == 0) return std::make_unique<EmptyExecution>();
    require(in.rank() == 4 && out.rank() == 4 && out[0] == in[0] && out[1] == in[1],
            "data {} and result {} of a depthwise convolution do not fit", in, out);
    require(out.volume(1, 4) / kPack <= INT32_MAX && in.volume(1, 4) / kPack <= INT32_MAX,
            "a result of {} has too many elements for each image", out);
    IntegerDepthwiseParameters p;
    p.plane.type = inputs[In::kData].type;
    p.plane.images = in[0];
    p.plane.channels = in[1];
    const auto windows =
        make_windows(2, op_.kernel, op_.stride, op_.dilation, op_.pre_padding, op_.post_padding);
    for (size_t i = 0; i < 2; ++i) {
      const int axis = static_cast<int>(i) + 2;
      p.plane.in[i] = static_cast<int>(in[axis]);
      p.plane.out[i] = static_cast<int>(out[axis]);
      p.plane.pre[i] =
          static_cast<int>(resolved(windows[i], in[axis], out[axis], op_.padding_mode).pre);
    }
    p.plane.kernel = static_cast<int>(windows[0].kernel);
    p.plane.stride = static_cast<int>(windows[0].stride);
    p.plane.at_once = kAtOnce[chosen()];
    p.epilogue = *quantized_epilogue(op_, inputs);
    return std::make_unique<IntegerDepthwiseExecution>(p);
  }

 private:
  QuantizedConvolution op_;
};

bool is_depthwise(const QuantizedConvolution& op) {
  return op.groups == op.output_channels && op.groups % kPack == 0
         && (op.kernel == Shape{3, 3} || op.kernel == Shape{5, 5})
         && (op.stride == Shape{1, 1} || op.stride == Shape{2, 2}) && op.dilation == Shape{1, 1};
}

std::string refusal(const QuantizedConvolution& op, const KernelRequest& request) {
  if (op.is_float8) return "fp8 is not supported";
  if (!is_depthwise(op) || request.inputs[In::kData].shape[1] != op.groups)
    return "only depthwise windows of 3x3 and 5x5 with strides of 1 and 2, and multiples of 4 "
           "channels, are supported";
  return quantized_epilogue(op) ? "" : "the epilogue is not supported";
}

WeightPacking packing_of(const QuantizedConvolution& op) {
  const int64_t channels = op.groups, taps = op.kernel.volume();
  return {channels, taps, channels * taps,
          [taps](int64_t channel, int64_t tap) { return channel * taps + tap; },
          [channels](int64_t channel, int64_t tap) { return tap * channels + channel; }};
}

std::unique_ptr<IntegerDepthwiseKernel> make(const QuantizedConvolution& op,
                                             const KernelRequest& request) {
  auto kernel = std::make_unique<IntegerDepthwiseKernel>(op);
  PackedWeights::describe(*kernel, request, true);
  return kernel;
}

}  // namespace

// Without groups quantized_gemm takes it, but for a dilation of few channels.
bool has_fast_kernel(const QuantizedConvolution& op) {
  if (op.is_float8 && (op.groups != 1 || !multiplies_float8())) return false;
  constexpr int kAmpere = 8;
  const bool is_dense = op.groups == 1 && op.kernel.rank() <= 2
                        && (op.dilation.rank() == 0 || op.dilation.back() == 1);
  return has_capability(kAmpere) && (is_depthwise(op) || is_dense);
}

Offer offer_integer_depthwise(const KernelRequest& request) {
  const auto& op = static_cast<const QuantizedConvolution&>(request.op);
  if (std::string reason = refusal(op, request); !reason.empty()) return reason;
  auto packed = PackedWeights::pack(request, packing_of(op));
  if (auto* reason = std::get_if<std::string>(&packed)) return *reason;
  auto kernel = make(op, request);
  kernel->packed = std::get<0>(std::move(packed));
  return kernel;
}

Offer load_integer_depthwise(const KernelRequest& request, const StoredKernel& stored) {
  const auto& op = static_cast<const QuantizedConvolution&>(request.op);
  if (std::string reason = refusal(op, request); !reason.empty()) return reason;
  PackedWeights::check(stored.packed, packing_of(op));
  auto kernel = make(op, request);
  kernel->choose_stored(stored.state);
  kernel->packed = stored.packed;
  return kernel;
}

}  // namespace tenon::cuda
