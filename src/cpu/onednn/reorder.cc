// Changes of layout by oneDNN.
#include "ops/reorder.h"

#include "cpu/kernels.h"
#include "cpu/onednn/library.h"

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

}  // namespace
}  // namespace onednn

Offer offer_onednn_reorder(const KernelRequest& request) {
  const auto& op = static_cast<const Reorder&>(request.op);
  if (!all_of_type(request, DataType::kFLOAT)) return "only float32 is supported";
  const int rank = request.inputs[0].shape.rank();
  if (rank < 3 || rank > 5) return "only tensors of rank 3 to 5 are supported";
  if (is_io_only(op.from) || is_io_only(op.to)) return "only layouts between layers are supported";
  if (op.from == op.to) return "there is nothing to change";
  return std::make_unique<onednn::ReorderKernel>(op);
}

}  // namespace tenon::cpu
