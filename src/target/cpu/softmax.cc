// Softmax along the last axis (others of extent 1 may follow it).
#include "ops/softmax.h"

#include <bit>

#include "base/parallel.h"
#include "target/cpu/kernels.h"
#include "target/cpu/simd/kernels.h"

namespace tenon::cpu {
namespace {

class SoftmaxExecution final : public Execution {
 public:
  SoftmaxExecution(const Shape& shape, int axis)
      : rows_(shape.volume(0, axis)), length_(shape[axis]) {}

  void run(const RunArguments& arguments) override {
    constexpr int64_t kGrainElements = 16384;
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

class SoftmaxKernel final : public Kernel {
 public:
  explicit SoftmaxKernel(int axis) : axis_(axis) {}
  std::unique_ptr<Execution> prepare(std::span<const TensorSpec> inputs,
                                     std::span<const TensorSpec>) const override {
    return std::make_unique<SoftmaxExecution>(inputs[0].shape, axis_);
  }

 private:
  int axis_;
};

}  // namespace

Offer offer_softmax(const KernelRequest& request) {
  if (!all_of_type(request, DataType::kFLOAT)) return "only float32 is supported";
  const auto& op = static_cast<const Softmax&>(request.op);
  const int axis = std::countr_zero(op.axes);
  const int rank = request.inputs[0].shape.rank();
  if (axis >= rank) return "the axis is out of range";
  if (axis + 1 != rank) return "only the last axis is supported";
  return std::make_unique<SoftmaxKernel>(axis);
}

}  // namespace tenon::cpu
