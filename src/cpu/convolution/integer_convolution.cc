// Convolution of 8-bit integers by panels of our own.
#include <fmt/format.h>

#include <algorithm>

#include "cpu/convolution/integer_execution.h"
#include "cpu/kernels.h"

namespace tenon::cpu {
namespace {

using In = QuantizedInputs;

class IntegerConvolutionKernel final : public Kernel {
 public:
  IntegerConvolutionKernel(const QuantizedConvolution& op, IntegerPanels weights,
                           const KernelRequest& request)
      : op_(op), weights_(std::move(weights)) {
    if (op.sum.used) sum_ = byte_sum(op.sum, request.inputs[QuantizedConvolution::kAddend].type);
    take_layouts(*this, op, request);
    packed = weights_.packed();
    timing_id = weights_.kernels->timing_id;
  }

  std::unique_ptr<Execution> prepare(std::span<const TensorSpec> inputs,
                                     std::span<const TensorSpec> outputs) const override {
    return convolve_integers(op_, weights_, sum_, inputs, outputs[0]);
  }

 private:
  QuantizedConvolution op_;
  IntegerPanels weights_;
  std::optional<ByteSum> sum_;
};

}  // namespace

bool convolves_integers(const QuantizedConvolution& op) {
  return byte_product_kernels() != nullptr && op.kernel.rank() == 2 && op.groups == 1;
}

void take_layouts(Kernel& kernel, const QuantizedConvolution& op, const KernelRequest& request) {
  const size_t inputs = request.inputs.size();
  kernel.input_is_packed.assign(inputs, false);
  kernel.input_is_packed[In::kWeights] = true;
  kernel.input_layouts.assign(inputs, Layout::kLinear);
  kernel.input_layouts[In::kData] = Layout::kChannelsLast;
  if (op.has_addend()) kernel.input_layouts[QuantizedConvolution::kAddend] = Layout::kChannelsLast;
  kernel.output_layouts = {Layout::kChannelsLast};
}

/// Beyond what a network has; strides between that many elements fit 64 bits.
constexpr int64_t kMaxExtent = int64_t{1} << 31, kMaxWeights = int64_t{1} << 40;

std::optional<std::string> why_not(const QuantizedConvolution& op, const KernelRequest& request) {
  if (byte_product_kernels() == nullptr) return "the processor has no AVX2";
  const Shape& data = request.inputs[In::kData].shape;
  if (!convolves_integers(op) || data.rank() != 4)
    return "only two spatial axes and group 1 are supported";
  if (data[1] < 1) return "there is nothing to sum";
  const Shape windows{op.output_channels, data[1], op.kernel[0], op.kernel[1]};
  if (std::any_of(windows.begin(), windows.end(),
                  [](int64_t extent) { return extent < 1 || extent > kMaxExtent; })
      || windows.volume() > kMaxWeights)
    return fmt::format("{} output channels of {} channels and windows of {}x{} are not supported",
                       windows[0], windows[1], windows[2], windows[3]);
  return std::nullopt;
}

namespace {

Shape windows_of(const QuantizedConvolution& op, const KernelRequest& request) {
  return {op.output_channels, request.inputs[In::kData].shape[1], op.kernel[0], op.kernel[1]};
}

}  // namespace

Offer offer_integer_convolution(const KernelRequest& request) {
  const auto& op = static_cast<const QuantizedConvolution&>(request.op);
  if (auto reason = why_not(op, request)) return std::move(*reason);
  const Shape windows = windows_of(op, request);
  const int64_t window = op.kernel.volume();
  auto weights =
      IntegerPanels::take(request, windows, {windows[1] * window, window, op.kernel[1], 1});
  if (auto* reason = std::get_if<std::string>(&weights)) return std::move(*reason);
  return std::make_unique<IntegerConvolutionKernel>(op, std::get<IntegerPanels>(std::move(weights)),
                                                    request);
}

Offer load_integer_convolution(const KernelRequest& request, const StoredKernel& stored) {
  const auto& op = static_cast<const QuantizedConvolution&>(request.op);
  if (auto reason = why_not(op, request)) return std::move(*reason);
  return std::make_unique<IntegerConvolutionKernel>(
      op, IntegerPanels::load(stored, windows_of(op, request)), request);
}

}  // namespace tenon::cpu
