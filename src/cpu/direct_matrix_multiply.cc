// Products of rows with constant matrices in packed panels of rows; the matrix lies in floats, or
// as it was quantized.
#include <algorithm>

#include "base/error.h"
#include "base/parallel.h"
#include "cpu/blocked_epilogue.h"
#include "cpu/convolution/packed_product.h"
#include "cpu/row_product.h"

namespace tenon::cpu {
namespace {

using nvinfer1::MatrixOperation;

// Throws Error when the shapes do not fit.
RowProduct product_of(const MatrixMultiply& op, std::span<const TensorSpec> inputs,
                      const Shape& result) {
  const RowProduct product = row_product_of(op, inputs, result);
  const int64_t lanes = direct_loops().lanes;
  require(product.columns % lanes == 0, "{} columns do not fill vectors of {}", product.columns,
          lanes);
  return product;
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
              static_cast<double>(product_.rows) * static_cast<double>(product_.columns)
                  * static_cast<double>(product_.depth),
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
    if (multiplies_integers()) return multiply_integers(t);
    const int64_t lanes = direct_loops().lanes, depth = product_.depth;
    const Share own = packed_.rows_of(t);
    const Share next = packed_.rows_of(tasks_.after(task));
    const int64_t first = own.first, rows = own.end - own.first;
    packed_.run(
        {rows, t.first_column, t.end_column, tasks_.after(task).first_column,
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
    const int64_t column = t.first_column * lanes;
    for (int64_t row = first; row < first + rows; ++row)
      epilogue_.run(0, row * product_.columns + column, t.end_column * lanes - column);
  }

 private:
  // What few rows would do with floats is not worth making them.
  bool multiplies_integers() const { return weights_.quantized && product_.rows <= kFewRows; }

  void multiply_integers(const Partition::Task& t) const {
    const auto [rows, depth, columns] = product_;
    const int64_t lanes = direct_loops().lanes, end = t.end_column * lanes;
    for (int64_t column = t.first_column * lanes; column < end; column += direct_panel()) {
      const int64_t width = weights_.width_of(column);
      float sums[kFewRows * kPanelVectors * 16];
      for (int64_t row = 0; row < rows; ++row)
        std::copy_n(weights_.bias_of(column), width, sums + row * width);
      weights_.quantized->multiply(column, width, data_, depth, rows, sums);
      for (int64_t row = 0; row < rows; ++row)
        store(sums + row * width, row * columns + column, std::min(width, end - column));
    }
    if (!epilogue_.has_rest()) return;
    const int64_t first = t.first_column * lanes;
    for (int64_t row = 0; row < rows; ++row) epilogue_.run(0, row * columns + first, end - first);
  }

  // Adds the addend, and writes what is within bounds; a NaN stays one.
  void store(const float* sums, int64_t at, int64_t count) const {
    const float lower = epilogue_.lower(), upper = epilogue_.upper();
    for (int64_t i = 0; i < count; ++i) {
      const float sum =
          epilogue_.addend() != nullptr ? sums[i] + epilogue_.addend()[at + i] : sums[i];
      const float result = sum > upper ? upper : sum;
      result_[at + i] = result < lower ? lower : result;
    }
  }

  DirectWeights weights_;
  RowProduct product_;
  BlockedEpilogue epilogue_;
  PackedProduct packed_;
  Partition tasks_;
  const float* data_ = nullptr;
  float* result_ = nullptr;
};

DirectWeights packed(const MatrixMultiply& op, const RowProduct& product, const Tensor& matrix,
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
  pack_matrix_and_bias(*kernel, request);
  return kernel;
}

/// What is multiplied with constants that can be packed, or why there is nothing such.
Variant<RowProduct, std::string> taken(const MatrixMultiply& op, const KernelRequest& request) {
  if (std::string reason = refusal_of_row_product(op, request); !reason.empty()) return reason;
  RowProduct product;
  try {
    product = product_of(op, request.inputs, request.outputs[0].shape);
  } catch (const Error& e) {
    return std::string(e.what());
  }
  const int64_t count = Shape({product.depth, product.columns}).volume();
  if (auto reason = refusal_of_constants(request, count, product.columns); !reason.empty())
    return reason;
  return product;
}

class QuantizedWeightsProduct final : public Kernel {
 public:
  QuantizedWeightsProduct(const MatrixMultiply& op, const QuantizedPanels& panels,
                          const Tensor& bias, const KernelRequest& request)
      : op_(op), panels_(panels) {
    packed = {panels.values, panels.scale, panels.zero, bias};
    state = fields_of(panels);
    pack_matrix_and_bias(*this, request);
  }
  std::unique_ptr<Execution> prepare(std::span<const TensorSpec> inputs,
                                     std::span<const TensorSpec> outputs) const override {
    return std::make_unique<DirectMatrixMultiply>(op_, DirectWeights{{}, packed[3], panels_},
                                                  inputs, outputs[0]);
  }

 private:
  MatrixMultiply op_;
  QuantizedPanels panels_;
};

}  // namespace

Offer offer_direct_matrix_multiply(const KernelRequest& request) {
  const auto& op = static_cast<const MatrixMultiply&>(request.op);
  auto product = taken(op, request);
  if (auto* reason = std::get_if<std::string>(&product)) return std::move(*reason);
  return make(
      op, packed(op, std::get<RowProduct>(product), *request.constants[1], constant_bias(request)),
      request);
}

Offer offer_quantized_matrix_multiply(const KernelRequest& request) {
  if (request.folded.empty() || request.folded[1] == nullptr)
    return "the weights are not quantized";
  const auto& op = static_cast<const MatrixMultiply&>(request.op);
  auto product = taken(op, request);
  if (auto* reason = std::get_if<std::string>(&product)) return std::move(*reason);
  const auto [rows, depth, columns] = std::get<RowProduct>(product);
  auto panels = QuantizedPanels::take(
      request.folded[1], op.operation_b == MatrixOperation::kTRANSPOSE, depth, columns);
  if (auto* reason = std::get_if<std::string>(&panels)) return std::move(*reason);
  return std::make_unique<QuantizedWeightsProduct>(
      op, std::get<QuantizedPanels>(panels), padded_bias(constant_bias(request), columns), request);
}

Offer load_quantized_matrix_multiply(const KernelRequest& request, const StoredKernel& stored) {
  const auto& op = static_cast<const MatrixMultiply&>(request.op);
  if (std::string reason = refusal_of_row_product(op, request); !reason.empty()) return reason;
  const auto& packed = stored.packed;
  require(packed.size() == 4 && packed[3].type() == DataType::kFLOAT,
          "{} stored tensors, expected weights, scales, zero points and bias", packed.size());
  QuantizedPanels panels;
  set_fields(panels, stored.state);
  panels.values = packed[0];
  panels.scale = packed[1];
  panels.zero = packed[2];
  require(panels.fit(packed[3].count()),
          "the stored weights of {} bits are not packed for {} columns in vectors of {}",
          panels.bits, packed[3].count(), direct_loops().lanes);
  return std::make_unique<QuantizedWeightsProduct>(op, panels, packed[3], request);
}

Offer load_direct_matrix_multiply(const KernelRequest& request, const StoredKernel& stored) {
  const auto& op = static_cast<const MatrixMultiply&>(request.op);
  if (const std::string reason = refusal_of_row_product(op, request); !reason.empty())
    return reason;
  const DirectWeights weights = stored_weights(stored);
  const Shape& shape = weights.weights.shape();
  const int64_t lanes = direct_loops().lanes;
  require(shape.rank() == 2 && shape[1] == lanes,
          "stored weights of shape {} are not packed for vectors of {} floats", shape, lanes);
  return make(op, weights, request);
}

}  // namespace tenon::cpu
