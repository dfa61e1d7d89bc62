// Matrix products, fully connected layers and sums over named axes by cuBLASLt.
#include "ops/matrix_multiply.h"

#include <optional>

#include "base/cuda_stream.h"
#include "base/error.h"
#include "cuda/check.h"
#include "cuda/cublas/geometry.h"
#include "cuda/cublas/library.h"
#include "cuda/cublas/product_epilogue.h"
#include "cuda/kernels.h"
#include "cuda/variant_kernel.h"
#include "ops/support/reference.h"

namespace tenon::cuda {
namespace {

constexpr size_t kBias = 2, kAdded = 3;  // inputs of the layer
constexpr int kSuggestions = 8;          // algorithms that are timed against each other

bool has(std::span<const TensorSpec> inputs, size_t i) {
  return i < inputs.size() && inputs[i].present;
}

BiasActivation::Term term_of(const TensorSpec& spec, const Shape& result) {
  BiasActivation::Term term;
  const Shape steps = broadcast_strides(spec.shape, result);
  std::copy(steps.begin(), steps.end(), term.steps);
  return term;
}

// What the products take over, and what a pass over the result does then.
struct Work {
  ProductForm form;
  BiasActivation bias_activation;  // without addresses
  bool bias_follows = false, added_follows = false;

  bool is_followed() const {
    return bias_follows || added_follows || bias_activation.activation != EpilogueActivation::kNone;
  }
};

// With `fused` the products do all that cuBLASLt may be able to do.
Work divide(const ProductGeometry& geometry, const ProductEpilogue& epilogue,
            std::span<const TensorSpec> inputs, bool fused, bool tf32) {
  Work work;
  work.form = geometry.form;
  work.form.tf32 = tf32;
  const Shape& result = geometry.result;
  work.bias_activation.type = work.form.type;
  work.bias_activation.count = result.volume();
  work.bias_activation.axes = result.rank();
  std::copy(result.begin(), result.end(), work.bias_activation.extents);
  if (has(inputs, kBias)) {
    const Shape& bias = inputs[kBias].shape;
    const int axis = bias.rank() - 1 - geometry.axes_behind_columns;
    const bool per_column =
        bias.volume() == work.form.columns
        && (work.form.columns == 1 || (axis >= 0 && bias[axis] == work.form.columns));
    work.form.has_bias = fused && per_column;
    work.bias_follows = !work.form.has_bias;
  }
  if (epilogue.has_added) {
    work.form.has_added = fused && inputs[kAdded].shape == result;
    work.added_follows = !work.form.has_added;
  }
  // cuBLASLt's GELU is the one with tanh. In 16 bits it stands for the one with erf, too: they
  // differ by less than 5e-4, which is what half rounds values of 1 by.
  const bool is_reduced = work.form.type != DataType::kFLOAT;
  const bool in_order = fused && !work.bias_follows && !work.added_follows;
  if (in_order && epilogue.activation == EpilogueActivation::kRelu)
    work.form.activation = ProductActivation::kRelu;
  else if (in_order && is_reduced && epilogue.activation != EpilogueActivation::kNone)
    work.form.activation = ProductActivation::kGelu;
  else
    work.bias_activation.activation = epilogue.activation;
  if (work.bias_follows) work.bias_activation.terms[0] = term_of(inputs[kBias], result);
  if (work.added_follows) work.bias_activation.terms[1] = term_of(inputs[kAdded], result);
  return work;
}

// The inputs with those of MatrixMultiply's shapes: a bias that broadcasts to the result.
std::vector<TensorSpec> with_broadcast_bias(const Op& op, std::span<const TensorSpec> inputs) {
  std::vector<TensorSpec> list(inputs.begin(), inputs.end());
  if (const auto* layer = dynamic_cast<const FullyConnected*>(&op); layer && has(inputs, kBias))
    list[kBias].shape = {layer->outputs, 1, 1};
  return list;
}

ProductGeometry geometry_of(const Op& op, std::span<const TensorSpec> inputs) {
  const auto make = [&](const auto& layer) {
    return ProductGeometry(layer, inputs[0].type, inputs[0].shape, inputs[1].shape);
  };
  if (const auto* layer = dynamic_cast<const FullyConnected*>(&op)) return make(*layer);
  if (const auto* layer = dynamic_cast<const Einsum*>(&op)) {
    auto found = ProductGeometry::of(*layer, inputs[0].type, inputs[0].shape, inputs[1].shape);
    require(found.has_value(), "'{}' of {} and {} is no product of matrices", layer->equation,
            inputs[0].shape, inputs[1].shape);
    return *found;
  }
  return make(static_cast<const MatrixMultiply&>(op));
}

std::optional<ProductEpilogue> epilogue_of(const Op& op) {
  const auto* layer = dynamic_cast<const MatrixMultiply*>(&op);
  return layer == nullptr ? ProductEpilogue() : product_epilogue(layer->epilogue);
}

// What a layer does at certain shapes.
struct Task {
  ProductGeometry geometry;
  Work work;
  std::optional<Product> product;  // none for empty sums and results
  std::vector<ProductAlgorithm> algorithms;

