// Convolutions whose windows are single elements, as products of matrices by cuBLASLt: a row for
// each position, the channels last.
#include "base/cuda_stream.h"
#include "base/error.h"
#include "cuda/check.h"
#include "cuda/convolution/sliding.h"
#include "cuda/cublas/library.h"
#include "cuda/cublas/product.h"
#include "cuda/cublas/product_epilogue.h"
#include "cuda/empty_execution.h"
#include "cuda/kernels.h"
#include "cuda/variant_kernel.h"

namespace tenon::cuda {
namespace {

constexpr int kSuggestions = 6;  // algorithms that are timed against each other

ProductForm form_of(const SlidingOp& op, const ProductEpilogue& epilogue,
                    std::span<const TensorSpec> inputs, bool tf32) {
  const Shape& data = inputs[kDataInput].shape;
  ProductForm form;
  form.type = form.result_type = inputs[kDataInput].type;
  form.rows = data[0] * data.volume(2, data.rank());
  form.columns = op.attributes.output_channels;
  form.depth = data[1];
  form.a.row_step = form.b.row_step = form.depth;
  form.b.transposed = true;
  form.result_row_step = form.columns;
  form.has_bias = inputs.size() > kBiasInput && inputs[kBiasInput].present;
  form.has_added = epilogue.has_added;
  if (epilogue.activation == EpilogueActivation::kRelu) form.activation = ProductActivation::kRelu;
  form.tf32 = tf32;
  return form;
}

class ProductExecution final : public Execution {
 public:
  ProductExecution(Product product, const ProductAlgorithm& algorithm)
      : product_(std::move(product)), algorithm_(algorithm) {}
  size_t scratch_bytes() const override { return algorithm_.workspace; }
  void run(const RunArguments& arguments) override {
    product_.run(
        algorithm_,
        {arguments.input(kDataInput), arguments.input(kWeightsInput), arguments.input(kBiasInput),
         arguments.input(kFirstOperand), arguments.outputs[0], arguments.scratch},
        to_cuda(arguments.stream));
  }

 private:
  Product product_;
  ProductAlgorithm algorithm_;
};

class ProductConvolution final : public VariantKernel<ProductConvolution> {
 public:
  /// take() follows.
  ProductConvolution(const KernelRequest& request, const SlidingOp& op)
      : op_(op), epilogue_(*product_epilogue(op.attributes.epilogue)), tf32_(request.tf32) {
    timing_id = convolution_timing_id();
    input_layouts.assign(request.inputs.size(), Layout::kChannelsLast);
    // Weights of (output channels, channels, 1…) lie in rows.
    for (const size_t i : {kWeightsInput, kBiasInput})
      if (i < input_layouts.size()) input_layouts[i] = Layout::kLinear;
    output_layouts = {Layout::kChannelsLast};
  }

  /// Those of cuBLASLt.
  std::vector<ProductAlgorithm> suggestions(const KernelRequest& request) const {
    return Product(form_of(op_, epilogue_, request.inputs, tf32_)).suggestions(kSuggestions);
  }
  /// None: each execution asks for its own.
  void take(std::vector<ProductAlgorithm> suggestions) {
    suggestions_ = std::move(suggestions);
    choose(0);
  }

  bool has_algorithm() const { return !suggestions_.empty(); }

  size_t variant_count() const { return suggestions_.size(); }
  void describe_variant() {
    if (!has_algorithm()) return;
    variant = fmt::format("suggestion {}", chosen());
    state = suggestions_[chosen()].state();
  }

  std::unique_ptr<Execution> prepare(std::span<const TensorSpec> inputs,
                                     std::span<const TensorSpec> outputs) const override {
    const TensorSpec& result = outputs[0];
    if (result.shape.volume() == 0) return std::make_unique<EmptyExecution>();
    const DirectConvolution direct = direct_parameters(op_, inputs, result, Layout::kLinear);
    if (inputs[kDataInput].shape.volume() > 0) {
      Product product(form_of(op_, epilogue_, inputs, tf32_));
      std::optional<ProductAlgorithm> algorithm;
      if (has_algorithm()) algorithm = product.fitted(suggestions_[chosen()]);
      if (!algorithm)
        if (const auto others = product.suggestions(1); !others.empty()) algorithm = others[0];
      if (algorithm) return std::make_unique<ProductExecution>(std::move(product), *algorithm);
    }
    return direct_execution(direct, false);
  }

 private:
  SlidingOp op_;
  ProductEpilogue epilogue_;
  bool tf32_;
  std::vector<ProductAlgorithm> suggestions_;
};

std::string refusal(const SlidingOp& op, const KernelRequest& request) {
  if (!reason_for_no_cublas().empty()) return reason_for_no_cublas();
  if (std::string reason = op.product_refusal(request); !reason.empty()) return reason;
  const TensorSpec& data = request.inputs[kDataInput];
  if (data.type == DataType::kFLOAT && !request.tf32 && data.layout != Layout::kChannelsLast)
    return "float32 in rows is left to others";
  const auto epilogue = product_epilogue(op.attributes.epilogue);
  if (!epilogue
      || (epilogue->activation != EpilogueActivation::kNone
          && epilogue->activation != EpilogueActivation::kRelu))
    return "the epilogue is not supported";
  return "";
}

}  // namespace

Offer offer_product_convolution(const KernelRequest& request) {
  const SlidingOp op(request.op);
  if (std::string reason = refusal(op, request); !reason.empty()) return reason;
  auto kernel = std::make_unique<ProductConvolution>(request, op);
  kernel->take(kernel->suggestions(request));
  if (!kernel->has_algorithm()) return "cuBLASLt has no algorithm";
  return kernel;
}

Offer load_product_convolution(const KernelRequest& request, const StoredKernel& stored) {
  const SlidingOp op(request.op);
  if (std::string reason = refusal(op, request); !reason.empty()) return reason;
  auto kernel = std::make_unique<ProductConvolution>(request, op);
  kernel->take(ProductAlgorithm::stored(stored.state));
  return kernel;
}

}  // namespace tenon::cuda
