// Normalisation by the neighbouring channels, in the layout in which the data arrives.
#include "ops/lrn.h"

#include "base/cuda_stream.h"
#include "base/error.h"
#include "cuda/empty_execution.h"
#include "cuda/kernels.h"
#include "cuda/nvrtc/axes.h"
#include "cuda/nvrtc/generated_kernel.h"
#include "cuda/reduce/sources.h"

namespace tenon::cuda {
namespace {

constexpr int64_t kThreads = 256;

/// `Parameters` of the kernel. The elements of a channel lie `step` apart, those of the next one
/// follow after `step` elements: channel of element i is i / step % channels.
struct LrnParameters {
  const void* in;
  void* out;
  uint32_t elements, step;
  AxisParameters by_step, by_channels;
};

class LrnExecution final : public Execution {
 public:
  LrnExecution(const Module& module, const TensorSpec& x) : kernel_(module.kernel("lrn")) {
    const int64_t elements = x.shape.volume();
    if (elements > INT32_MAX)
      fail(ErrorCode::kUNSUPPORTED_STATE, "normalising {} elements is not supported", elements);
    const int64_t step = x.layout == Layout::kLinear ? x.shape.volume(2, x.shape.rank()) : 1;
    parameters_.elements = static_cast<uint32_t>(elements);
    parameters_.step = static_cast<uint32_t>(step);
    parameters_.by_step = axis_parameters(step);
    parameters_.by_channels = axis_parameters(x.shape[1]);
  }

  void run(const RunArguments& arguments) override {
    LrnParameters p = parameters_;
    p.in = arguments.inputs[0];
    p.out = arguments.outputs[0];
    void* argument = &p;
    const int64_t blocks = (int64_t{p.elements} + kThreads - 1) / kThreads;
    launch(kernel_, dim3(static_cast<unsigned>(blocks)), kThreads, &argument,
           to_cuda(arguments.stream));
  }

 private:
  const void* kernel_;
  LrnParameters parameters_{};
};

class LrnKernel final : public GeneratedKernel {
 public:
  LrnKernel(const KernelRequest& request, StoredKernel code) : GeneratedKernel(std::move(code)) {
    input_layouts = output_layouts = {request.inputs[0].layout};
  }

  std::unique_ptr<Execution> prepare(std::span<const TensorSpec> inputs,
                                     std::span<const TensorSpec> outputs) const override {
    if (outputs[0].shape.volume() == 0) return std::make_unique<EmptyExecution>();
    return std::make_unique<LrnExecution>(module(), inputs[0]);
  }
};

}  // namespace

Offer offer_lrn(const KernelRequest& request) {
  return offer_generated([&] {
    const auto& op = static_cast<const Lrn&>(request.op);
    auto kernel = std::make_unique<LrnKernel>(
        request, generated_code(request, lrn_source(op, request.inputs[0].type)));
    kernel->prepare(request.inputs, request.outputs);  // throws for what is not supported
    return kernel;
  });
}

Offer load_lrn(const KernelRequest& request, const StoredKernel& stored) {
  return std::make_unique<LrnKernel>(request, stored);
}

}  // namespace tenon::cuda
