// Runs of one kernel on random numbers, while a plan is built.
#pragma once

#include <memory>
#include <vector>

#include "backend/target.h"

namespace tenon {

/// A kernel made ready for the shapes of the request, in its own layouts.
struct PreparedKernel {
  PreparedKernel(const Kernel& kernel, const KernelRequest& request);

  std::vector<TensorSpec> inputs, outputs;
  std::unique_ptr<Execution> execution;
};

/// Whether copies of the layer's tensors fit a small machine, and their extents are known.
bool can_be_tried(const KernelRequest& request);

/// How the layer before wrote data of that shape and layout: images of planes of rows, or of one
/// plane where channels lie last; what has fewer than four axes is one plane.
WrittenRows written_rows(const TensorSpec& spec, Tensor& data);

/// The kernel with memory for its tensors. Inputs of float32 are random, from -0.5 to 0.5 and the
/// same each time; others are zero. Constants are what they are.
/// @pre can_be_tried()
class TrialRun {
 public:
  TrialRun(const Kernel& kernel, const KernelRequest& request, const Device& device);
  TrialRun(const TrialRun&) = delete;

  void run(Stream* stream);

  const std::vector<TensorSpec>& inputs() const { return kernel_.inputs; }
  const std::vector<TensorSpec>& outputs() const { return kernel_.outputs; }
  /// The memory of an input, null where the kernel reads none, and that of an output: on the host,
  /// if kernels run there.
  const void* input(size_t i) const { return in_[i]; }
  const void* output(size_t i) const { return out_[i]; }
  /// Whether the input has the layer's constant, and not random numbers in its place.
  bool has_constant(size_t i) const { return has_constant_[i]; }
  /// What the layers before would have written.
  const std::vector<WrittenRows>& written() const { return written_; }

 private:
  void* memory_for(Tensor tensor, bool on_host);

  const Device& device_;
  const bool waits_;  // a plugin may leave work in the stream
  PreparedKernel kernel_;
  std::vector<Tensor> tensors_;
  std::vector<DeviceBuffer> copies_;  // on a device
  std::vector<const void*> in_, packed_;
  std::vector<void*> out_;
  std::vector<bool> has_constant_;
  std::vector<WrittenRows> written_;
  DeviceBuffer scratch_;
};

}  // namespace tenon
