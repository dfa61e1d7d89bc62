// Convolution as a matrix product: weights times windows, whose elements are gathered for a block
// of output pixels at a time. For shapes that the library has no quick code for.
#include "ops/convolution.h"

#include <algorithm>

#include "base/error.h"
#include "base/parallel.h"
#include "target/cpu/blocks.h"
#include "target/cpu/kernels.h"
#include "target/cpu/window.h"

namespace tenon::cpu {
namespace {

constexpr int kAxes = 3;

/// Windows over three axes, the first of which may be ones.
struct Geometry {
  int64_t in[kAxes], out[kAxes];
  Window windows[kAxes];

  Geometry(const std::vector<Window>& given, const Shape& data, const Shape& result) {
    std::fill_n(in, kAxes, 1);
    std::fill_n(out, kAxes, 1);
    const size_t added = kAxes - given.size();
    for (size_t i = 0; i < given.size(); ++i) {
      windows[added + i] = given[i];
      in[added + i] = data[static_cast<int>(i)];
      out[added + i] = result[static_cast<int>(i)];
    }
  }
  int64_t plane() const { return in[0] * in[1] * in[2]; }
  int64_t pixels() const { return out[0] * out[1] * out[2]; }
};

/// A few output pixels side by side, and where they go in a panel.
struct Run {
  int64_t z, y, x, count, lane;
};

/// The elements under one place of the windows of a run: `count` lanes, of which those from `low`
/// to `high` read data from `offset` on, and the others padding.
struct Line {
  int64_t offset, step, low, high, count;

  void copy(const float* plane, float* to) const {
    std::fill(to, to + low, 0.f);
    const float* from = plane + offset;
    if (step == 1)
      std::copy(from + low, from + high, to + low);
    else
      for (int64_t i = low; i < high; ++i) to[i] = from[i * step];
    std::fill(to + high, to + count, 0.f);
  }
};

/// The place (kz, ky, kx) of the windows of a run.
Line line_of(const Geometry& g, const Run& run, int64_t kz, int64_t ky, int64_t kx) {
  const auto at = [&](int axis, int64_t pixel, int64_t k) {
    const Window& w = g.windows[axis];
    return pixel * w.stride - w.pre + k * w.dilation;
  };
  const int64_t z = at(0, run.z, kz), y = at(1, run.y, ky), x = at(2, run.x, kx);
  const int64_t step = g.windows[2].stride, size = g.in[2];
  Line line{(z * g.in[1] + y) * size + x, step, 0, 0, run.count};
  if (z < 0 || z >= g.in[0] || y < 0 || y >= g.in[1] || x >= size) return line;
  line.high = std::min(run.count,
                       x + (run.count - 1) * step < size ? run.count : (size - 1 - x) / step + 1);
  line.low = x >= 0 ? 0 : std::min(line.high, (step - 1 - x) / step);
  return line;
}

class ConvolutionExecution final : public BlockExecution {
 public:
  ConvolutionExecution(const Convolution& op, std::span<const TensorSpec> inputs,
                       const TensorSpec& output)
      : BlockExecution(op.epilogue, inputs, output),
        simd_(simd_kernels()),
        geometry_(windows_of(op, inputs, output.shape), spatial_of(inputs[0].shape),
                  spatial_of(output.shape)) {
    const Shape& data = inputs[0].shape;
    batch_ = data[0];
    groups_ = op.groups;
    channels_ = data[1] / groups_;
    maps_ = op.output_maps / groups_;
    window_ = op.kernel.volume();
    pixels_ = geometry_.pixels();
    require(inputs[1].shape.volume() == Shape({op.output_maps, channels_, window_}).volume(),
            "weights of shape {}, expected {}x{}x{}", inputs[1].shape, op.output_maps, channels_,
            op.kernel);
    has_bias_ = inputs.size() > 2 && inputs[2].present;
    require(!has_bias_ || inputs[2].shape.volume() == op.output_maps,
            "a bias of shape {}, expected {}", has_bias_ ? inputs[2].shape : Shape{},
            op.output_maps);
    part_ = std::clamp<int64_t>(kBlockDepth / window_, 1, channels_);
    split();
  }

 protected:
  void begin(const RunArguments& arguments, float*) override {
    data_ = static_cast<const float*>(arguments.inputs[0]);
    weights_ = static_cast<const float*>(arguments.inputs[1]);
    bias_ = has_bias_ ? static_cast<const float*>(arguments.inputs[2]) : nullptr;
    out_ = static_cast<float*>(arguments.outputs[0]);
  }

  // Some maps of one group and image, for a block of pixels.
  void run_task(int64_t task, float* room) const override {
    const int64_t first = task % blocks_ * block_, slice = task / blocks_ % slices_;
    const int64_t group = task / blocks_ / slices_ % groups_;
    const int64_t image = task / blocks_ / slices_ / groups_;
    const int64_t columns = std::min(block_, pixels_ - first);
    const int64_t map = group * maps_ + slice * per_slice_;
    const int64_t rows = std::min(per_slice_, maps_ - slice * per_slice_);
    float* const to = out_ + (image * groups_ * maps_ + map) * pixels_ + first;
    for (int64_t r = 0; r < rows; ++r)
      std::fill_n(to + r * pixels_, columns, bias_ != nullptr ? bias_[map + r] : 0.f);
    const int64_t depth = channels_ * window_;
    for (int64_t c = 0; c < channels_; c += part_) {
      const int64_t part = std::min(part_, channels_ - c);
      const float* data = data_ + ((image * groups_ + group) * channels_ + c) * geometry_.plane();
      for (int64_t j = 0; j < columns; j += kProductPanel)
        gather(data, part, first + j, std::min(kProductPanel, columns - j),
               room + j * part * window_);
      simd_.add_product(weights_ + map * depth + c * window_, depth, rows, room, part * window_, to,
                        pixels_, columns);
    }
  }

