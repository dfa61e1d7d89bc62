// The op's reference kernel as the last candidate of every list.
#include "base/error.h"
#include "target/cpu/kernels.h"

namespace tenon::cpu {
namespace {

class ReferenceExecution final : public Execution {
 public:
  ReferenceExecution(const Op& op, std::span<const TensorSpec> inputs,
                     std::span<const TensorSpec> outputs)
      : op_(op) {
    for (const TensorSpec& s : inputs) inputs_.push_back({nullptr, s.type, s.shape});
    for (const TensorSpec& s : outputs) outputs_.push_back({nullptr, s.type, s.shape});
  }

  void run(const RunArguments& arguments) override {
    for (size_t i = 0; i < inputs_.size(); ++i)
      inputs_[i].data = const_cast<void*>(arguments.inputs[i]);
    for (size_t i = 0; i < outputs_.size(); ++i) outputs_[i].data = arguments.outputs[i];
    op_.reference({inputs_, outputs_, arguments.allocate_output});
  }

 private:
  const Op& op_;
  std::vector<TensorView> inputs_, outputs_;
};

class ReferenceKernel final : public Kernel {
 public:
  explicit ReferenceKernel(const Op& op) : op_(op.clone()) {}
  std::unique_ptr<Execution> prepare(std::span<const TensorSpec> inputs,
                                     std::span<const TensorSpec> outputs) const override {
    return std::make_unique<ReferenceExecution>(*op_, inputs, outputs);
  }

 private:
  std::unique_ptr<Op> op_;
};

}  // namespace

Offer offer_reference(const KernelRequest& request) {
  return std::make_unique<ReferenceKernel>(request.op);
}

bool all_of_type(const KernelRequest& request, DataType type) {
  const auto matches = [&](const TensorSpec& s) { return !s.present || s.type == type; };
  return std::all_of(request.inputs.begin(), request.inputs.end(), matches)
         && std::all_of(request.outputs.begin(), request.outputs.end(), matches);
}

}  // namespace tenon::cpu
