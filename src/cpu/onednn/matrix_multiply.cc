// Matrix products and fully connected layers by oneDNN.
#include "ops/matrix_multiply.h"

#include "cpu/kernels.h"
#include "cpu/onednn/weighted.h"
#include "ops/fully_connected.h"

namespace tenon::cpu {
namespace onednn {
namespace {

using dnnl::memory;
using nvinfer1::MatrixOperation;

memory::desc strided(const Shape& shape, const Shape& strides) {
  return {dims_of(shape), memory::data_type::f32, dims_of(strides)};
}

/// A stack of matrices in rows: (batch…, rows, columns) as oneDNN shall see it.
struct Matrices {
  Shape shape, strides;

  Matrices(const Shape& stored, MatrixOperation operation, bool is_left) : shape(stored) {
    if (operation == MatrixOperation::kVECTOR)
      shape.insert(is_left ? shape.rank() - 1 : shape.rank(), 1);
    require(shape.rank() >= 2, "a matrix of shape {} needs two axes", stored);
    strides = shape.strides();
    if (operation == MatrixOperation::kTRANSPOSE) {
      const int last = shape.rank() - 1;
      std::swap(shape[last], shape[last - 1]);
      std::swap(strides[last], strides[last - 1]);
    }
  }

  int rank() const { return shape.rank(); }
  int64_t rows() const { return shape[rank() - 2]; }
  int64_t columns() const { return shape[rank() - 1]; }
  int64_t batch() const { return shape.volume(0, rank() - 2); }
  memory::desc desc() const { return strided(shape, strides); }
};

dnnl::primitive_desc product(const Operands& operands, const dnnl::primitive_attr& attributes) {
  // The library counts in 32 bits.
  for (const memory::desc* desc : {&operands.source, &operands.weights, &operands.destination})
    for (const memory::dim extent : desc->dims())
      require(extent <= INT32_MAX, "a product of {} rows, columns or terms is too large", extent);
  const bool has_bias = operands.bias.data.ndims > 0;
  const dnnl::matmul::desc description =
      has_bias ? dnnl::matmul::desc(operands.source, operands.weights, operands.bias,
                                    operands.destination)
               : dnnl::matmul::desc(operands.source, operands.weights, operands.destination);
  dnnl::matmul::primitive_desc made(description, attributes, engine());
  // Found by the tests: some sums of oneDNN 2.5's products by blocks are wrong where three or four
  // threads share them (AVX-512).
  while (std::string_view(made.impl_info_str()).starts_with("brg"))
    require(made.next_impl(), "oneDNN has no other product");
  return made;
}

class MatrixMultiplyKernel final : public WeightedKernel {
 public:
  explicit MatrixMultiplyKernel(const MatrixMultiply& op) : WeightedKernel(op.epilogue), op_(op) {}
  using WeightedKernel::choose;
  using WeightedKernel::restore;

 protected:
  const Op& op() const override { return op_; }
  bool chooses_layouts() const override { return false; }

  Operands plain(std::span<const TensorSpec> inputs,
                 std::span<const TensorSpec> outputs) const override {
    const Matrices a(inputs[0].shape, op_.operation_a, true);
    const Matrices b(inputs[1].shape, op_.operation_b, false);
    require(a.rank() == b.rank() && a.columns() == b.rows(), "shapes {} and {} do not match",
            inputs[0].shape, inputs[1].shape);
    const bool folds = folded(inputs, a, b);
    const Shape result = result_shape(a, b, folds);
    require(result.volume() == outputs[0].shape.volume(), "a product of shape {}, expected {}",
            outputs[0].shape, result);
    Operands operands{a.desc(), b.desc(), {}, desc_of(result, Layout::kLinear)};
    if (folds) {
      const Shape rows = {result[0], a.columns()};
      const Shape matrix = {b.rows(), b.columns()};
      operands.source = desc_of(rows, Layout::kLinear);
      operands.weights = strided(matrix, {b.strides[b.rank() - 2], b.strides[b.rank() - 1]});
    }
    if (inputs.size() > 2 && inputs[2].present)
      operands.bias = desc_of(bias_shape(inputs[2].shape, result, folds), Layout::kLinear);
    return operands;
  }

  dnnl::primitive_desc describe(const Operands& operands, std::span<const TensorSpec>,
                                std::span<const TensorSpec>,
                                const dnnl::primitive_attr& attributes) const override {
    return product(operands, attributes);
  }

 private:
  /// One weight matrix for all of the batch: the rows of the batch are one tall matrix.
  bool folded(std::span<const TensorSpec> inputs, const Matrices& a, const Matrices& b) const {
    if (a.rank() == 2 || b.batch() != 1 || op_.operation_a == MatrixOperation::kTRANSPOSE)
      return false;
    // What is added per row of the result must not differ between rows.
    for (size_t i = 2; i < inputs.size(); ++i) {
      const Shape& shape = inputs[i].shape;
      if (!inputs[i].present || shape.volume() == 1) continue;
      const bool per_column = shape.rank() > 0 && shape.volume() == shape.back();
      const bool full = shape.volume() == a.batch() * a.rows() * b.columns();
      if (!per_column && !full) return false;
    }
    return true;
  }