  // With an algorithm of its own when `chosen` does not fit the shapes.
  Task(const Op& op, std::span<const TensorSpec> given, bool tf32, const ProductAlgorithm* chosen,
       int max_count)
      : geometry(geometry_of(op, given)) {
    const auto inputs = with_broadcast_bias(op, given);
    const ProductEpilogue epilogue = epilogue_of(op).value();
    const bool is_empty = geometry.calls.empty() || geometry.form.depth == 0;
    for (const bool fused : {true, false}) {
      if (fused && is_empty) continue;
      work = divide(geometry, epilogue, inputs, fused, tf32);
      if (is_empty) return;
      product.emplace(work.form);
      if (chosen != nullptr)
        if (const auto fitted = product->fitted(*chosen)) algorithms.push_back(*fitted);
      if (algorithms.empty()) algorithms = product->suggestions(max_count);
      if (!algorithms.empty()) return;
    }
  }

  bool can_run() const { return !product || !algorithms.empty(); }
};

class ProductExecution final : public Execution {
 public:
  explicit ProductExecution(Task task) : task_(std::move(task)) {
    require(task_.can_run(), "cuBLASLt has no algorithm for a product of these shapes");
  }

  size_t scratch_bytes() const override {
    return task_.product ? task_.algorithms[0].workspace : 0;
  }

  void run(const RunArguments& arguments) override {
    const ProductGeometry& geometry = task_.geometry;
    if (geometry.calls.empty()) return;
    const size_t bytes = bytes_of(geometry.form.type, 1);
    void* result = arguments.outputs[0];
    if (task_.product)
      multiply(arguments, arguments.input(kBias), arguments.input(kAdded), bytes);
    else
      check(cudaMemsetAsync(result, 0, static_cast<size_t>(geometry.result.volume()) * bytes,
                            to_cuda(arguments.stream)),
            "clearing a product");
    if (!task_.work.is_followed()) return;
    BiasActivation bias_activation = task_.work.bias_activation;
    bias_activation.data = result;
    if (task_.work.bias_follows) bias_activation.terms[0].data = arguments.input(kBias);
    if (task_.work.added_follows) bias_activation.terms[1].data = arguments.input(kAdded);
    launch_bias_activation(bias_activation, to_cuda(arguments.stream));
    check_launch("the epilogue of a product");
  }

 private:
  void multiply(const RunArguments& arguments, const void* bias, const void* added,
                size_t bytes) const {
    const auto at = [&](const void* data, int64_t offset) -> const void* {
      return data == nullptr
                 ? nullptr
                 : static_cast<const std::byte*>(data) + offset * static_cast<int64_t>(bytes);
    };
    const size_t swaps = task_.geometry.swaps_operands ? 1 : 0;
    for (const auto& call : task_.geometry.calls)
      task_.product->run(
          task_.algorithms[0],
          {at(arguments.inputs[swaps], call.a), at(arguments.inputs[1 - swaps], call.b), bias,
           at(added, call.result), const_cast<void*>(at(arguments.outputs[0], call.result)),
           arguments.scratch},
          to_cuda(arguments.stream));
  }

