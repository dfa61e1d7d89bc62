#include "cpu/row_product.h"

#include "base/error.h"

namespace tenon::cpu {
namespace {

using nvinfer1::MatrixOperation;

constexpr size_t kBias = 2;

}  // namespace

RowProduct row_product_of(const MatrixMultiply& op, std::span<const TensorSpec> inputs,
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
  return {a.volume(0, a.rank() - 1), depth, columns};
}

std::string refusal_of_row_product(const MatrixMultiply& op, const KernelRequest& request) {
  if (!all_of_type(request, DataType::kFLOAT)) return "only float32 is supported";
  if (op.operation_a != MatrixOperation::kNONE || op.operation_b == MatrixOperation::kVECTOR)
    return "only rows times a matrix are supported";
  const TensorSpec* const bias = request.inputs.size() > kBias ? &request.inputs[kBias] : nullptr;
  if (bias != nullptr && bias->present
      && (bias->shape.rank() < 1 || bias->shape.volume() != bias->shape.back()))
    return "only a bias for each column is supported";
  return "";
}

void pack_matrix_and_bias(Kernel& kernel, const KernelRequest& request) {
  kernel.input_is_packed.assign(request.inputs.size(), false);
  for (size_t i = 1; i <= kBias && i < request.inputs.size(); ++i)
    kernel.input_is_packed[i] = request.inputs[i].present;
}

}  // namespace tenon::cpu
