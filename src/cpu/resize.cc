// Resizing one axis after another, by tables of taps that are made once per shape.
#include "ops/resize.h"

#include <cstring>

#include "base/error.h"
#include "base/parallel.h"
#include "cpu/kernels.h"
#include "cpu/resize_passes.h"
#include "ops/support/resize_weights.h"

namespace tenon::cpu {
namespace {

using nvinfer1::InterpolationMode;

class ResizeExecution final : public Execution {
 public:
  ResizeExecution(const Resize& op, std::span<const TensorSpec> inputs, const TensorSpec& output)
      : op_(op),
        reads_scales_(op.input_is_scales && inputs.size() > 1 && inputs[1].present),
        in_(inputs[0].shape),
        out_(output.shape),
        layout_(output.layout) {
    require(in_.rank() == out_.rank(), "cannot resize {} to {}", in_, out_);
    if (op.mode == InterpolationMode::kNEAREST)
      passes_ = nearest_passes(bytes_of(output.type, 1));
    else
      passes_ = interpolation_passes();
    scales_ = op.scales;
    if (!reads_scales_) {
      make_tables();
      return;
    }
    require(inputs[1].shape.volume() == in_.rank(), "expected {} scales, one per axis, found {}",
            in_.rank(), inputs[1].shape.volume());
    scales_.assign(static_cast<size_t>(in_.rank()), 0.f);  // made by the first run
    passes_->reserve(physical_extents(in_, layout_), physical_extents(out_, layout_));
  }

  size_t scratch_bytes() const override { return passes_->scratch_bytes(); }

  void run(const RunArguments& arguments) override {
    if (out_.volume() == 0) return;
    if (reads_scales_) read_scales(static_cast<const float*>(arguments.inputs[1]));
    passes_->run(arguments.inputs[0], arguments.outputs[0], arguments.scratch);
  }

 private:
  // Scales that decide coordinates are data; tables follow when they change.
  void read_scales(const float* scales) {
    if (std::equal(scales_.begin(), scales_.end(), scales)) return;
    scales_.assign(scales, scales + scales_.size());
    try {
      make_tables();
    } catch (...) {
      scales_.assign(scales_.size(), 0.f);
      throw;
    }
  }

  void make_tables() {
    std::vector<AxisResize> axes;
    for (int i = 0; i < in_.rank(); ++i) axes.push_back(axis_resize(in_, out_, scales_, i));
    passes_->make_tables(op_, axes, layout_);
  }

  const Resize& op_;
  bool reads_scales_;
  Shape in_, out_;
  Layout layout_;
  std::vector<float> scales_;
  std::unique_ptr<ResizePasses> passes_;
};

class ResizeKernel final : public Kernel {
 public:
  ResizeKernel(const Resize& op, const KernelRequest& request, Layout layout) : op_(op) {
    input_layouts.assign(request.inputs.size(), Layout::kLinear);
    input_layouts[0] = layout;
    output_layouts.assign(1, layout);
  }
  std::unique_ptr<Execution> prepare(std::span<const TensorSpec> inputs,
                                     std::span<const TensorSpec> outputs) const override {
    return std::make_unique<ResizeExecution>(op_, inputs, outputs[0]);
  }

 private:
  Resize op_;
};

// Blocked channels cannot be resized.
bool keeps_channels(const Resize& op, const KernelRequest& request) {
  const Shape &in = request.inputs[0].shape, &out = request.outputs[0].shape;
  const bool reads_scales = op.input_is_scales && request.inputs.size() > 1;
  return !reads_scales && (op.scales.empty() || op.scales[1] == 1) && in[1] == out[1];
}

std::string refusal(const Resize& op, const KernelRequest& request) {
  const TensorSpec& in = request.inputs[0];
  if (static_cast<PrivateCoordinates>(op.coordinates) == PrivateCoordinates::kTfCropAndResize)
    return "a region of interest is not supported";
  if (op.mode != InterpolationMode::kNEAREST && in.type != DataType::kFLOAT)
    return "only float32 is interpolated";
  if (bits_of(in.type) < 8) return "elements narrower than a byte are not supported";
  return "";
}

}  // namespace

Offer offer_resize(const KernelRequest& request) {
  const auto& op = static_cast<const Resize&>(request.op);
  if (std::string reason = refusal(op, request); !reason.empty()) return reason;
  Layout layout = request.inputs[0].layout;
  if (channel_block(layout) > 1 && !keeps_channels(op, request)) layout = Layout::kLinear;
  return std::make_unique<ResizeKernel>(op, request, layout);
}

Offer load_resize(const KernelRequest& request, const StoredKernel&) {
  const auto& op = static_cast<const Resize&>(request.op);
  if (std::string reason = refusal(op, request); !reason.empty()) return reason;
  return std::make_unique<ResizeKernel>(op, request, request.inputs[0].layout);
}

}  // namespace tenon::cpu
