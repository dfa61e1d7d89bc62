// Products of rows with constant matrices in packed panels of rows.
#include <algorithm>

#include "base/error.h"
#include "base/parallel.h"
#include "cpu/blocked_epilogue.h"
#include "cpu/convolution/packed_product.h"
#include "cpu/kernels.h"
#include "ops/matrix_multiply.h"

namespace tenon::cpu {
namespace {

using nvinfer1::MatrixOperation;

constexpr size_t kBias = 2;

/// Extents of the product: all rows of the first tensor by the one matrix of the second.
struct Product {
  int64_t rows, depth, columns;
};

// Throws Error when the shapes do not fit.
Product product_of(const MatrixMultiply& op, std::span<const TensorSpec> inputs,
                   const Shape& result) {
  const Shape &a = inputs[0].shape, &b = inputs[1].shape;
  require(a.rank() >= 2 && a.rank() == b.rank() && a.rank() == result.rank()
              && b.volume(0, b.rank() - 2) == 1,
          "only rows times one matrix are supported, found {} times {}", a, b);
  const bool is_transposed = op.operation_b == MatrixOperation::kTRANSPOSE;
  const int64_t depth = b[b.rank() - (is_transposed ? 1 : 2)];
  const int64_t columns = b[b.rank() - (is_transposed ? 2 : 1)];
  require(a.back() == depth && result.back() == columns && depth > 0 && columns > 0
              && a.volume(0, a.rank() - 1) == result.volume(0, result.rank() - 1),
          "a product of {} and {} is not {}", a, b, result);
  const int64_t lanes = direct_loops().lanes;
  require(columns % lanes == 0, "{} columns do not fill vectors of {}", columns, lanes);
  return {a.volume(0, a.rank() - 1), depth, columns};
}

class DirectMatrixMultiply final : public BlockExecution {
 public:
  DirectMatrixMultiply(const MatrixMultiply& op, const DirectWeights& weights,
                       std::span<const TensorSpec> inputs, const TensorSpec& output)
      : BlockExecution({}, {}, output),
        weights_(weights),
        product_(product_of(op, inputs, output.shape)),
        epilogue_(op.epilogue, inputs, output, LoopDoes::kSumAndBounds) {
    require(weights_.fit(product_.columns, product_.depth),
            "the packed weights do not fit {} terms and {} columns", product_.depth,
            product_.columns);
    packed_ = PackedProduct(
        weights_, product_.depth,
        {true, direct_loops().lanes, product_.columns, epilogue_.lower(), epilogue_.upper()});
    tasks_ = packed_.divide(1, product_.rows, product_.columns / direct_loops().lanes);
    set_tasks(tasks_.count(),
              static_cast<double>(product_.rows) * static_cast<double>(weights_.weights.count()),
              packed_.task_floats(tasks_));
  }

 protected:
  void begin(const RunArguments& arguments, float*) override {
    data_ = static_cast<const float*>(arguments.inputs[0]);
    result_ = static_cast<float*>(arguments.outputs[0]);
    epilogue_.begin(arguments);
    packed_.begin(result_, epilogue_.addend());
  }

  // Some columns of some rows.
  void run_task(int64_t task, float* workspace) const override {
    const auto t = tasks_[task];
    const int64_t lanes = direct_loops().lanes, depth = product_.depth;
    const Share own = packed_.rows_of(t);
    const Share next = packed_.rows_of(tasks_[std::min(task + 1, tasks_.count() - 1)]);
    const int64_t first = own.first, rows = own.end - own.first;
    packed_.run(
        {rows, t.first_vector, t.end_vector, tasks_.vector_after(task),
         result_ + first * product_.columns},
        workspace,
        [&](int64_t k, int64_t terms, int64_t row, int64_t count, float* to) {
          const float* from = data_ + (first + row) * depth + k;
          for (int64_t r = 0; r < count; ++r, from += depth, to += lanes)
            copy_vector(from, terms, lanes, to);
        },
        [&](const Share& terms, bool is_next) -> NextData {
          if (is_next && next.first == first) return {};
          const Share& of = is_next ? next : own;
          return {data_ + of.first * depth + terms.first, of.end - of.first,
                  terms.end - terms.first, depth};
        });
    if (!epilogue_.has_rest()) return;
    const int64_t column = t.first_vector * lanes;
    for (int64_t row = first; row < first + rows; ++row)
      epilogue_.run(0, row * product_.columns + column, t.end_vector * lanes - column);
  }

 private:
  DirectWeights weights_;
  Product product_;
  BlockedEpilogue epilogue_;
  PackedProduct packed_;
  DirectTasks tasks_;
  const float* data_ = nullptr;
  float* result_ = nullptr;
};

std::string refusal(const MatrixMultiply& op, const KernelRequest& request) {
  if (!all_of_type(request, DataType::kFLOAT)) return "only float32 is supported";
  if (op.operation_a != MatrixOperation::kNONE || op.operation_b == MatrixOperation::kVECTOR)
    return "only rows times a matrix are supported";
  const TensorSpec* const bias = request.inputs.size() > kBias ? &request.inputs[kBias] : nullptr;
  if (bias != nullptr && bias->present
      && (bias->shape.rank() < 1 || bias->shape.volume() != bias->shape.back()))
    return "only a bias for each column is supported";
  return "";
}

DirectWeights packed(const MatrixMultiply& op, const Product& product, const Tensor& matrix,
                     const Tensor* bias) {
  const auto [rows, depth, columns] = product;
  DirectWeights weights;
  weights.weights = make_panels(columns, depth);
  const bool is_transposed = op.operation_b == MatrixOperation::kTRANSPOSE;
  write_panels(matrix.data<float>(),
               is_transposed ? WeightSteps{depth, 1} : WeightSteps{1, columns}, columns, depth,
               weights.weights.mutable_data<float>());
  weights.bias = padded_bias(bias, columns);
  return weights;
}

std::unique_ptr<Kernel> make(const MatrixMultiply& op, const DirectWeights& weights,
                             const KernelRequest& request) {
  auto kernel = std::make_unique<DirectKernel<MatrixMultiply, DirectMatrixMultiply>>(op, weights);
  kernel->input_is_packed.assign(request.inputs.size(), false);
  for (size_t i = 1; i <= kBias && i < request.inputs.size(); ++i)
    kernel->input_is_packed[i] = request.inputs[i].present;
  return kernel;
}

}  // namespace

Offer offer_direct_matrix_multiply(const KernelRequest& request) {
  const auto& op = static_cast<const MatrixMultiply&>(request.op);
  if (const std::string reason = refusal(op, request); !reason.empty()) return reason;
  Product product;
  try {
    product = product_of(op, request.inputs, request.outputs[0].shape);
  } catch (const Error& e) {
    return e.what();
  }
  const int64_t count = Shape({product.depth, product.columns}).volume();
  if (const auto reason = refusal_of_constants(request, count, product.columns); !reason.empty())
    return reason;
  return make(op, packed(op, product, *request.constants[1], constant_bias(request)), request);
}

Offer load_direct_matrix_multiply(const KernelRequest& request, const StoredKernel& stored) {
  const auto& op = static_cast<const MatrixMultiply&>(request.op);
  if (const std::string reason = refusal(op, request); !reason.empty()) return reason;
  const DirectWeights weights = stored_weights(stored);
  const Shape& shape = weights.weights.shape();
  const int64_t lanes = direct_loops().lanes;
  require(shape.rank() == 2 && shape[1] == lanes,
          "stored weights of shape {} are not packed for vectors of {} floats", shape, lanes);
  return make(op, weights, request);
}

}  // namespace tenon::cpu
