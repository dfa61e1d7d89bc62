#include "common/host_kernel.h"

#include <algorithm>

#include "base/tensor_pool.h"

namespace tenon {
namespace {

class HostExecution final : public Execution {
 public:
  HostExecution(std::unique_ptr<Execution> execution, const Device& device,
                std::span<const TensorSpec> outputs)
      : execution_(std::move(execution)),
        device_(device),
        outputs_(outputs.begin(), outputs.end()),
        results_(outputs.size()),
        pools_(outputs.size()),
        pointers_(outputs.size()),
        scratch_(allocate_aligned(execution_->scratch_bytes())) {
    for (size_t i = 0; i < outputs.size(); ++i)
      if (!is_data_dependent(outputs[i])) make(i, outputs[i].shape);
  }

  void run(const RunArguments& arguments) override {
    execution_->run({arguments.inputs, pointers_, scratch_.get(), nullptr, &allocate_});
    for (size_t i = 0; i < outputs_.size(); ++i) {
      void* to = is_data_dependent(outputs_[i])
                     ? (*arguments.allocate_output)(static_cast<int>(i), results_[i].shape())
                     : arguments.outputs[i];
      device_.copy_in(to, results_[i].data(), results_[i].bytes(), arguments.stream);
    }
  }

 private:
  static bool is_data_dependent(const TensorSpec& spec) {
    return std::find(spec.shape.begin(), spec.shape.end(), -1) != spec.shape.end();
  }
  void* make(size_t i, const Shape& shape) {
    const Layout layout = outputs_[i].layout;
    results_[i] =
        pools_[i].make(outputs_[i].type,
                       layout == Layout::kLinear ? shape : Shape{storage_elements(shape, layout)});
    return pointers_[i] = results_[i].mutable_data<void>();
  }

  std::unique_ptr<Execution> execution_;
  const Device& device_;
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
  HostKernel(std::unique_ptr<Kernel> kernel, const Device& device, size_t inputs)
      : kernel_(std::move(kernel)), device_(device) {
    variant = kernel_->variant;
    timing_id = kernel_->timing_id;
    state = kernel_->state;
    input_layouts = kernel_->input_layouts;
    output_layouts = kernel_->output_layouts;
    input_on_host.assign(inputs, true);
    can_be_captured = false;
  }
  std::unique_ptr<Execution> prepare(std::span<const TensorSpec> inputs,
                                     std::span<const TensorSpec> outputs) const override {
    return std::make_unique<HostExecution>(kernel_->prepare(inputs, outputs), device_, outputs);
  }
  std::vector<std::unique_ptr<Kernel>> variants() const override {
    std::vector<std::unique_ptr<Kernel>> list;
    for (auto& other : kernel_->variants()) {
      list.push_back(beside_device(std::move(other), device_, input_on_host.size()));
      list.back()->name = name;
      list.back()->note = note;
    }
    return list;
  }

 private:
  std::unique_ptr<Kernel> kernel_;
  const Device& device_;
};

}  // namespace

std::unique_ptr<Kernel> beside_device(std::unique_ptr<Kernel> kernel, const Device& device,
                                      size_t inputs) {
  return std::make_unique<HostKernel>(std::move(kernel), device, inputs);
}

}  // namespace tenon
