// Reductions of floats over any axes: each group of adjacent axes in one pass.
#include "ops/reduce.h"

#include <cmath>
#include <limits>

#include "base/error.h"
#include "base/parallel.h"
#include "cpu/kernels.h"
#include "cpu/simd/kernels.h"

namespace tenon::cpu {
namespace {

using nvinfer1::ReduceOperation;

constexpr int64_t kElementsPerTask = 16384;
// Sums of so many elements are added in double.
constexpr int64_t kPart = 4096;

double combined(ReduceOperation operation, double a, double b) {
  switch (operation) {
    case ReduceOperation::kPROD:
      return a * b;
    case ReduceOperation::kMAX:
      return std::isnan(a) || a >= b ? a : b;
    case ReduceOperation::kMIN:
      return std::isnan(a) || a <= b ? a : b;
    default:
      return a + b;
  }
}

float neutral(ReduceOperation operation) {
  switch (operation) {
    case ReduceOperation::kPROD:
      return 1;
    case ReduceOperation::kMAX:
      return -std::numeric_limits<float>::infinity();
    case ReduceOperation::kMIN:
      return std::numeric_limits<float>::infinity();
    default:
      return 0;
  }
}

// (outer, count, inner) to (outer, inner).
struct Pass {
  int64_t outer, count, inner;
};

class ReduceExecution final : public Execution {
 public:
  ReduceExecution(const Reduce& op, const Shape& shape) : operation_(op.operation) {
    // Axes that are kept or reduced alike are one; the innermost are reduced first.
    Shape extents = shape;
    for (int i = shape.rank() - 1; i >= 0; --i) {
      if ((op.axes >> i & 1u) == 0) continue;
      int first = i;
      while (first > 0 && (op.axes >> (first - 1) & 1u) != 0) --first;
      Pass pass{shape.volume(0, first), shape.volume(first, i + 1),
                extents.volume(i + 1, shape.rank())};
      for (int k = first; k <= i; ++k) extents[k] = 1;
      elements_ *= pass.count;
      if (pass.count != 1) passes_[used_++] = pass;
      i = first;
    }
    volume_ = extents.volume();
    if (used_ == 0) passes_[used_++] = {1, 1, volume_};
    for (size_t i = 0; i + 1 < used_; ++i)
      workspace_ = std::max(workspace_, passes_[i].outer * passes_[i].inner);
  }

  size_t scratch_bytes() const override {
    return (used_ > 2 ? 2 : used_ - 1) * static_cast<size_t>(workspace_) * sizeof(float);
  }

  void run(const RunArguments& arguments) override {
    auto* const out = static_cast<float*>(arguments.outputs[0]);
    auto* const buffers = static_cast<float*>(arguments.scratch);
    const auto* from = static_cast<const float*>(arguments.inputs[0]);
    for (size_t i = 0; i < used_; ++i) {
      float* to = i + 1 == used_ ? out : buffers + static_cast<int64_t>(i % 2) * workspace_;
      run_pass(passes_[i], from, to);
      from = to;
    }
    if (operation_ != ReduceOperation::kAVG) return;
    const double count = static_cast<double>(elements_);
    for (int64_t i = 0; i < volume_; ++i) out[i] = static_cast<float>(double{out[i]} / count);
  }

 private:
  void run_pass(const Pass& p, const float* in, float* out) const {
    const int64_t grain = std::max<int64_t>(1, kElementsPerTask / std::max<int64_t>(p.count, 1));
    if (p.inner == 1) {
      parallel_for(p.outer, grain, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) out[i] = row(in + i * p.count, p.count);
      });
      return;
    }
    // Columns of a cache line or more are one task's.
    constexpr int64_t kColumns = 256;
    const int64_t blocks = (p.inner + kColumns - 1) / kColumns;
    const int64_t block = std::min(p.inner, kColumns);
    parallel_for(p.outer * blocks, std::max<int64_t>(1, grain / std::max<int64_t>(block, 1)),
                 [&](int64_t begin, int64_t end) {
                   for (int64_t i = begin; i < end; ++i) {
                     const int64_t first = i % blocks * kColumns;
                     columns(p, in + i / blocks * p.count * p.inner + first,
                             out + i / blocks * p.inner + first,
                             std::min(kColumns, p.inner - first));
                   }
                 });
  }

  float row(const float* in, int64_t n) const {
    const auto reduce = simd_kernels().reduce[static_cast<size_t>(operation_)];
    if (n <= kPart) return reduce(in, n);
    double total = double{neutral(operation_)};
    for (int64_t i = 0; i < n; i += kPart)
      total = combined(operation_, total, double{reduce(in + i, std::min(kPart, n - i))});
    return static_cast<float>(total);
  }

  // Rounding errors of long columns are kept small by adding parts of them.
  void columns(const Pass& p, const float* in, float* out, int64_t n) const {
    constexpr int64_t kRows = 256;
    const auto fold = simd_kernels().fold[static_cast<size_t>(operation_)];
    std::fill_n(out, n, neutral(operation_));
    if (p.count <= kRows) {
      for (int64_t r = 0; r < p.count; ++r) fold(out, in + r * p.inner, n);
      return;
    }
    float part[256];
    for (int64_t first = 0; first < p.count; first += kRows) {
      std::fill_n(part, n, neutral(operation_));
      const int64_t end = std::min(p.count, first + kRows);
      for (int64_t r = first; r < end; ++r) fold(part, in + r * p.inner, n);
      fold(out, part, n);
    }
  }

  ReduceOperation operation_;
  Pass passes_[Shape::kMaxRank] = {};
  size_t used_ = 0;
  int64_t workspace_ = 0, elements_ = 1, volume_ = 0;
};

class ReduceKernel final : public Kernel {
 public:
  explicit ReduceKernel(const Reduce& op) : op_(op) {}
  std::unique_ptr<Execution> prepare(std::span<const TensorSpec> inputs,
                                     std::span<const TensorSpec>) const override {
    return std::make_unique<ReduceExecution>(op_, inputs[0].shape);
  }

 private:
  Reduce op_;
};

}  // namespace

Offer offer_reduce(const KernelRequest& request) {
  if (!all_of_type(request, DataType::kFLOAT)) return "only float32 is supported";
  return std::make_unique<ReduceKernel>(static_cast<const Reduce&>(request.op));
}

}  // namespace tenon::cpu
