// Convolution in bfloat16 over blocks of channels: the data are rounded once into planes in which
// windows that are neighbours lie one after the other, so that each element under the windows of a
// tile of results is a tile of the plane.
#include <algorithm>

#include "cpu/bfloat_weights.h"
#include "cpu/convolution/block_convolution.h"
#include "cpu/convolution/direct_panels.h"

namespace tenon::cpu {
namespace {

/// Pixels that are multiplied together.
constexpr int64_t kBlockPixels = 2 * kBfloatTile;
/// The most elements under a window, and steps.
constexpr int64_t kMaxWindow = 1 << 10;

/// Along an axis: which elements under a window lie in planes of their own, since windows are so
/// far apart, and where in them.
struct Axis {
  int64_t phases, reach;  // planes, and how far elements of a plane are from the window's first

  explicit Axis(const Window& w)
      : phases(std::min(w.stride, w.dilation * (w.kernel - 1) + 1)),
        reach(w.dilation * (w.kernel - 1) / w.stride) {}
};

/// The rounded data of an image: phase, step of channels, row, pixel of the line, channel. A line
/// has the first pixel of each window of a row of results, and what of the last one is behind.
struct Planes {
  int64_t down_phases, right_phases, steps, rows, line;

  Planes(std::span<const Window> windows, int64_t channels, int64_t rows, int64_t row)
      : down_phases(Axis(windows[0]).phases),
        right_phases(Axis(windows[1]).phases),
        steps(bfloat_steps(channels)),
        rows(rows + Axis(windows[0]).reach),
        line(row + Axis(windows[1]).reach) {}

  int64_t lines() const { return down_phases * right_phases * steps * rows; }
  /// In elements. Tiles at the end read beyond the last line.
  int64_t size() const { return (lines() * line + line + kBlockPixels) * kBfloatStep; }
  /// Where the plane of a phase and step begins.
  int64_t plane(int64_t down, int64_t right, int64_t step) const {
    return ((down * right_phases + right) * steps + step) * rows * line * kBfloatStep;
  }
};

class BfloatConvolution final : public BlockExecution {
 public:
  BfloatConvolution(const Convolution& op, const BfloatWeights& weights,
                    std::span<const TensorSpec> inputs, const TensorSpec& output)
      : BlockExecution({}, {}, output),
        kernels_(*bfloat_kernels()),
        weights_(weights),
        epilogue_(op.epilogue, inputs, output, LoopDoes::kSumAndBounds),
        windows_(convolution_windows(op, inputs, output.shape)),
        images_(inputs[0].shape[0]),
        channels_(inputs[0].shape[1]),
        height_(inputs[0].shape[2]),
        width_(inputs[0].shape[3]),
        rows_(output.shape[2]),
        row_(output.shape[3]),
        vectors_(units(output.shape[1], kBfloatTile)),
        planes_(windows_, channels_, rows_, row_) {
    require(inputs[0].layout == Layout::kBlocked16 && output.layout == Layout::kBlocked16,
            "data and result must lie in blocks of 16 channels");
    const int64_t depth = planes_.steps * op.kernel.volume() * kBfloatStep;
    require(weights_.fit(output.shape[1], depth),
            "the packed weights do not fit {} channels and {} output channels", channels_,
            output.shape[1]);
    for (int64_t y = 0; y < windows_[0].kernel; ++y)
      for (int64_t x = 0; x < windows_[1].kernel; ++x) add_offsets(y, x);
    divide(depth);
  }

 protected:
  void begin(const RunArguments& arguments, float* shared) override {
    data_ = static_cast<const float*>(arguments.inputs[0]);
    result_ = static_cast<float*>(arguments.outputs[0]);
    rounded_ = reinterpret_cast<uint16_t*>(shared);
    epilogue_.begin(arguments);
    constexpr int64_t kGrainElements = 1 << 14;
    const int64_t lines = planes_.lines();
    parallel_for(images_ * lines, units(kGrainElements, planes_.line * kBfloatStep),
                 [&](int64_t begin, int64_t end) {
                   for (int64_t i = begin; i < end; ++i) round_line(i / lines, i % lines);
                 });
  }

