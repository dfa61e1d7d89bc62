// Convolutions of images of few channels: what the windows see is gathered into rows, and these are
// multiplied by tensor cores.
#include <algorithm>
#include <cstring>

#include "base/cuda_stream.h"
#include "cuda/capability.h"
#include "cuda/check.h"
#include "cuda/convolution/fused_product.h"
#include "cuda/convolution/im2col.h"
#include "cuda/convolution/sliding.h"
#include "cuda/empty_execution.h"
#include "cuda/kernels.h"
#include "cuda/variant_kernel.h"

namespace tenon::cuda {
namespace {

using Tile = FusedProduct::Tile;

constexpr Tile kTiles[] = {Tile::k64x64, Tile::k128x64, Tile::k64x32, Tile::k32x32};
// Rows are gathered in parts that the L2 cache holds until they are multiplied.
constexpr int64_t kPartBytes = 16 << 20;

class Im2colExecution final : public Execution {
 public:
  Im2colExecution(const Im2colParameters& im2col, const FusedProduct& product)
      : im2col_(im2col),
        product_(product),
        part_(std::min(product.rows, std::max<int64_t>(kPartBytes / (2 * im2col.width), 1))) {}

  size_t scratch_bytes() const override { return static_cast<size_t>(part_ * im2col_.width * 2); }

  void run(const RunArguments& arguments) override {
    Im2colParameters im2col = im2col_;
    im2col.data = arguments.input(kDataInput);
    im2col.rows = arguments.scratch;
    FusedProduct product = product_;
    product.data = arguments.scratch;
    product.weights = arguments.packed[0];
    product.bias = arguments.input(kBiasInput);
    for (int64_t first = 0; first < product_.rows; first += part_) {
      const auto skip = [&](const void* data) {
        return data == nullptr ? nullptr
                               : static_cast<const std::byte*>(data) + first * product_.columns * 2;
      };
      im2col.first = first;
      im2col.count = product.rows = std::min(part_, product_.rows - first);
      product.added = skip(arguments.input(kFirstOperand));
      product.result = const_cast<std::byte*>(skip(arguments.outputs[0]));
      launch_im2col(im2col, to_cuda(arguments.stream));
      check_launch("im2col");
      check_alignment(product);
      launch_fused_product(product, to_cuda(arguments.stream));
      check_launch("the product behind im2col");
    }
  }

 private:
  Im2colParameters im2col_;
  FusedProduct product_;
  int64_t part_;  // rows at a time
};

class Im2colKernel final : public VariantKernel<Im2colKernel> {
 public:
  Im2colKernel(SlidingOp op, const SimpleEpilogue& epilogue, int64_t width)
      : op_(std::move(op)), epilogue_(epilogue), width_(width) {
    timing_id = convolution_timing_id();  // it is timed against cuDNN's
    choose(0);
  }
  size_t variant_count() const { return std::size(kTiles); }
  void describe_variant() { describe_as(fmt::format("tile {}", chosen())); }

  std::unique_ptr<Execution> prepare(std::span<const TensorSpec> inputs,
                                     std::span<const TensorSpec> outputs) const override {
    const Shape &in = inputs[kDataInput].shape, &out = outputs[0].shape;
    if (out.volume() == 0) return std::make_unique<EmptyExecution>();
    Im2colParameters im2col;
    im2col.channels = in[1];
    im2col.width = width_;
    const auto windows = op_.windows(in, out);
    for (size_t i = 0; i < 2; ++i) {
      im2col.in[i] = in[static_cast<int>(i) + 2];
      im2col.out[i] = out[static_cast<int>(i) + 2];
      im2col.kernel[i] = windows[i].kernel;
      im2col.stride[i] = windows[i].stride;
      im2col.dilation[i] = windows[i].dilation;
      im2col.pre[i] = windows[i].pre;
    }
    FusedProduct product;
    product.type = inputs[kDataInput].type;
    product.rows = out[0] * out[2] * out[3];
    require(product.rows < int64_t{1} << 31, "a result of {} has too many positions", out);
    product.columns = static_cast<int>(op_.attributes.output_channels);
    product.depth = static_cast<int>(width_);
    product.tile = kTiles[chosen()];
    product.epilogue = epilogue_;
    return std::make_unique<Im2colExecution>(im2col, product);
  }

