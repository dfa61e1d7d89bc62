// Quantisation by one scale, in the layout in which the data arrives: the reference kernel on the
// elements as they lie.
#include "base/error.h"
#include "cpu/kernels.h"

namespace tenon::cpu {
namespace {

class QuantizeExecution final : public Execution {
 public:
  QuantizeExecution(const Op& op, std::span<const TensorSpec> inputs,
                    std::span<const TensorSpec> outputs)
      : op_(op) {
    for (const TensorSpec& s : inputs) inputs_.push_back({nullptr, s.type, s.shape});
    inputs_[0].shape = Shape{inputs[0].shape.volume()};
    output_ = {nullptr, outputs[0].type, inputs_[0].shape};
  }

  void run(const RunArguments& arguments) override {
    for (size_t i = 0; i < inputs_.size(); ++i)
      inputs_[i].data = const_cast<void*>(arguments.inputs[i]);
    output_.data = arguments.outputs[0];
    op_.reference({inputs_, {&output_, 1}});
  }

 private:
  const Op& op_;
  std::vector<TensorView> inputs_;
  TensorView output_;
};

bool is_one(const TensorSpec& s) {
  return !s.present || (s.shape.rank() <= 1 && s.shape.volume() == 1);
}

class QuantizeKernel final : public Kernel {
 public:
  explicit QuantizeKernel(const Op& op) : op_(op.clone()) {}
  std::unique_ptr<Execution> prepare(std::span<const TensorSpec> inputs,
                                     std::span<const TensorSpec> outputs) const override {
    for (size_t i = 1; i < inputs.size(); ++i)
      require(is_one(inputs[i]), "one scale was expected, found {}", inputs[i].shape);
    return std::make_unique<QuantizeExecution>(*op_, inputs, outputs);
  }

 private:
  std::unique_ptr<Op> op_;
};

}  // namespace

Offer offer_quantize(const KernelRequest& request) {
  for (size_t i = 1; i < request.inputs.size(); ++i)
    if (!is_one(request.inputs[i])) return "there is more than one scale";
  for (const TensorSpec* s : {&request.inputs[0], &request.outputs[0]})
    if (bits_of(s->type) < 8) return "elements narrower than a byte are not supported";
  auto kernel = std::make_unique<QuantizeKernel>(request.op);
  kernel->input_layouts.assign(request.inputs.size(), Layout::kLinear);
  // Padding, which blocked layouts have, would not stay 0.
  const bool is_linear = request.inputs[0].layout == Layout::kLinear;
  kernel->input_layouts[0] = is_linear ? Layout::kLinear : Layout::kChannelsLast;
  kernel->output_layouts = {kernel->input_layouts[0]};
  return kernel;
}

}  // namespace tenon::cpu