  Shape result_shape(const Matrices& a, const Matrices& b, bool folds) const {
    if (folds) return {a.batch() * a.rows(), b.columns()};
    Shape result = a.shape;
    for (int i = 0; i < a.rank() - 2; ++i) {
      require(a.shape[i] == b.shape[i] || a.shape[i] == 1 || b.shape[i] == 1,
              "shapes {} and {} do not broadcast", a.shape, b.shape);
      result[i] = a.shape[i] == 1 ? b.shape[i] : a.shape[i];
    }
    result[a.rank() - 1] = b.columns();
    return result;
  }

  /// The bias with the rank of the result; vectors lack the axes that the result has here.
  Shape bias_shape(const Shape& bias, const Shape& result, bool folds) const {
    const int64_t volume = bias.volume();
    Shape shape = Shape::filled(result.rank(), 1);
    if (volume == 1) return shape;
    if (volume == result.volume()) return result;
    if (folds
        || (bias.rank() > 0 && volume == bias.back()
            && op_.operation_b != MatrixOperation::kVECTOR)) {
      require(volume == result.back(), "a bias of shape {} for {}", bias, result);
      shape[result.rank() - 1] = volume;
      return shape;
    }
    require(op_.operation_a != MatrixOperation::kVECTOR
                && op_.operation_b != MatrixOperation::kVECTOR && bias.rank() <= result.rank(),
            "a bias of shape {} beside a vector is not supported", bias);
    for (int i = 0; i < bias.rank(); ++i) shape[result.rank() - bias.rank() + i] = bias[i];
    return shape;
  }

  MatrixMultiply op_;
};

class FullyConnectedKernel final : public WeightedKernel {
 public:
  explicit FullyConnectedKernel(const FullyConnected& op) : WeightedKernel({}), op_(op) {}
  using WeightedKernel::choose;
  using WeightedKernel::restore;

 protected:
  const Op& op() const override { return op_; }
  bool chooses_layouts() const override { return false; }

  Operands plain(std::span<const TensorSpec> inputs, std::span<const TensorSpec>) const override {
    const Shape& data = inputs[0].shape;
    require(data.rank() >= 3 && op_.outputs >= 1, "data of shape {} needs three axes", data);
    const int64_t rows = data.volume(0, data.rank() - 3);
    const int64_t columns = data.volume(data.rank() - 3, data.rank());
    require(inputs[1].shape.volume() == Shape({op_.outputs, columns}).volume(),
            "weights of shape {}, expected {}x{}", inputs[1].shape, op_.outputs, columns);
    Operands operands{desc_of({rows, columns}, Layout::kLinear),
                      strided({columns, op_.outputs}, {1, columns}),
                      {},
                      desc_of({rows, op_.outputs}, Layout::kLinear)};
    if (inputs.size() > 2 && inputs[2].present) {
      require(inputs[2].shape.volume() == op_.outputs, "a bias of shape {}, expected {}",
              inputs[2].shape, op_.outputs);
      operands.bias = desc_of({1, op_.outputs}, Layout::kLinear);
    }
    return operands;
  }

  dnnl::primitive_desc describe(const Operands& operands, std::span<const TensorSpec>,
                                std::span<const TensorSpec>,
                                const dnnl::primitive_attr& attributes) const override {
    return product(operands, attributes);
  }

 private:
  FullyConnected op_;
};

template <class ProductKernel, class Layer> Offer offer(const KernelRequest& request) {
  auto kernel = std::make_unique<ProductKernel>(static_cast<const Layer&>(request.op));
  if (auto reason = kernel->choose(request)) return *reason;
  return kernel;
}

template <class ProductKernel, class Layer>
Offer restored(const KernelRequest& request, const StoredKernel& stored) {
  auto kernel = std::make_unique<ProductKernel>(static_cast<const Layer&>(request.op));
  if (auto reason = kernel->restore(request, stored)) return *reason;
  return kernel;
}

}  // namespace
}  // namespace onednn

Offer offer_onednn_matrix_multiply(const KernelRequest& request) {
  return onednn::offer<onednn::MatrixMultiplyKernel, MatrixMultiply>(request);
}

Offer load_onednn_matrix_multiply(const KernelRequest& request, const StoredKernel& stored) {
  return onednn::restored<onednn::MatrixMultiplyKernel, MatrixMultiply>(request, stored);
}

Offer offer_onednn_fully_connected(const KernelRequest& request) {
  return onednn::offer<onednn::FullyConnectedKernel, FullyConnected>(request);
}

Offer load_onednn_fully_connected(const KernelRequest& request, const StoredKernel& stored) {
  return onednn::restored<onednn::FullyConnectedKernel, FullyConnected>(request, stored);
}

}  // namespace tenon::cpu
