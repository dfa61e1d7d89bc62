// Matrix products of 8-bit integers with one constant matrix: convolutions of 1x1, whose pixels are
// the rows.
#include "base/error.h"
#include "cpu/convolution/integer_execution.h"
#include "cpu/kernels.h"
#include "ops/quantized_matrix_multiply.h"

namespace tenon::cpu {
namespace {

using In = QuantizedInputs;

/// (…, M, K) as K channels of one row of pixels, which lie last as they are.
TensorSpec as_pixels(const TensorSpec& rows) {
  const Shape& shape = rows.shape;
  return {rows.type,
          Layout::kChannelsLast,
          {1, shape.back(), 1, shape.volume(0, shape.rank() - 1)},
          rows.present};
}

class IntegerMatrixMultiplyKernel final : public Kernel {
 public:
  IntegerMatrixMultiplyKernel(const QuantizedMatrixMultiply& op, IntegerPanels weights,
                              const KernelRequest& request)
      : weights_(std::move(weights)) {
    convolution_.to = op.to;
    convolution_.bounds = op.bounds;
    convolution_.epilogue = op.epilogue;
    convolution_.output_channels = weights_.sums.shape()[1];
    convolution_.kernel = convolution_.stride = convolution_.dilation = {1, 1};
    convolution_.pre_padding = convolution_.post_padding = {0, 0};
    packed = weights_.packed();
    timing_id = weights_.kernels->timing_id;
    input_is_packed.assign(request.inputs.size(), false);
    input_is_packed[In::kWeights] = true;
  }

  std::unique_ptr<Execution> prepare(std::span<const TensorSpec> inputs,
                                     std::span<const TensorSpec> outputs) const override {
    std::vector<TensorSpec> specs(inputs.begin(), inputs.end());
    specs[In::kData] = as_pixels(inputs[In::kData]);
    const TensorSpec result = as_pixels(outputs[0]);
    require(result.shape.back() == specs[In::kData].shape.back(), "{} rows cannot give {}",
            specs[In::kData].shape.back(), result.shape.back());
    return convolve_integers(convolution_, weights_, std::nullopt, specs, result);
  }

 private:
  QuantizedConvolution convolution_;
  IntegerPanels weights_;
};

std::string refusal(const KernelRequest& request) {
  if (byte_product_kernels() == nullptr) return "the processor has no AVX2";
  const Shape &data = request.inputs[In::kData].shape,
              &weights = request.inputs[In::kWeights].shape;
  const int rank = weights.rank();
  if (rank < 2 || data.rank() != rank || weights.volume(0, rank - 2) != 1)
    return "only one matrix of weights is supported";
  const int64_t depth = weights[rank - 2];
  if (depth < 1 || data.back() != depth) return "there is nothing to sum";
  return "";
}

// Columns are output channels of windows of one element.
Shape windows_of(const KernelRequest& request) {
  const Shape& weights = request.inputs[In::kWeights].shape;
  return {weights.back(), weights[weights.rank() - 2], 1, 1};
}

}  // namespace

Offer offer_integer_matrix_multiply(const KernelRequest& request) {
  if (std::string reason = refusal(request); !reason.empty()) return reason;
  const Shape windows = windows_of(request);
  auto panels = IntegerPanels::take(request, windows, {1, windows[0], 0, 0});
  if (auto* reason = std::get_if<std::string>(&panels)) return std::move(*reason);
  return std::make_unique<IntegerMatrixMultiplyKernel>(
      static_cast<const QuantizedMatrixMultiply&>(request.op),
      std::get<IntegerPanels>(std::move(panels)), request);
}

Offer load_integer_matrix_multiply(const KernelRequest& request, const StoredKernel& stored) {
  if (std::string reason = refusal(request); !reason.empty()) return reason;
  return std::make_unique<IntegerMatrixMultiplyKernel>(
      static_cast<const QuantizedMatrixMultiply&>(request.op),
      IntegerPanels::load(stored, windows_of(request)), request);
}

}  // namespace tenon::cpu
