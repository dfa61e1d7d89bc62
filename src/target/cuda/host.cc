// The last candidate of every list: the layer runs on the host, with copies there and back. So a
// network with layers that have no kernel of their own runs whole, at the price of waiting.
#include <vector>

#include "base/tensor_pool.h"
#include "target/cpu/kernels.h"
#include "target/cuda/cuda_target.h"
#include "target/cuda/kernels.h"

namespace tenon::cuda {
namespace {

class HostExecution final : public Execution {
 public:
  HostExecution(std::unique_ptr<Execution> execution, std::span<const TensorSpec> outputs)
      : execution_(std::move(execution)),
        outputs_(outputs.begin(), outputs.end()),
        results_(outputs.size()),
        pools_(outputs.size()),
        pointers_(outputs.size()),
        scratch_(allocate_aligned(execution_->scratch_bytes())) {
    for (size_t i = 0; i < outputs.size(); ++i)
      if (!is_late(outputs[i])) make(i, outputs[i].shape);
  }

  void run(const RunArguments& arguments) override {
    execution_->run({arguments.inputs, pointers_, scratch_.get(), nullptr, &allocate_});
    for (size_t i = 0; i < outputs_.size(); ++i) {
      void* to = is_late(outputs_[i])
                     ? (*arguments.allocate_output)(static_cast<int>(i), results_[i].shape())
                     : arguments.outputs[i];
      cuda_device().copy_in(to, results_[i].data(), results_[i].bytes(), arguments.stream);
    }
  }

 private:
  static bool is_late(const TensorSpec& spec) {
    return std::find(spec.shape.begin(), spec.shape.end(), -1) != spec.shape.end();
  }
  void* make(size_t i, const Shape& shape) {
    results_[i] = pools_[i].make(outputs_[i].type, shape);
    return pointers_[i] = results_[i].mutable_data<void>();
  }

  std::unique_ptr<Execution> execution_;
  std::vector<TensorSpec> outputs_;
  std::vector<Tensor> results_;
  std::vector<TensorPool> pools_;
  std::vector<void*> pointers_;
  std::shared_ptr<std::byte> scratch_;
  const AllocateOutput allocate_ = [this](int output, const Shape& shape) {
    return make(static_cast<size_t>(output), shape);
  };
};

class HostKernel final : public Kernel {
 public:
  HostKernel(std::unique_ptr<Kernel> kernel, size_t inputs) : kernel_(std::move(kernel)) {
    input_on_host.assign(inputs, true);
    can_be_captured = false;
  }
  std::unique_ptr<Execution> prepare(std::span<const TensorSpec> inputs,
                                     std::span<const TensorSpec> outputs) const override {
    return std::make_unique<HostExecution>(kernel_->prepare(inputs, outputs), outputs);
  }

 private:
  std::unique_ptr<Kernel> kernel_;
};

}  // namespace

Offer offer_host(const KernelRequest& request) {
  Offer offer = cpu::offer_reference(request);
  if (auto* reason = std::get_if<std::string>(&offer)) return *reason;
  return std::make_unique<HostKernel>(std::move(std::get<std::unique_ptr<Kernel>>(offer)),
                                      request.inputs.size());
}

}  // namespace tenon::cuda
