// Convolution as a matrix product: weights times windows, whose elements are gathered for a block
// of output pixels at a time. For shapes that oneDNN has no fast code for.
#include <algorithm>

#include "base/parallel.h"
#include "cpu/convolution/block_convolution.h"
#include "cpu/window.h"

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

/// Images of fewer pixels are taken together.
constexpr int64_t kFewPixels = 4 * kProductPanel;
/// Output channels that are not divided, since each task gathers its windows again.
constexpr int64_t kSlice = 32;

class ConvolutionExecution final : public BlockConvolution {
 public:
  ConvolutionExecution(const Convolution& op, std::span<const TensorSpec> inputs,
                       const TensorSpec& output)
      : BlockConvolution(op, inputs, output),
        geometry_(convolution_windows(op, inputs, output.shape), spatial_of(inputs[0].shape),
                  spatial_of(output.shape)) {
    const Shape& data = inputs[0].shape;
    batch_ = data[0];
    groups_ = op.groups;
    channels_ = data[1] / groups_;
    output_channels_ = op.output_channels / groups_;
    window_ = op.kernel.volume();
    pixels_ = geometry_.pixels();
    part_ = product_depth(channels_ * window_, window_) / window_;
    split();
  }

 protected:
  // Some output channels of one group, for a block of pixels of one image, or of several small
  // ones.
  void run_task(int64_t task, float* workspace) const override {
    const auto t = tasks_[task];
    const int64_t first = t.first_block * kProductPanel, group = t.image % groups_;
    const int64_t image = t.image / groups_ * images_;
    const int64_t columns = std::min(t.end_block * kProductPanel, images_ * pixels_) - first;
    const int64_t output_channel = group * output_channels_ + t.first_column;
    const int64_t rows = t.end_column - t.first_column;
    // The result lies there at once, or first beside the windows.
    float* const to =
        images_ == 1
            ? out_ + (image * groups_ * output_channels_ + output_channel) * pixels_ + first
            : workspace + block_ * part_ * window_;
    const int64_t step = images_ == 1 ? pixels_ : block_;
    for (int64_t r = 0; r < rows; ++r)
      std::fill_n(to + r * step, columns, bias_ != nullptr ? bias_[output_channel + r] : 0.f);
    const int64_t depth = channels_ * window_;
    for (int64_t c = 0; c < channels_; c += part_) {
      const int64_t part = std::min(part_, channels_ - c);
      const float* data = data_ + ((image * groups_ + group) * channels_ + c) * geometry_.plane();
      for (int64_t j = 0; j < columns; j += kProductPanel)
        gather(data, part, first + j, std::min(kProductPanel, columns - j),
               workspace + j * part * window_);
      simd_.add_product(weights_ + output_channel * depth + c * window_, depth, rows, workspace,
                        part * window_, to, step, columns);
    }
    if (images_ > 1) scatter(to, output_channel, rows, first, columns);
  }

 private:
  // Images of a few pixels fill no panel, so all of them are one row of pixels.
  void split() {
    if (pixels_ < kFewPixels) images_ = std::max<int64_t>(batch_, 1);
    const int64_t depth = channels_ * window_, bytes = sizeof(float);
    tasks_ = Partition(
        {.images = batch_ / images_ * groups_,
         .blocks = units(images_ * pixels_, kProductPanel),
         .columns = output_channels_,
         .panel = kSlice,
         .products = static_cast<double>(kProductPanel * kSlice) * static_cast<double>(depth),
         .block_bytes = kProductPanel * depth * bytes,
         .panel_bytes = kSlice * depth * bytes,
         .held_bytes = kProductPanel * part_ * window_ * bytes});
    block_ = tasks_.blocks() * kProductPanel;
    const double work = static_cast<double>(batch_ * groups_ * output_channels_ * pixels_)
                        * static_cast<double>(depth);
    set_tasks(tasks_.count(), work,
              block_ * (part_ * window_ + (images_ > 1 ? tasks_.columns() : 0)));
  }

  // A panel of the windows of `count` pixels: channel, place in the window, pixel.
  void gather(const float* data, int64_t channels, int64_t first, int64_t count,
              float* panel) const {
    const int64_t plane = geometry_.plane(), width = geometry_.out[2], height = geometry_.out[1];
    if (count < kProductPanel) std::fill_n(panel, channels * window_ * kProductPanel, 0.f);
    for (int64_t lane = 0; lane < count;) {
      const float* image = data + (first + lane) / pixels_ * groups_ * channels_ * plane;
      const int64_t pixel = (first + lane) % pixels_, x = pixel % width;
      const Run run{pixel / width / height, pixel / width % height, x,
                    std::min(count - lane, width - x), lane};
      float* to = panel + lane;
      for (int64_t kz = 0; kz < geometry_.windows[0].kernel; ++kz)
        for (int64_t ky = 0; ky < geometry_.windows[1].kernel; ++ky)
          for (int64_t kx = 0; kx < geometry_.windows[2].kernel; ++kx, to += kProductPanel) {
            const Line line = line_of(geometry_, run, kz, ky, kx);
            for (int64_t c = 0; c < channels; ++c)
              line.copy(image + c * plane, to + c * window_ * kProductPanel);
          }
      lane += run.count;
    }
  }

  // Rows of a block of pixels that may span images.
  void scatter(const float* rows, int64_t output_channel, int64_t count, int64_t first,
               int64_t columns) const {
    for (int64_t j = 0; j < columns;) {
      const int64_t pixel = (first + j) % pixels_, run = std::min(columns - j, pixels_ - pixel);
      float* to = out_
                  + ((first + j) / pixels_ * groups_ * output_channels_ + output_channel) * pixels_
                  + pixel;
      for (int64_t r = 0; r < count; ++r) std::copy_n(rows + r * block_ + j, run, to + r * pixels_);
      j += run;
    }
  }

  Geometry geometry_;
  int64_t batch_, groups_, channels_, output_channels_, window_, pixels_;
  int64_t images_ = 1;  // whose pixels make one row of blocks
  int64_t part_;        // channels that are multiplied at a time
  Partition tasks_;
  int64_t block_ = 0;  // the most pixels of a task
};

}  // namespace

Offer offer_convolution(const KernelRequest& request) {
  const auto& op = static_cast<const Convolution&>(request.op);
  if (op.kernel.rank() < 1 || op.kernel.rank() > kAxes)
    return "only one to three spatial axes are supported";
  return offer_block_convolution<ConvolutionExecution>(request);
}

Offer offer_line_convolution(const KernelRequest& request) {
  const Shape& result = request.outputs[0].shape;
  if (result.rank() < 4 || result.back() != 1
      || result[0] * spatial_of(result).volume() < kProductPanel)
    return "only results with rows of one pixel, and enough of them, are supported";
  return offer_convolution(request);
}

}  // namespace tenon::cpu
