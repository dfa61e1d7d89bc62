#include "cuda/pooling.h"

#include "base/cuda_stream.h"
#include "cuda/check.h"
#include "cuda/empty_execution.h"
#include "cuda/kernels.h"
#include "ops/pooling.h"
#include "ops/reduce.h"
#include "ops/support/window.h"

namespace tenon::cuda {
namespace {

using nvinfer1::PoolingType;

bool is_real(DataType type) {
  return type == DataType::kFLOAT || type == DataType::kHALF || type == DataType::kBF16;
}

class PoolingExecution final : public Execution {
 public:
  explicit PoolingExecution(const PoolingParameters& parameters) : p_(parameters) {}
  void run(const RunArguments& arguments) override {
    p_.in = arguments.inputs[0];
    p_.out = arguments.outputs[0];
    if (arguments.outputs.size() > 1) p_.indices = static_cast<int64_t*>(arguments.outputs[1]);
    launch_pooling(p_, to_cuda(arguments.stream));
    check_launch("a pooling");
  }

 private:
  PoolingParameters p_;
};

class PlanesExecution final : public Execution {
 public:
  explicit PlanesExecution(const PlaneParameters& parameters) : p_(parameters) {}
  void run(const RunArguments& arguments) override {
    if (p_.images * p_.channels == 0) return;
    p_.in = arguments.inputs[0];
    p_.out = arguments.outputs[0];
    launch_planes(p_, to_cuda(arguments.stream));
    check_launch("a reduction of planes");
  }

 private:
  PlaneParameters p_;
};

PoolingParameters parameters_of(const Pooling& op, const TensorSpec& data,
                                const TensorSpec& result) {
  const Shape &in = data.shape, &out = result.shape;
  require(in.rank() == out.rank() && in.rank() == op.window.rank() + 2 && in[0] == out[0]
              && in[1] == out[1],
          "cannot pool {} to {}", in, out);
  PoolingParameters p;
  p.type = data.type;
  p.columns_first = op.indices == PoolingIndices::kColumnsFirst;
  p.is_max = op.type != PoolingType::kAVERAGE;
  p.is_average = op.type != PoolingType::kMAX;
  p.blend = op.blend;
  p.count = op.average_counts_all         ? PoolingCount::kTaps
            : op.average_excludes_padding ? PoolingCount::kElements
                                          : PoolingCount::kElementsAndPadding;
  p.channels_last = data.layout == Layout::kChannelsLast;
  p.images = in[0];
  p.channels = in[1];
  auto windows = make_windows(op.window.rank(), op.window, op.stride, op.dilation, op.pre_padding,
                              op.post_padding);
  for (size_t i = 0; i < windows.size(); ++i) {
    const auto axis = static_cast<int>(i) + 2;
    windows[i] = resolved(windows[i], in[axis], out[axis], op.padding_mode);
  }
  p.axes = window_axes(windows, in, out);
  // What one launch makes at least: a plane, or where channels are last an image.
  const int64_t at_once = out.volume(2, out.rank()) * (p.channels_last ? p.channels : 1);
  require(at_once <= INT32_MAX, "pooling to {} is too large for a GPU", out);
  return p;
}

/// One window that holds all elements, where nothing but maximum or mean is asked for.
std::optional<PlaneParameters> as_planes(const PoolingParameters& p, bool has_indices) {
  if (has_indices || (p.is_max && p.is_average) || !is_real(p.type)) return std::nullopt;
  PlaneParameters planes{p.type, nullptr, nullptr, p.is_max, p.channels_last, p.images, p.channels};
  planes.positions = 1;
  int64_t counted = 1;
  const WindowAxes& w = p.axes;
  for (int i = 0; i < 3; ++i) {
    if (w.out[i] != 1 || w.dilation[i] != 1 || w.in[i] == 0 || w.kernel[i] - w.pre[i] < w.in[i])
      return std::nullopt;
    planes.positions *= w.in[i];
    counted *= p.count == PoolingCount::kElements ? w.in[i]
               : p.count == PoolingCount::kTaps
                   ? w.kernel[i]
                   : std::min(w.kernel[i], w.pre[i] + w.in[i] + w.post[i]);
  }
  planes.divisor = static_cast<float>(counted);
  return planes;
}

class PoolingKernel final : public Kernel {
 public:
  explicit PoolingKernel(const Pooling& op) : op_(op) {}
  std::unique_ptr<Execution> prepare(std::span<const TensorSpec> inputs,
                                     std::span<const TensorSpec> outputs) const override {
    if (outputs[0].shape.volume() == 0) return std::make_unique<EmptyExecution>();
    const PoolingParameters p = parameters_of(op_, inputs[0], outputs[0]);
    if (const auto planes = as_planes(p, outputs.size() > 1))
      return std::make_unique<PlanesExecution>(*planes);
    return std::make_unique<PoolingExecution>(p);
  }

 private:
  Pooling op_;
};

class SpatialMeanKernel final : public Kernel {
 public:
  std::unique_ptr<Execution> prepare(std::span<const TensorSpec> inputs,
                                     std::span<const TensorSpec>) const override {
    const Shape& in = inputs[0].shape;
    PlaneParameters p;
    p.type = inputs[0].type;
    p.channels_last = inputs[0].layout == Layout::kChannelsLast;
    p.images = in[0];
    p.channels = in[1];
    p.positions = in.volume(2, in.rank());
    p.divisor = static_cast<float>(p.positions);
    return std::make_unique<PlanesExecution>(p);
  }
};

}  // namespace

Offer offer_pooling(const KernelRequest& request) {
  const auto& op = static_cast<const Pooling&>(request.op);
  const TensorSpec& data = request.inputs[0];
  const bool is_byte = data.type == DataType::kINT8 || data.type == DataType::kUINT8;
  if (!is_real(data.type) && !(is_byte && op.type == PoolingType::kMAX))
    return "only float32, float16, bfloat16 and maxima of bytes are supported";
  if (data.shape.rank() != op.window.rank() + 2 || op.window.rank() < 1 || op.window.rank() > 3)
    return "only one to three spatial axes are supported";
  auto kernel = std::make_unique<PoolingKernel>(op);
  // Either layout as it comes, but indices are counted in rows.
  const bool last = data.layout == Layout::kChannelsLast && op.indices == PoolingIndices::kNone;
  const Layout layout = last ? Layout::kChannelsLast : Layout::kLinear;
  kernel->input_layouts = {layout};
  kernel->output_layouts.assign(request.outputs.size(), layout);
  return kernel;
}

Offer offer_spatial_mean(const KernelRequest& request) {
  const auto& op = static_cast<const Reduce&>(request.op);
  const TensorSpec& in = request.inputs[0];
  if (!is_real(in.type)) return "only float32, float16 and bfloat16 are supported";
  if (op.operation != nvinfer1::ReduceOperation::kAVG) return "only averages are supported";
  const int rank = in.shape.rank();
  if (rank < 3 || op.axes != ((1u << rank) - 1 - 3)) return "only all spatial axes are supported";
  // One number for each channel lies in rows whatever the layout of the input.
  auto kernel = std::make_unique<SpatialMeanKernel>();
  kernel->input_layouts = {in.layout};
  return kernel;
}

}  // namespace tenon::cuda