  Task task_;
};

class ProductKernel final : public VariantKernel<ProductKernel> {
 public:
  ProductKernel(const KernelRequest& request, std::vector<ProductAlgorithm> algorithms)
      : op_(request.op.clone()), tf32_(request.tf32), algorithms_(std::move(algorithms)) {
    timing_id = product_timing_id();
    choose(0);
  }

  std::unique_ptr<Execution> prepare(std::span<const TensorSpec> inputs,
                                     std::span<const TensorSpec>) const override {
    const ProductAlgorithm* algorithm = algorithms_.empty() ? nullptr : &algorithms_[chosen()];
    return std::make_unique<ProductExecution>(Task(*op_, inputs, tf32_, algorithm, 1));
  }

  size_t variant_count() const { return algorithms_.size(); }
  void describe_variant() {
    if (algorithms_.empty()) return;
    variant = fmt::format("suggestion {}", chosen());
    state = algorithms_[chosen()].state();
  }

 private:
  std::shared_ptr<const Op> op_;
  bool tf32_;
  std::vector<ProductAlgorithm> algorithms_;  // none: each execution asks for its own
};

}  // namespace

bool cublas_fuses(const PointwiseProgram& epilogue) {
  return product_epilogue(epilogue).has_value();
}

namespace {

std::string refusal(const KernelRequest& request) {
  if (!reason_for_no_cublas().empty()) return reason_for_no_cublas();
  const DataType type = request.inputs[0].type;
  if (type != DataType::kFLOAT && type != DataType::kHALF && type != DataType::kBF16)
    return "only floating-point elements are supported";
  if (!epilogue_of(request.op)) return "the epilogue is not supported";
  return "";
}

std::string refusal_of_einsum(const KernelRequest& request) {
  const auto& op = static_cast<const Einsum&>(request.op);
  if (request.inputs.size() != 2) return "only two operands are supported";
  // Also where extents are 1 now and more at other times.
  Shape shapes[2];
  for (size_t i = 0; i < 2; ++i)
    for (int64_t extent : request.inputs[i].shape)
      shapes[i].push_back(std::max<int64_t>(extent, 2));
  if (op.equation.find("...") == std::string::npos
      && !ProductGeometry::of(op, request.inputs[0].type, shapes[0], shapes[1]))
    return "it is no product of matrices in memory";
  if (!ProductGeometry::of(op, request.inputs[0].type, request.inputs[0].shape,
                           request.inputs[1].shape))
    return "it is no product of matrices in memory";
  return "";
}

}  // namespace

Offer offer_cublas_product(const KernelRequest& request) {
  if (std::string reason = refusal(request); !reason.empty()) return reason;
  const Task task(request.op, request.inputs, request.tf32, nullptr, kSuggestions);
  if (!task.can_run()) return "cuBLASLt has no algorithm for it";
  return std::make_unique<ProductKernel>(request, task.algorithms);
}

Offer load_cublas_product(const KernelRequest& request, const StoredKernel& stored) {
  if (std::string reason = refusal(request); !reason.empty()) return reason;
  return std::make_unique<ProductKernel>(request, ProductAlgorithm::stored(stored.state));
}

Offer offer_cublas_einsum(const KernelRequest& request) {
  if (std::string reason = refusal_of_einsum(request); !reason.empty()) return reason;
  return offer_cublas_product(request);
}

Offer load_cublas_einsum(const KernelRequest& request, const StoredKernel& stored) {
  if (std::string reason = refusal_of_einsum(request); !reason.empty()) return reason;
  return load_cublas_product(request, stored);
}

}  // namespace tenon::cuda