 private:
  SlidingOp op_;
  SimpleEpilogue epilogue_;
  int64_t width_;
};

/// Rows of the weights with zeros up to `width`.
Tensor padded(const Tensor& weights, int64_t output_channels, int64_t width) {
  Tensor packed(weights.type(), {output_channels, width});
  const size_t row = weights.bytes() / static_cast<size_t>(output_channels);
  std::memset(packed.mutable_data<std::byte>(), 0, packed.bytes());
  for (int64_t m = 0; m < output_channels; ++m)
    std::memcpy(packed.mutable_data<std::byte>() + m * width * 2,
                weights.data<std::byte>() + static_cast<size_t>(m) * row, row);
  return packed;
}

std::string refusal(const SlidingOp& op, const KernelRequest& request) {
  if (std::string reason = op.refusal(request); !reason.empty()) return reason;
  const ConvolutionAttributes& a = op.attributes;
  const TensorSpec& data = request.inputs[kDataInput];
  if (data.type == DataType::kFLOAT) return "only float16 and bfloat16 are supported";
  if (op.transposed || a.kernel.rank() != 2 || a.groups != 1)
    return "only planes without groups are supported";
  if (data.shape[1] > 4) return "only up to 4 channels are supported";
  if (a.output_channels % 8 != 0) return "only multiples of 8 output channels are supported";
  if (data.shape[1] * a.kernel.volume() > 1 << 14) return "the windows are too large";
  for (size_t i = kFirstOperand; i < request.inputs.size(); ++i)
    if (request.inputs[i].shape != request.outputs[0].shape)
      return "only operands of the result's shape are supported";
  if (!match_simple_epilogue(a.epilogue)) return "the epilogue is not supported";
  return has_capability(8) ? "" : "it needs compute capability 8.0";
}

// Weights for each output channel, and their number with what fills up vectors.
struct Im2colWeights {
  int64_t output_channels, depth, width;

  Im2colWeights(const SlidingOp& op, const KernelRequest& request)
      : output_channels(op.attributes.output_channels),
        depth(request.inputs[kDataInput].shape[1] * op.attributes.kernel.volume()),
        width((depth + 7) / 8 * 8) {}
};

std::unique_ptr<Im2colKernel> make(SlidingOp op, const KernelRequest& request,
                                   const Im2colWeights& weights) {
  const SimpleEpilogue epilogue = *match_simple_epilogue(op.attributes.epilogue);
  auto kernel = std::make_unique<Im2colKernel>(std::move(op), epilogue, weights.width);
  kernel->input_layouts.assign(request.inputs.size(), Layout::kChannelsLast);
  for (const size_t i : {kDataInput, kWeightsInput, kBiasInput})
    if (i < request.inputs.size()) kernel->input_layouts[i] = Layout::kLinear;
  kernel->output_layouts = {Layout::kChannelsLast};
  kernel->input_is_packed.assign(request.inputs.size(), false);
  kernel->input_is_packed[kWeightsInput] = true;
  return kernel;
}

}  // namespace

Offer offer_im2col_convolution(const KernelRequest& request) {
  const SlidingOp op(request.op);
  if (std::string reason = refusal(op, request); !reason.empty()) return reason;
  const Tensor* const constant = request.constants[kWeightsInput];
  if (constant == nullptr) return "computed weights are not supported";
  const Im2colWeights weights(op, request);
  require(constant->count() == weights.output_channels * weights.depth,
          "expected weights of {} elements, found {}", weights.output_channels * weights.depth,
          constant->count());
  auto kernel = make(op, request, weights);
  kernel->packed = {padded(*constant, weights.output_channels, weights.width)};
  return kernel;
}

Offer load_im2col_convolution(const KernelRequest& request, const StoredKernel& stored) {
  const SlidingOp op(request.op);
  if (std::string reason = refusal(op, request); !reason.empty()) return reason;
  const Im2colWeights weights(op, request);
  auto kernel = make(op, request, weights);
  kernel->choose_stored(stored.state);
  const auto& packed = stored.packed;
  require(packed.size() == 1 && packed[0].type() == request.inputs[kDataInput].type
              && packed[0].count() == weights.output_channels * weights.width,
          "a stored kernel is damaged");
  kernel->packed = packed;
  return kernel;
}

}  // namespace tenon::cuda
