// Softmax along any axis.
#include "ops/softmax.h"

#include <algorithm>
#include <bit>

#include "base/parallel.h"
#include "cpu/kernels.h"
#include "cpu/simd/kernels.h"

namespace tenon::cpu {
namespace {

using nvinfer1::ElementWiseOperation;
using nvinfer1::ReduceOperation;
using nvinfer1::UnaryOperation;

constexpr int64_t kGrainElements = 16384;

// Rows of adjacent elements.
class RowSoftmax final : public Execution {
 public:
  RowSoftmax(int64_t rows, int64_t length) : rows_(rows), length_(length) {}

  void run(const RunArguments& arguments) override {
    const auto* in = static_cast<const float*>(arguments.inputs[0]);
    auto* out = static_cast<float*>(arguments.outputs[0]);
    if (length_ == 0) return;
    parallel_for(rows_, std::max<int64_t>(1, kGrainElements / length_),
                 [&](int64_t begin, int64_t end) {
                   for (int64_t i = begin; i < end; ++i)
                     simd_kernels().softmax(in + i * length_, out + i * length_, length_);
                 });
  }

 private:
  int64_t rows_, length_;
};

// Along an axis that others follow: many columns side by side, a block of them at a time.
class ColumnSoftmax final : public Execution {
 public:
  ColumnSoftmax(int64_t planes, int64_t length, int64_t columns)
      : simd_(simd_kernels()),
        planes_(planes),
        length_(length),
        columns_(columns),
        blocks_((columns + kColumns - 1) / kColumns) {}

  void run(const RunArguments& arguments) override {
    const auto* in = static_cast<const float*>(arguments.inputs[0]);
    auto* out = static_cast<float*>(arguments.outputs[0]);
    if (length_ == 0) return;
    const int64_t grain = std::max<int64_t>(1, kGrainElements / (length_ * kColumns));
    parallel_for(planes_ * blocks_, grain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t first = i % blocks_ * kColumns;
        const int64_t at = i / blocks_ * length_ * columns_ + first;
        run_columns(in + at, out + at, std::min(kColumns, columns_ - first));
      }
    });
  }

 private:
  static constexpr int64_t kColumns = 256;  // 16 of them fit the L1 cache

  void run_columns(const float* in, float* out, int64_t n) const {
    alignas(64) float greatest[kColumns], total[kColumns];
    std::copy_n(in, n, greatest);
    for (int64_t k = 1; k < length_; ++k)
      fold(ReduceOperation::kMAX, greatest, in + k * columns_, n);
    std::fill_n(total, n, 0.f);
    const auto subtract = element_wise(ElementWiseOperation::kSUB);
    const auto exponential = simd_.unary[static_cast<int>(UnaryOperation::kEXP)];
    for (int64_t k = 0; k < length_; ++k) {
      float* const row = out + k * columns_;
      subtract(in + k * columns_, greatest, row, n, 0, 0);
      exponential(row, nullptr, row, n, 0, 0);
      fold(ReduceOperation::kSUM, total, row, n);
    }
    const auto divide = element_wise(ElementWiseOperation::kDIV);
    for (int64_t k = 0; k < length_; ++k)
      divide(out + k * columns_, total, out + k * columns_, n, 0, 0);
  }

  void fold(ReduceOperation operation, float* totals, const float* in, int64_t n) const {
    simd_.fold[static_cast<int>(operation)](totals, in, n);
  }
  StepFunction element_wise(ElementWiseOperation operation) const {
    return simd_.element_wise[static_cast<int>(operation)];
  }

  const SimdKernels& simd_;
  int64_t planes_, length_, columns_, blocks_;
};

class SoftmaxKernel final : public Kernel {
 public:
  explicit SoftmaxKernel(int axis) : axis_(axis) {}
  std::unique_ptr<Execution> prepare(std::span<const TensorSpec> inputs,
                                     std::span<const TensorSpec>) const override {
    const Shape& shape = inputs[0].shape;
    const int64_t columns = shape.volume(axis_ + 1, shape.rank());
    if (columns == 1) return std::make_unique<RowSoftmax>(shape.volume(0, axis_), shape[axis_]);
    return std::make_unique<ColumnSoftmax>(shape.volume(0, axis_), shape[axis_], columns);
  }

 private:
  int axis_;
};

}  // namespace

Offer offer_softmax(const KernelRequest& request) {
  if (!all_of_type(request, DataType::kFLOAT)) return "only float32 is supported";
  const auto& op = static_cast<const Softmax&>(request.op);
  const int axis = std::countr_zero(op.axes);
  if (axis >= request.inputs[0].shape.rank()) return "the axis is out of range";
  return std::make_unique<SoftmaxKernel>(axis);
}

}  // namespace tenon::cpu
