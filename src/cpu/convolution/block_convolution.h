// What our own convolutions share: how windows fit shapes, and the kernel around an execution.
#pragma once

#include "base/error.h"
#include "cpu/blocks.h"
#include "cpu/kernels.h"
#include "ops/convolution.h"

namespace tenon::cpu {

/// How a convolution's windows move over these shapes. Throws Error when data, weights, bias or
/// result do not fit the attributes.
std::vector<Window> convolution_windows(const Convolution& op, std::span<const TensorSpec> inputs,
                                        const Shape& result);

/// Why a convolution's or deconvolution's tensors cannot be taken: types but float32; "" if they
/// can.
std::string refusal_of_tensors(const KernelRequest& request);
/// The same, or that there are other than two spatial axes.
std::string refusal_of_planes(const Shape& kernel, const KernelRequest& request);
/// The same of a convolution, or that it has other than one group of known channels.
std::string refusal_of_groups(const Convolution& op, const KernelRequest& request);

/// Of a few output channels, vectors would be mostly padding, and so they would of a few channels.
constexpr int64_t kFewOutputChannels = 12, kFewChannels = 4;
/// Padded rows of a wider reach are mostly zeros, and may not fit memory.
constexpr int64_t kMaxReach = 1024;

/// The kernel, or why it is better left to others: an execution of it cannot be prepared, or would
/// copy too much.
Offer unless_it_copies_much(std::unique_ptr<Kernel> kernel, const KernelRequest& request);

/// Data, result and operands of its shape are to lie in that layout; weights and bias are packed.
void lie_in(Layout layout, Kernel& kernel, const KernelRequest& request);

/// A convolution in blocks, and where the tensors of the run that is under way are.
class BlockConvolution : public BlockExecution {
 protected:
  BlockConvolution(const Convolution& op, std::span<const TensorSpec> inputs,
                   const TensorSpec& output);
  void begin(const RunArguments& arguments, float* shared) final;

  const SimdKernels& simd_;
  const float *data_ = nullptr, *weights_ = nullptr;
  const float* bias_ = nullptr;  // null where there is none
  float* out_ = nullptr;

 private:
  bool has_bias_;
};

/// A convolution that E, a BlockConvolution, runs.
template <class E> class BlockConvolutionKernel final : public Kernel {
 public:
  explicit BlockConvolutionKernel(const Convolution& op) : op_(op) {}
  std::unique_ptr<Execution> prepare(std::span<const TensorSpec> inputs,
                                     std::span<const TensorSpec> outputs) const override {
    return std::make_unique<E>(op_, inputs, outputs[0]);
  }

 private:
  Convolution op_;
};

/// Offers E for a convolution, or says what of it does not fit.
template <class E> Offer offer_block_convolution(const KernelRequest& request) {
  if (const std::string reason = refusal_of_tensors(request); !reason.empty()) return reason;
  const auto& op = static_cast<const Convolution&>(request.op);
  if (op.groups < 1 || op.output_channels < 1 || op.output_channels % op.groups)
    return "the attributes are inconsistent";
  auto kernel = std::make_unique<BlockConvolutionKernel<E>>(op);
  try {
    // What does not fit is refused here.
    kernel->prepare(in_rows(request.inputs), in_rows(request.outputs));
  } catch (const Error& e) {
    return e.what();
  }
  return kernel;
}

}  // namespace tenon::cpu
