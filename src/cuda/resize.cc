// Resizing by tables of taps, which are made once for certain shapes, in any layout.
#include "ops/resize.h"

#include <cmath>

#include "base/cuda_stream.h"
#include "base/error.h"
#include "common/physical.h"
#include "cuda/check.h"
#include "cuda/cuda_target.h"
#include "cuda/kernels.h"
#include "cuda/launch_kernel.h"
#include "cuda/resize.h"
#include "cuda/strided_copy.h"
#include "ops/support/resize_weights.h"

namespace tenon::cuda {
namespace {

using nvinfer1::InterpolationMode;

constexpr int kMaxInterpolated = 3;

// The taps of an axis, as many for each position.
struct Table {
  int64_t taps = 0;  // 0: the axis stays as it is
  std::vector<ResizeTap> entries;
};

Table nearest_table(const Resize& op, const AxisResize& axis) {
  Table table{1, {}};
  bool is_whole = axis.in == axis.out;
  for (const int64_t position : nearest_positions(op, axis)) {
    is_whole = is_whole && position == static_cast<int64_t>(table.entries.size());
    table.entries.push_back({static_cast<int32_t>(position), 1});
  }
  return is_whole ? Table{} : table;
}

Table interpolation_table(const Resize& op, const AxisResize& axis) {
  const AxisTaps taps = interpolation_taps(op, axis);
  if (is_identity(taps, axis)) return {};
  Table table{1, {}};
  for (const auto& list : taps)
    table.taps = std::max(table.taps, static_cast<int64_t>(list.size()));
  for (const auto& list : taps) {
    for (const Tap& tap : list)
      table.entries.push_back({static_cast<int32_t>(tap.position), static_cast<float>(tap.weight)});
    table.entries.resize(table.entries.size() + static_cast<size_t>(table.taps) - list.size());
  }
  return table;
}

class ResizeExecution final : public Execution {
 public:
  ResizeExecution(const Resize& op, std::span<const TensorSpec> inputs, const TensorSpec& output)
      : op_(op),
        reads_scales_(op.input_is_scales && is_given(inputs, 1)),
        in_(inputs[0].shape),
        out_(output.shape),
        layout_(output.layout),
        type_(output.type),
        scales_(op.scales) {
    require(in_.rank() == out_.rank(), "cannot resize {} to {}", in_, out_);
    if (!reads_scales_) {
      make_tables(nullptr);
      return;
    }
    require(inputs[1].shape.volume() == in_.rank(), "expected {} scales, one per axis, found {}",
            in_.rank(), inputs[1].shape.volume());
    scales_.assign(static_cast<size_t>(in_.rank()), 0.f);  // made by the first run
  }

  void run(const RunArguments& arguments) override {
    if (out_.volume() == 0) return;
    if (reads_scales_) read_scales(static_cast<const float*>(arguments.inputs[1]), arguments);
    ResizeCall call = call_;
    call.source = arguments.inputs[0];
    call.target = arguments.outputs[0];
    const auto bytes = static_cast<int64_t>(bytes_of(type_, 1));
    const ResizedAxis& last = call.axis[call.axes - 1];
    const int64_t run = last.taps == 0 ? last.extent * bytes : bytes;
    int64_t word = common_word(address_of(call.source), address_of(call.target), run);
    const bool is_nearest = op_.mode == InterpolationMode::kNEAREST;
    if (!is_nearest && word != 16) word = bytes;
    widen(call, word / bytes);
    if (is_nearest)
      launch_nearest(call, word, to_cuda(arguments.stream));
    else
      launch_interpolation(call, static_cast<int32_t>(type_), static_cast<int>(word / bytes),
                           to_cuda(arguments.stream));
    check_launch("a resize");
  }

 private:
  // Some elements of the last axis, which are copied whole, become one.
  static void widen(ResizeCall& call, int64_t elements) {
    if (elements == 1) return;
    ResizedAxis& last = call.axis[call.axes - 1];
    last.extent /= elements;
    for (int axis = 0; axis + 1 < call.axes; ++axis) call.axis[axis].stride /= elements;
  }

  // Scales that decide coordinates are data; tables follow when they change.
  void read_scales(const float* scales, const RunArguments& arguments) {
    if (std::equal(scales_.begin(), scales_.end(), scales)) return;
    scales_.assign(scales, scales + scales_.size());
    try {
      make_tables(arguments.stream);
    } catch (...) {
      scales_.assign(scales_.size(), 0.f);
      throw;
    }
  }

