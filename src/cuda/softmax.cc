// Softmax along any axis, and of rows of different lengths.
#include "cuda/softmax.h"

#include <bit>

#include "base/cuda_stream.h"
#include "base/error.h"
#include "cuda/check.h"
#include "cuda/kernels.h"
#include "ops/softmax.h"

namespace tenon::cuda {
namespace {

class SoftmaxExecution final : public Execution {
 public:
  explicit SoftmaxExecution(const SoftmaxParameters& parameters) : parameters_(parameters) {}

  void run(const RunArguments& arguments) override {
    SoftmaxParameters p = parameters_;
    p.data = arguments.inputs[0];
    p.result = arguments.outputs[0];
    p.lengths = arguments.input(1);
    launch_softmax(p, to_cuda(arguments.stream));
    check_launch("a softmax");
  }

 private:
  SoftmaxParameters parameters_;
};

// Along `axis` of a tensor in its layout.
SoftmaxParameters parameters_of(const TensorSpec& data, int axis) {
  // The extents as they follow each other in memory, where axis 1 may come last.
  Shape shape = data.shape;
  int at = axis;
  if (data.layout == Layout::kChannelsLast && shape.rank() > 1) {
    const int64_t channels = shape[1];
    shape.erase(1);
    shape.push_back(channels);
    at = axis == 1 ? shape.rank() - 1 : axis > 1 ? axis - 1 : axis;
  }
  SoftmaxParameters p;
  p.type = data.type;
  p.outer = shape.volume(0, at);
  p.extent = shape[at];
  p.inner = shape.volume(at + 1, shape.rank());
  require(p.outer * ((p.inner + 31) / 32) <= INT32_MAX, "a softmax of shape {} is too large",
          data.shape);
  return p;
}

class SoftmaxKernel final : public Kernel {
 public:
  SoftmaxKernel(int axis, Layout layout) : axis_(axis) {
    input_layouts = {layout};
    output_layouts = {layout};
  }
  std::unique_ptr<Execution> prepare(std::span<const TensorSpec> inputs,
                                     std::span<const TensorSpec>) const override {
    return std::make_unique<SoftmaxExecution>(parameters_of(inputs[0], axis_));
  }

 private:
  int axis_;
};

class RaggedSoftmaxKernel final : public Kernel {
 public:
  std::unique_ptr<Execution> prepare(std::span<const TensorSpec> inputs,
                                     std::span<const TensorSpec>) const override {
    SoftmaxParameters p = parameters_of(inputs[0], inputs[0].shape.rank() - 1);
    require(inputs[1].shape.volume() == p.outer, "lengths of shape {} for rows of {}",
            inputs[1].shape, inputs[0].shape);
    p.length_type = inputs[1].type;
    return std::make_unique<SoftmaxExecution>(p);
  }
};

bool is_supported(DataType type) {
  return type == DataType::kFLOAT || type == DataType::kHALF || type == DataType::kBF16;
}

}  // namespace

Offer offer_softmax(const KernelRequest& request) {
  const TensorSpec& data = request.inputs[0];
  if (!is_supported(data.type)) return "only float32, float16 and bfloat16 are supported";
  const int axis = std::countr_zero(static_cast<const Softmax&>(request.op).axes);
  if (axis >= data.shape.rank()) return "the axis is out of range";
  const bool as_it_is = data.layout == Layout::kLinear || data.layout == Layout::kChannelsLast;
  return std::make_unique<SoftmaxKernel>(axis, as_it_is ? data.layout : Layout::kLinear);
}

Offer offer_ragged_softmax(const KernelRequest& request) {
  if (request.inputs.size() < 2 || request.inputs[0].shape.rank() < 1) return "inputs are missing";
  if (!is_supported(request.inputs[0].type))
    return "only float32, float16 and bfloat16 are supported";
  return std::make_unique<RaggedSoftmaxKernel>();
}

}  // namespace tenon::cuda
