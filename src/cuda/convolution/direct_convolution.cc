// Convolutions that nothing faster takes.
#include "cuda/convolution/direct_convolution.h"

#include "base/cuda_stream.h"
#include "cuda/check.h"
#include "cuda/convolution/sliding.h"
#include "cuda/kernels.h"

namespace tenon::cuda {
namespace {

class DirectExecution final : public Execution {
 public:
  DirectExecution(const DirectConvolution& parameters, bool is_packed)
      : p_(parameters), is_packed_(is_packed) {}

  void run(const RunArguments& arguments) override {
    if (p_.epilogue.count() == 0) return;
    p_.data = arguments.inputs[kDataInput];
    p_.weights = is_packed_ ? arguments.packed[0] : arguments.inputs[kWeightsInput];
    p_.result = arguments.outputs[0];
    set_operands(p_.epilogue, arguments.inputs);
    launch_direct_convolution(p_, to_cuda(arguments.stream));
    check_launch("a direct convolution");
  }

 private:
  DirectConvolution p_;
  bool is_packed_;
};

class DirectKernel final : public Kernel {
 public:
  explicit DirectKernel(SlidingOp op) : op_(std::move(op)) {}
  std::unique_ptr<Execution> prepare(std::span<const TensorSpec> inputs,
                                     std::span<const TensorSpec> outputs) const override {
    return direct_execution(direct_parameters(op_, inputs, outputs[0], Layout::kLinear), false);
  }

 private:
  SlidingOp op_;
};

}  // namespace

std::unique_ptr<Execution> direct_execution(const DirectConvolution& parameters, bool is_packed) {
  return std::make_unique<DirectExecution>(parameters, is_packed);
}

Offer offer_direct_convolution(const KernelRequest& request) {
  SlidingOp op(request.op);
  if (std::string reason = op.refusal(request); !reason.empty()) return reason;
  // The weights lie in rows; everything else as the data does.
  const Layout layout = request.inputs[kDataInput].layout == Layout::kChannelsLast
                            ? Layout::kChannelsLast
                            : Layout::kLinear;
  auto kernel = std::make_unique<DirectKernel>(std::move(op));
  kernel->input_layouts.assign(request.inputs.size(), layout);
  for (const size_t i : {kWeightsInput, kBiasInput})
    if (i < request.inputs.size()) kernel->input_layouts[i] = Layout::kLinear;
  kernel->output_layouts = {layout};
  return kernel;
}

}  // namespace tenon::cuda
