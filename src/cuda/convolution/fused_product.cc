// Convolutions whose windows are single elements, by a product of our own.
#include "cuda/convolution/fused_product.h"

#include "base/cuda_stream.h"
#include "base/variant.h"
#include "cuda/capability.h"
#include "cuda/check.h"
#include "cuda/convolution/sliding.h"
#include "cuda/empty_execution.h"
#include "cuda/kernels.h"
#include "cuda/variant_kernel.h"

namespace tenon::cuda {
namespace {

using Tile = FusedProduct::Tile;

constexpr std::pair<Tile, const char*> kTiles[] = {{Tile::k128x64, "128x64"},
                                                   {Tile::k64x64, "64x64"},
                                                   {Tile::k64x32, "64x32"},
                                                   {Tile::k32x32, "32x32"}};

class FusedProductExecution final : public Execution {
 public:
  explicit FusedProductExecution(const FusedProduct& parameters) : p_(parameters) {}
  void run(const RunArguments& arguments) override {
    p_.data = arguments.input(kDataInput);
    p_.weights = arguments.input(kWeightsInput);
    p_.bias = arguments.input(kBiasInput);
    p_.added = arguments.input(kFirstOperand);
    p_.result = arguments.outputs[0];
    check_alignment(p_);
    launch_fused_product(p_, to_cuda(arguments.stream));
    check_launch("a product with its epilogue");
  }

 private:
  FusedProduct p_;
};

class FusedProductKernel final : public VariantKernel<FusedProductKernel> {
 public:
  FusedProductKernel(SlidingOp op, const SimpleEpilogue& epilogue)
      : op_(std::move(op)), epilogue_(epilogue) {
    timing_id = convolution_timing_id();  // it is timed against the libraries'
    choose(0);
  }
  size_t variant_count() const { return std::size(kTiles); }
  void describe_variant() { describe_as(kTiles[chosen()].second); }

  std::unique_ptr<Execution> prepare(std::span<const TensorSpec> inputs,
                                     std::span<const TensorSpec> outputs) const override {
    const Shape& data = inputs[kDataInput].shape;
    if (outputs[0].shape.volume() == 0) return std::make_unique<EmptyExecution>();
    FusedProduct p;
    p.type = inputs[kDataInput].type;
    p.rows = data[0] * data.volume(2, data.rank());
    p.columns = static_cast<int>(op_.attributes.output_channels);
    p.depth = static_cast<int>(data[1]);
    p.tile = kTiles[chosen()].first;
    p.epilogue = epilogue_;
    return std::make_unique<FusedProductExecution>(p);
  }

 private:
  SlidingOp op_;
  SimpleEpilogue epilogue_;
};

}  // namespace

void check_alignment(const FusedProduct& p) {
  const void* const tensors[] = {p.data, p.weights, p.bias, p.added, p.result};
  check_alignment(tensors, 16);
}

namespace {

using MadeProduct = Variant<std::unique_ptr<FusedProductKernel>, std::string>;

// What its variants have in common, or why there is none.
MadeProduct make(const KernelRequest& request) {
  SlidingOp op(request.op);
  if (std::string reason = op.product_refusal(request); !reason.empty()) return reason;
  const TensorSpec& data = request.inputs[kDataInput];
  if (data.type == DataType::kFLOAT) return "only float16 and bfloat16 are supported";
  const int64_t output_channels = op.attributes.output_channels, max_channels = 1 << 20;
  if (data.shape[1] % 8 != 0 || output_channels % 8 != 0 || data.shape[1] > max_channels
      || output_channels > max_channels)
    return "only multiples of 8 channels are supported";
  if (!has_capability(8)) return "it needs compute capability 8.0";
  const auto epilogue = match_simple_epilogue(op.attributes.epilogue);
  if (!epilogue) return "the epilogue is not supported";
  auto kernel = std::make_unique<FusedProductKernel>(std::move(op), *epilogue);
  kernel->input_layouts.assign(request.inputs.size(), Layout::kChannelsLast);
  // Weights of (output channels, channels, 1…) lie in rows.
  for (const size_t i : {kWeightsInput, kBiasInput})
    if (i < request.inputs.size()) kernel->input_layouts[i] = Layout::kLinear;
  kernel->output_layouts = {Layout::kChannelsLast};
  return kernel;
}

}  // namespace

Offer offer_fused_product_convolution(const KernelRequest& request) {
  MadeProduct made = make(request);
  if (auto* reason = std::get_if<std::string>(&made)) return *reason;
  return std::get<0>(std::move(made));
}

Offer load_fused_product_convolution(const KernelRequest& request, const StoredKernel& stored) {
  MadeProduct made = make(request);
  if (auto* reason = std::get_if<std::string>(&made)) return *reason;
  auto& kernel = std::get<0>(made);
  kernel->choose_stored(stored.state);
  return std::move(kernel);
}

}  // namespace tenon::cuda