  void make_tables(Stream* stream) {
    if (out_.volume() == 0) return;
    const bool is_nearest = op_.mode == InterpolationMode::kNEAREST;
    std::vector<ResizeTap> entries;
    call_ = {};
    std::vector<size_t> begins;
    const Shape out = physical_extents(out_, layout_);
    const Shape strides = physical_extents(in_, layout_).strides();
    Shape axes;  // of memory, by their number in the tensor
    for (int i = 0; i < in_.rank(); ++i) axes.push_back(i);
    axes = physical_extents(axes, layout_);
    for (int k = 0; k < out.rank(); ++k) {
      const auto number = static_cast<int>(axes[k]);
      require(in_[number] <= INT32_MAX, "axis {} is too long to be resized", number);
      const AxisResize axis = axis_resize(in_, out_, scales_, number);
      const Table table = is_nearest ? nearest_table(op_, axis) : interpolation_table(op_, axis);
      ResizedAxis* const before = call_.axes > 0 ? &call_.axis[call_.axes - 1] : nullptr;
      if (table.taps == 0 && before != nullptr && before->taps == 0) {
        before->extent *= out[k];
        before->stride = strides[k];
        continue;
      }
      call_.axis[call_.axes++] = {out[k], strides[k], static_cast<int32_t>(table.taps), nullptr};
      begins.push_back(entries.size());
      entries.insert(entries.end(), table.entries.begin(), table.entries.end());
    }
    if (call_.axes == 0) {
      call_.axis[call_.axes++] = {1, 1, 0, nullptr};
      begins.push_back(0);
    }
    upload(entries, begins, stream);
  }

  void upload(const std::vector<ResizeTap>& entries, const std::vector<size_t>& begins,
              Stream* stream) {
    const size_t bytes = entries.size() * sizeof(ResizeTap);
    if (tables_.bytes() < bytes) tables_ = DeviceBuffer(cuda_device(), bytes);
    cuda_device().copy_in(tables_.data(), entries.data(), bytes, stream);
    check(cudaStreamSynchronize(to_cuda(stream)), "waiting for a copy to the device");
    int interpolated = 0;
    for (int k = 0; k < call_.axes; ++k) {
      if (call_.axis[k].taps == 0) continue;
      call_.axis[k].table =
          static_cast<const ResizeTap*>(tables_.data()) + begins[static_cast<size_t>(k)];
      ++interpolated;
    }
    require(op_.mode == InterpolationMode::kNEAREST || interpolated <= kMaxInterpolated,
            "{} axes are interpolated; at most {} are supported yet", interpolated,
            kMaxInterpolated);
  }

  const Resize& op_;
  bool reads_scales_;
  Shape in_, out_;
  Layout layout_;
  DataType type_;
  std::vector<float> scales_;
  DeviceBuffer tables_;
  ResizeCall call_ = {};
};

class ResizeKernel final : public Kernel {
 public:
  ResizeKernel(const Resize& op, Layout layout) : op_(op) {
    input_layouts = {layout};
    output_layouts = {layout};
    input_on_host = {false, true};  // sizes, which the output tells, too, or scales
  }
  std::unique_ptr<Execution> prepare(std::span<const TensorSpec> inputs,
                                     std::span<const TensorSpec> outputs) const override {
    return std::make_unique<ResizeExecution>(op_, inputs, outputs[0]);
  }

 private:
  Resize op_;
};

int count_resized(const Resize& op, const KernelRequest& request) {
  const Shape &in = request.inputs[0].shape, &out = request.outputs[0].shape;
  int count = 0;
  for (int axis = 0; axis < in.rank(); ++axis)
    count +=
        in[axis] != out[axis] || (!op.scales.empty() && op.scales[static_cast<size_t>(axis)] != 1);
  return count;
}

std::string refusal(const KernelRequest& request) {
  const auto& op = static_cast<const Resize&>(request.op);
  const DataType type = request.inputs[0].type;
  if (static_cast<PrivateCoordinates>(op.coordinates) == PrivateCoordinates::kTfCropAndResize)
    return "a region of interest is not supported";
  if (request.inputs.size() > 3 && request.inputs[3].present)
    return "scales that only running tells are not supported";
  if (bits_of(type) < 8) return "elements narrower than a byte are not supported";
  if (op.mode != InterpolationMode::kNEAREST && !is_real_type(type))
    return "elements of this type are not interpolated";
  return "";
}

}  // namespace

Offer offer_resize(const KernelRequest& request) {
  const auto& op = static_cast<const Resize&>(request.op);
  if (std::string reason = refusal(request); !reason.empty()) return reason;
  if (op.mode != InterpolationMode::kNEAREST && count_resized(op, request) > kMaxInterpolated)
    return "only three axes are interpolated";
  return std::make_unique<ResizeKernel>(op, request.inputs[0].layout);
}

Offer load_resize(const KernelRequest& request, const StoredKernel&) {
  const auto& op = static_cast<const Resize&>(request.op);
  if (std::string reason = refusal(request); !reason.empty()) return reason;
  return std::make_unique<ResizeKernel>(op, request.inputs[0].layout);
}

}  // namespace tenon::cuda