  // Some output channels of some pixels of one image.
  void run_task(int64_t task, float*) const override {
    const auto t = tasks_[task];
    const int64_t first = t.first_block * kBlockPixels;
    const int64_t end = std::min(t.end_block * kBlockPixels, rows_ * planes_.line);
    const int64_t vectors = t.end_column - t.first_column, next = tasks_.after(task).first_column;
    const int64_t steps = static_cast<int64_t>(offsets_.size()), pixels = rows_ * row_;
    const auto columns_at = [&](int64_t vector) {
      return weights_.columns() + vector * kBfloatTile * kBfloatStep * steps;
    };
    const int64_t line = first / planes_.line, pixel = pixels_before(first);
    const int64_t at = ((t.image * vectors_ + t.first_column) * pixels + line * row_) * kBfloatTile;
    kernels_.product({.first = rounded_ + t.image * planes_.size() + first * kBfloatStep,
                      .rows = end - first,
                      .steps = steps,
                      .offsets = offsets_.data(),
                      .tile_step = kBfloatTile * kBfloatStep,
                      .line = planes_.line,
                      .used = row_,
                      .position = first % planes_.line},
                     {columns_at(t.first_column), vectors * kBfloatTile,
                      next == t.first_column ? nullptr : columns_at(next)},
                     {result_ + at, kBfloatTile, pixels * kBfloatTile,
                      weights_.bias.data<float>() + t.first_column * kBfloatTile,
                      epilogue_.addend() != nullptr ? epilogue_.addend() + at : nullptr,
                      epilogue_.lower(), epilogue_.upper()});
    for (int64_t v = t.first_column; v < t.end_column; ++v)
      epilogue_.run(t.image * vectors_ + v, pixel, pixels_before(end) - pixel);
  }

 private:
  // Of an element under the window, the planes of all channels.
  void add_offsets(int64_t y, int64_t x) {
    const int64_t down = y * windows_[0].dilation, right = x * windows_[1].dilation;
    const int64_t within =
        (down / windows_[0].stride * planes_.line + right / windows_[1].stride) * kBfloatStep;
    for (int64_t step = 0; step < planes_.steps; ++step)
      offsets_.push_back(planes_.plane(down % windows_[0].stride, right % windows_[1].stride, step)
                         + within);
  }

  void divide(int64_t depth) {
    // In floats, two elements each. A task may have more of them near than one of floats.
    const int64_t floats = kBlockPixels * planes_.steps * kBfloatStep / 2;
    tasks_ = Partition(direct_work(images_, units(rows_ * planes_.line, kBlockPixels), kBlockPixels,
                                   floats, vectors_, depth / 2));
    set_tasks(
        tasks_.count(),
        static_cast<double>(images_ * rows_ * row_) * static_cast<double>(weights_.weights.count()),
        0, images_ * planes_.size() / 2);
  }

  // Results of an image that lie before a pixel of its lines.
  int64_t pixels_before(int64_t pixel) const {
    return pixel / planes_.line * row_ + std::min(pixel % planes_.line, row_);
  }

