// Products of matrices of 8-bit integers, with zero points and requantisation in the same kernel.
#include "base/error.h"
#include "cuda/capability.h"
#include "cuda/integer_product.h"
#include "cuda/kernels.h"
#include "cuda/quantized_execution.h"
#include "ops/quantized_matrix_multiply.h"

namespace tenon::cuda {
namespace {

using In = QuantizedInputs;
using Parameters = IntegerProductParameters;

// The batch: an extent of 1 is repeated.
void describe_batch(const Shape& a, const Shape& b, Parameters& p) {
  p.axes = a.rank() - 2;
  int64_t step_a = 1, step_b = 1;
  for (int i = p.axes - 1; i >= 0; --i) {
    require(a[i] == b[i] || a[i] == 1 || b[i] == 1,
            "cannot multiply {} by {}: axis {} does not broadcast", a, b, i);
    p.extents[i] = a[i] == 1 ? b[i] : a[i];
    p.data_steps[i] = a[i] == 1 ? 0 : step_a;
    p.weights_steps[i] = b[i] == 1 ? 0 : step_b;
    step_a *= a[i];
    step_b *= b[i];
    p.batch *= p.extents[i];
  }
}

Parameters parameters_of(const QuantizedMatrixMultiply& op, std::span<const TensorSpec> inputs) {
  const Shape &a = inputs[In::kData].shape, &b = inputs[In::kWeights].shape;
  require(a.rank() >= 2 && a.rank() == b.rank() && a.back() == b[b.rank() - 2],
          "cannot multiply {} by {}", a, b);
  Parameters p;
  p.data_type = inputs[In::kData].type;
  p.weights_type = inputs[In::kWeights].type;
  p.rows = a[a.rank() - 2];
  p.columns = b.back();
  p.depth = a.back();
  describe_batch(a, b, p);
  constexpr int64_t kMaxBlocks = 65535, kTile = 64;
  require(p.batch <= kMaxBlocks && p.rows <= kMaxBlocks * kTile,
          "a product of {} and {} is too large", a, b);
  p.data_zero = list_of(inputs, In::kDataZero, 1);
  p.weights_zero = list_of(inputs, In::kWeightsZero, p.columns);
  p.bias = list_of(inputs, In::kBias, p.columns);
  p.epilogue = *quantized_epilogue(op, inputs);
  return p;
}

class IntegerProductKernel final : public Kernel {
 public:
  explicit IntegerProductKernel(const QuantizedMatrixMultiply& op) : op_(op) {}
  std::unique_ptr<Execution> prepare(std::span<const TensorSpec> inputs,
                                     std::span<const TensorSpec>) const override {
    return std::make_unique<QuantizedExecution<Parameters>>(
        parameters_of(op_, inputs), launch_integer_product, "a product of integers");
  }

 private:
  QuantizedMatrixMultiply op_;
};

}  // namespace

Offer offer_integer_matrix_multiply(const KernelRequest& request) {
  const auto& op = static_cast<const QuantizedMatrixMultiply&>(request.op);
  if (op.is_float8) return "fp8 is not supported";
  if (!quantized_epilogue(op)) return "the epilogue is not supported";
  constexpr int kAmpere = 8;
  if (!has_capability(kAmpere)) return "it needs a GPU of compute capability 8.0 or more";
  return std::make_unique<IntegerProductKernel>(op);
}

}  // namespace tenon::cuda
