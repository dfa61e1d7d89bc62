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

constexpr int64_t kColumns = 256;  // side by side: 16 of them fit the L1 cache
constexpr int64_t kShortRow = 16;

// Columns of so many elements, which lie `step` apart; `out` may be `in`.
void softmax_of_columns(const float* in, float* out, int64_t length, int64_t step, int64_t n) {
  const SimdKernels& simd = simd_kernels();
  const auto fold = [&](ReduceOperation operation, float* totals, const float* row) {
    simd.fold[static_cast<int>(operation)](totals, row, n);
  };
  const auto element_wise = [&](ElementWiseOperation operation) {
    return simd.element_wise[static_cast<int>(operation)];
  };
  alignas(64) float greatest[kColumns], total[kColumns];
  std::copy_n(in, n, greatest);
  for (int64_t k = 1; k < length; ++k) fold(ReduceOperation::kMAX, greatest, in + k * step);
  std::fill_n(total, n, 0.f);
  const auto subtract = element_wise(ElementWiseOperation::kSUB);
  const auto exponential = simd.unary[static_cast<int>(UnaryOperation::kEXP)];
  for (int64_t k = 0; k < length; ++k) {
    float* const row = out + k * step;
    subtract(in + k * step, greatest, row, n, 0, 0);
    exponential(row, nullptr, row, n, 0, 0);
    fold(ReduceOperation::kSUM, total, row);
  }
  const auto divide = element_wise(ElementWiseOperation::kDIV);
  for (int64_t k = 0; k < length; ++k) divide(out + k * step, total, out + k * step, n, 0, 0);
}

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
                   if (length_ <= kShortRow) return run_short(in, out, begin, end);
                   for (int64_t i = begin; i < end; ++i)
                     simd_kernels().softmax(in + i * length_, out + i * length_, length_);
                 });
  }

 private:
  // Some as columns: vectors are longer than such rows.
  void run_short(const float* in, float* out, int64_t begin, int64_t end) const {
    alignas(64) float columns[kShortRow * kColumns];
    for (int64_t first = begin; first < end; first += kColumns) {
      const int64_t n = std::min(kColumns, end - first);
      const float* from = in + first * length_;
      float* to = out + first * length_;
      for (int64_t i = 0; i < n; ++i)
        for (int64_t k = 0; k < length_; ++k) columns[k * kColumns + i] = from[i * length_ + k];
      softmax_of_columns(columns, columns, length_, kColumns, n);
      for (int64_t i = 0; i < n; ++i)
        for (int64_t k = 0; k < length_; ++k) to[i * length_ + k] = columns[k * kColumns + i];
    }
  }

  int64_t rows_, length_;
};

// Along an axis that others follow: many columns side by side, a block of them at a time.
class ColumnSoftmax final : public Execution {
 public:
  ColumnSoftmax(int64_t planes, int64_t length, int64_t columns)
      : planes_(planes),
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
        softmax_of_columns(in + at, out + at, length_, columns_,
                           std::min(kColumns, columns_ - first));
      }
    });
  }

 private:
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
