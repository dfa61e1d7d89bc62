// The op's reference kernel as the last candidate of every list.
#include "common/reference.h"

#include "base/error.h"
#include "network/scratch_kernel.h"

namespace tenon {
namespace {

class ReferenceExecution final : public Execution {
 public:
  ReferenceExecution(const Op& op, std::span<const TensorSpec> inputs,
                     std::span<const TensorSpec> outputs)
      : op_(op), scratch_kernel_(dynamic_cast<const ScratchKernel*>(&op)) {
    for (const TensorSpec& s : inputs) inputs_.push_back({nullptr, s.type, s.shape});
    for (const TensorSpec& s : outputs) outputs_.push_back({nullptr, s.type, s.shape});
    if (scratch_kernel_ != nullptr)
      scratch_bytes_ = scratch_kernel_->scratch_bytes({inputs_, outputs_});
  }

  size_t scratch_bytes() const override { return scratch_bytes_; }

  void run(const RunArguments& arguments) override {
    for (size_t i = 0; i < inputs_.size(); ++i)
      inputs_[i].data = const_cast<void*>(arguments.inputs[i]);
    for (size_t i = 0; i < outputs_.size(); ++i) outputs_[i].data = arguments.outputs[i];
    const ReferenceCall call{inputs_, outputs_, arguments.allocate_output};
    if (scratch_kernel_ != nullptr)
      scratch_kernel_->run(call, static_cast<std::byte*>(arguments.scratch));
    else
      op_.reference(call);
  }

 private:
  const Op& op_;
  const ScratchKernel* scratch_kernel_;
  std::vector<TensorView> inputs_, outputs_;
  size_t scratch_bytes_ = 0;
};

class ReferenceKernel final : public Kernel {
 public:
  explicit ReferenceKernel(const Op& op) : op_(op.clone()) {}
  std::unique_ptr<Execution> prepare(std::span<const TensorSpec> inputs,
                                     std::span<const TensorSpec> outputs) const override {
    return prepare_reference(*op_, inputs, outputs);
  }

 private:
  std::unique_ptr<Op> op_;
};

}  // namespace

std::unique_ptr<Execution> prepare_reference(const Op& op, std::span<const TensorSpec> inputs,
                                             std::span<const TensorSpec> outputs) {
  return std::make_unique<ReferenceExecution>(op, inputs, outputs);
}

Offer offer_reference(const KernelRequest& request) {
  return std::make_unique<ReferenceKernel>(request.op);
}

}  // namespace tenon