 private:
  static std::vector<Window> windows_of(const Convolution& op, std::span<const TensorSpec> inputs,
                                        const Shape& result) {
    const Shape& data = inputs[0].shape;
    const int rank = op.kernel.rank() + 2;
    require(data.rank() == rank && result.rank() == rank && data[1] > 0 && data[1] % op.groups == 0
                && result[1] == op.output_maps && result[0] == data[0],
            "shapes {} and {} do not fit the attributes", data, result);
    auto windows = op.windows();
    for (size_t i = 0; i < windows.size(); ++i) {
      const int axis = static_cast<int>(i) + 2;
      windows[i] = resolved(windows[i], data[axis], result[axis], op.padding_mode);
    }
    return windows;
  }

  // Into tasks. Maps are divided only where there are too few blocks, since each gathers again.
  void split() {
    const int64_t depth = part_ * window_, others = batch_ * groups_;
    block_ = pixels_per_block(pixels_, depth, others);
    blocks_ = (pixels_ + block_ - 1) / block_;
    const int64_t wanted = blocks_ * others < thread_count() ? thread_count() : 1;
    per_slice_ = std::max<int64_t>((maps_ + wanted - 1) / wanted, std::min<int64_t>(maps_, 32));
    slices_ = (maps_ + per_slice_ - 1) / per_slice_;
    const double work =
        static_cast<double>(others * maps_ * pixels_) * static_cast<double>(channels_ * window_);
    set_tasks(others * slices_ * blocks_, work, block_ * depth);
  }

  // A panel of the windows of `count` pixels: channel, place in the window, pixel.
  void gather(const float* data, int64_t channels, int64_t first, int64_t count,
              float* panel) const {
    const int64_t plane = geometry_.plane(), width = geometry_.out[2], height = geometry_.out[1];
    if (count < kProductPanel) std::fill_n(panel, channels * window_ * kProductPanel, 0.f);
    for (int64_t lane = 0; lane < count;) {
      const int64_t pixel = first + lane, x = pixel % width;
      const Run run{pixel / width / height, pixel / width % height, x,
                    std::min(count - lane, width - x), lane};
      float* to = panel + lane;
      for (int64_t kz = 0; kz < geometry_.windows[0].kernel; ++kz)
        for (int64_t ky = 0; ky < geometry_.windows[1].kernel; ++ky)
          for (int64_t kx = 0; kx < geometry_.windows[2].kernel; ++kx, to += kProductPanel) {
            const Line line = line_of(geometry_, run, kz, ky, kx);
            for (int64_t c = 0; c < channels; ++c)
              line.copy(data + c * plane, to + c * window_ * kProductPanel);
          }
      lane += run.count;
    }
  }

  const SimdKernels& simd_;
  Geometry geometry_;
  int64_t batch_, groups_, channels_, maps_, window_, pixels_;
  int64_t part_;                        // channels that are multiplied at a time
  int64_t block_ = 1, blocks_ = 0;      // pixels of a block, and how many blocks
  int64_t per_slice_ = 1, slices_ = 1;  // maps of a task, and how many tasks share a block
  bool has_bias_ = false;
  // Of the run that is under way.
  const float *data_ = nullptr, *weights_ = nullptr, *bias_ = nullptr;
  float* out_ = nullptr;
};

class ConvolutionKernel final : public Kernel {
 public:
  explicit ConvolutionKernel(const Convolution& op) : op_(op) {}
  std::unique_ptr<Execution> prepare(std::span<const TensorSpec> inputs,
                                     std::span<const TensorSpec> outputs) const override {
    return std::make_unique<ConvolutionExecution>(op_, inputs, outputs[0]);
  }

 private:
  Convolution op_;
};

}  // namespace

Offer offer_convolution(const KernelRequest& request) {
  const auto& op = static_cast<const Convolution&>(request.op);
  if (!all_of_type(request, DataType::kFLOAT)) return "only float32 is supported";
  if (request.inputs.size() < 2 || !request.inputs[0].present || !request.inputs[1].present)
    return "data or weights are missing";
  if (op.kernel.rank() < 1 || op.kernel.rank() > kAxes)
    return "only one to three spatial axes are supported";
  if (op.groups < 1 || op.output_maps < 1 || op.output_maps % op.groups)
    return "the attributes are inconsistent";
  auto kernel = std::make_unique<ConvolutionKernel>(op);
  try {
    // What does not fit is refused here.
    kernel->prepare(in_rows(request.inputs), in_rows(request.outputs));
  } catch (const Error& e) {
    return e.what();
  }
  return kernel;
}

Offer offer_line_convolution(const KernelRequest& request) {
  const Shape& result = request.outputs[0].shape;
  if (result.rank() < 4 || result.back() != 1 || spatial_of(result).volume() < kProductPanel)
    return "only results with rows of one pixel, and enough of them, are supported";
  return offer_convolution(request);
}

}  // namespace tenon::cpu