  // One of Planes::lines().
  void round_line(int64_t image, int64_t index) const {
    const int64_t row = index % planes_.rows, plane = index / planes_.rows;
    const int64_t step = plane % planes_.steps, phase = plane / planes_.steps;
    const Window &down = windows_[0], &right = windows_[1];
    const int64_t y = row * down.stride + phase / planes_.right_phases - down.pre;
    const int64_t shift = phase % planes_.right_phases - right.pre;  // of pixel 0
    // Pixels of the line that are none of padding.
    const auto first_from = [&](int64_t x) {
      return std::clamp<int64_t>(units(std::max<int64_t>(x - shift, 0), right.stride), 0,
                                 planes_.line);
    };
    const bool is_padding = y < 0 || y >= height_;
    const int64_t begin = is_padding ? planes_.line : first_from(0);
    const int64_t end = is_padding ? planes_.line : std::max(first_from(width_), begin);
    uint16_t* const to = rounded_ + image * planes_.size() + index * planes_.line * kBfloatStep;
    std::fill_n(to, begin * kBfloatStep, uint16_t{0});
    std::fill_n(to + end * kBfloatStep, (planes_.line - end) * kBfloatStep, uint16_t{0});
    if (begin == end) return;
    const int64_t blocks = units(channels_, kBfloatTile), area = height_ * width_ * kBfloatTile;
    const float* const from = data_ + (image * blocks + 2 * step) * area
                              + (y * width_ + begin * right.stride + shift) * kBfloatTile;
    kernels_.pack_rows({from, right.stride * kBfloatTile, area, end - begin,
                        std::min(kBfloatStep, (blocks - 2 * step) * kBfloatTile)},
                       1, to + begin * kBfloatStep);
  }

  const BfloatKernels& kernels_;
  BfloatWeights weights_;
  BlockedEpilogue epilogue_;
  std::vector<Window> windows_;
  int64_t images_, channels_, height_, width_;  // of the data
  int64_t rows_, row_, vectors_;                // of the result; a row's pixels
  Planes planes_;
  std::vector<int64_t> offsets_;
  Partition tasks_;
  const float* data_ = nullptr;
  float* result_ = nullptr;
  uint16_t* rounded_ = nullptr;
};

// Elements as add_offsets() has them: of the window, step of channels, channel.
BfloatWeights packed(const Convolution& op, int64_t channels, const float* weights,
                     const Tensor* bias) {
  const int64_t window = op.kernel.volume();
  const int64_t padded = bfloat_steps(channels) * kBfloatStep, depth = window * padded;
  std::vector<float> matrix(static_cast<size_t>(op.output_channels * depth), 0.f);
  for (int64_t output_channel = 0; output_channel < op.output_channels; ++output_channel)
    for (int64_t channel = 0; channel < channels; ++channel)
      for (int64_t w = 0; w < window; ++w)
        matrix[static_cast<size_t>(output_channel * depth + w * padded + channel)] = *weights++;
  return bfloat_weights(matrix.data(), true, op.output_channels, depth, bias);
}

std::string refusal(const Convolution& op, const KernelRequest& request) {
  if (auto reason = refusal_of_groups(op, request); !reason.empty()) return reason;
  if (op.kernel.volume() > kMaxWindow) return "only windows of up to 1024 elements are supported";
  return "";
}

std::unique_ptr<Kernel> make(const Convolution& op, const BfloatWeights& weights,
                             const KernelRequest& request) {
  auto kernel = std::make_unique<BfloatKernel<Convolution, BfloatConvolution>>(op, weights);
  lie_in(Layout::kBlocked16, *kernel, request);
  return kernel;
}

}  // namespace

Offer offer_bfloat_convolution(const KernelRequest& request) {
  const auto& op = static_cast<const Convolution&>(request.op);
  if (auto reason = refusal_of_bfloat(request); !reason.empty()) return reason;
  if (auto reason = refusal(op, request); !reason.empty()) return reason;
  const int64_t channels = request.inputs[0].shape[1];
  const int64_t count = Shape({op.output_channels, channels, op.kernel.volume()}).volume();
  if (auto reason = refusal_of_constants(request, count, op.output_channels); !reason.empty())
    return reason;
  const BfloatWeights weights =
      packed(op, channels, request.constants[1]->data<float>(), constant_bias(request));
  return unless_it_copies_much(make(op, weights, request), request);
}

Offer load_bfloat_convolution(const KernelRequest& request, const StoredKernel& stored) {
  const auto& op = static_cast<const Convolution&>(request.op);
  if (auto reason = refusal(op, request); !reason.empty()) return reason;
  return make(op, stored_bfloat_weights(stored), request);
}

}  // namespace tenon::cpu
