// Softmax and changes of layout by oneDNN.
#include "ops/reorder.h"

#include <bit>

#include "cpu/kernels.h"
#include "cpu/onednn/library.h"
#include "cpu/onednn/post_ops.h"
#include "ops/softmax.h"

namespace tenon::cpu {
namespace onednn {
namespace {

class ReorderKernel final : public Kernel {
 public:
  explicit ReorderKernel(const Reorder& op) {
    input_layouts.assign(1, op.from);
    output_layouts.assign(1, op.to);
  }
  std::unique_ptr<Execution> prepare(std::span<const TensorSpec> inputs,
                                     std::span<const TensorSpec> outputs) const override {
    auto execution = std::make_unique<PrimitiveExecution>();
    execution->add_reorder("reorder", {Source::From::kInput, 0},
                           desc_of(inputs[0].shape, inputs[0].layout), {Source::From::kOutput, 0},
                           desc_of(outputs[0].shape, outputs[0].layout));
    return execution;
  }
};

class SoftmaxKernel final : public Kernel {
 public:
  explicit SoftmaxKernel(int axis) : axis_(axis) {}
  std::unique_ptr<Execution> prepare(std::span<const TensorSpec> inputs,
                                     std::span<const TensorSpec> outputs) const override {
    const Shape& shape = inputs[0].shape;
    if (shape.volume() == 0) return std::make_unique<EmptyExecution>();
    // Any rank as three axes.
    const Shape folded = {shape.volume(0, axis_), shape[axis_],
                          shape.volume(axis_ + 1, shape.rank())};
    const auto desc = desc_of(folded, Layout::kLinear);
    const auto description = call("softmax", [&] {
      return dnnl::softmax_forward::primitive_desc({dnnl::prop_kind::forward_inference, desc, 1},
                                                   attributes_of({}, {}), engine());
    });
    auto execution = std::make_unique<PrimitiveExecution>();
    execution->add(description, {{DNNL_ARG_SRC, {Source::From::kInput, 0}, desc},
                                 {DNNL_ARG_DST, {Source::From::kOutput, 0}, desc}});
    return execution;
  }

 private:
  int axis_;
};

}  // namespace
}  // namespace onednn

Offer offer_onednn_reorder(const KernelRequest& request) {
  const auto& op = static_cast<const Reorder&>(request.op);
  if (!all_of_type(request, DataType::kFLOAT)) return "only float32 is supported";
  const int rank = request.inputs[0].shape.rank();
  if (rank < 3 || rank > 5) return "only tensors of rank 3 to 5 are supported";
  if (op.from == op.to) return "there is nothing to change";
  return std::make_unique<onednn::ReorderKernel>(op);
}

Offer offer_onednn_softmax(const KernelRequest& request) {
  if (!all_of_type(request, DataType::kFLOAT)) return "only float32 is supported";
  const int axis = std::countr_zero(static_cast<const Softmax&>(request.op).axes);
  if (axis >= request.inputs[0].shape.rank()) return "the axis is out of range";
  return std::make_unique<onednn::SoftmaxKernel>(axis);
}

}  // namespace tenon::cpu
