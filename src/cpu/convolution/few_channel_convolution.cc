// Convolution of few output channels, or few input channels, along rows: each result is a sum of
// shifted rows, so nothing is gathered and no output channel is filled up to a vector. For step 1
// along rows.
#include "base/parallel.h"
#include "cpu/convolution/block_convolution.h"
#include "cpu/window.h"

namespace tenon::cpu {
namespace {

/// Rows of the result that are not divided, since each task pads what its windows read.
constexpr int64_t kBlockRows = 4;
/// Channels, and elements of a row, of a tile that is turned at a time.
constexpr int64_t kTurned = 8;

class FewChannelConvolution final : public BlockConvolution {
 public:
  FewChannelConvolution(const Convolution& op, std::span<const TensorSpec> inputs,
                        const TensorSpec& output)
      : BlockConvolution(op, inputs, output) {
    const Shape& data = inputs[0].shape;
    const Shape& result = output.shape;
    const auto windows = convolution_windows(op, inputs, result);
    for (const Window& w : windows)
      require(w.reach() <= kMaxReach, "only windows that reach up to {} elements are supported",
              kMaxReach);
    vertical_ = windows[0];
    horizontal_ = windows[1];
    require(horizontal_.stride == 1, "only a stride of 1 along rows is supported");
    lanes_ = channel_block(inputs[0].layout);
    channels_ = data[1];
    planes_ = units(channels_, lanes_) * lanes_;
    output_channels_ = op.output_channels;
    in_height_ = data[2];
    in_width_ = data[3];
    height_ = result[2];
    width_ = result[3];
    // What the windows of a row read, no less than the row itself.
    padded_ = std::max(width_ + horizontal_.reach() - 1, in_width_ + horizontal_.pre);
    split(data[0]);
  }

 protected:
  // Some rows of one image, all output channels.
  void run_task(int64_t task, float* workspace) const override {
    const auto t = tasks_[task];
    const int64_t image = t.image, first = t.first_block * kBlockRows;
    const int64_t count = std::min(t.end_block * kBlockRows, height_) - first;
    pad(data_ + image * planes_ * in_height_ * in_width_, first * vertical_.stride - vertical_.pre,
        workspace);
    for (int64_t row = 0; row < count; ++row) {
      float* to = out_ + (image * output_channels_ * height_ + first + row) * width_;
      const int64_t step = height_ * width_;
      for (int64_t output_channel = 0; output_channel < output_channels_; ++output_channel)
        std::fill_n(to + output_channel * step, width_,
                    bias_ != nullptr ? bias_[output_channel] : 0.f);
      const auto taps = static_cast<int64_t>(offsets_.size());
      simd_.correlate(workspace + row * vertical_.stride * padded_, offsets_.data(), weights_, taps,
                      taps, output_channels_, to, step, width_);
    }
  }

 private:
  // Into blocks of rows, each with its rows of input in padded form: channel, row, column.
  void split(int64_t batch) {
    const auto rows_of = [&](int64_t rows) {
      return (rows - 1) * vertical_.stride + vertical_.reach();
    };
    const auto floats = [&](int64_t rows) {
      return channels_ * rows_of(rows) * padded_ + kCorrelateSlack;
    };
    const int64_t taps = channels_ * vertical_.kernel * horizontal_.kernel;
    tasks_ =
        Partition({.images = batch,
                   .blocks = units(height_, kBlockRows),
                   .products = static_cast<double>(kBlockRows * output_channels_ * width_ * taps),
                   .block_bytes = kBlockRows * vertical_.stride * channels_ * padded_
                                  * int64_t{sizeof(float)}});
    const int64_t rows = std::max<int64_t>(tasks_.blocks(), 1) * kBlockRows;
    in_rows_ = rows_of(rows);
    for (int64_t c = 0; c < channels_; ++c)
      for (int64_t y = 0; y < vertical_.kernel; ++y)
        for (int64_t x = 0; x < horizontal_.kernel; ++x)
          offsets_.push_back((c * in_rows_ + y * vertical_.dilation) * padded_
                             + x * horizontal_.dilation);
    const double work = static_cast<double>(batch * output_channels_ * height_ * width_)
                        * static_cast<double>(offsets_.size());
    set_tasks(tasks_.count(), work, floats(rows));
  }

  void pad(const float* image, int64_t top, float* to) const {
    const int64_t pre = horizontal_.pre;
    for (int64_t c = 0; c < channels_; ++c)
      for (int64_t i = 0; i < in_rows_; ++i) {
        float* row = to + (c * in_rows_ + i) * padded_;
        const int64_t y = top + i;
        if (y < 0 || y >= in_height_) {
          std::fill_n(row, padded_, 0.f);
          continue;
        }
        std::fill_n(row, pre, 0.f);
        if (lanes_ == 1)
          std::copy_n(image + (c * in_height_ + y) * in_width_, in_width_, row + pre);
        else if (c % kTurned == 0)
          turn(image, c, y, row + pre);
        std::fill_n(row + pre + in_width_, padded_ - pre - in_width_, 0.f);
      }
    std::fill_n(to + channels_ * in_rows_ * padded_, kCorrelateSlack, 0.f);
  }

  // Row y of some channels that lie in a block, each to a row of its own.
  void turn(const float* image, int64_t channel, int64_t y, float* row) const {
    const float* from =
        image + (channel / lanes_ * in_height_ + y) * in_width_ * lanes_ + channel % lanes_;
    const int64_t step = in_rows_ * padded_, count = std::min(kTurned, channels_ - channel);
    int64_t x = 0;
    for (; count == kTurned && x + kTurned <= in_width_; x += kTurned)
      simd_.turn(reinterpret_cast<const uint32_t*>(from + x * lanes_), lanes_,
                 reinterpret_cast<uint32_t*>(row + x), step);
    for (; x < in_width_; ++x)
      for (int64_t i = 0; i < count; ++i) row[i * step + x] = from[x * lanes_ + i];
  }

  Window vertical_, horizontal_;
  int64_t channels_, output_channels_, in_height_, in_width_, height_, width_;
  int64_t lanes_, planes_;  // channels of a block; of an image, whole blocks
  int64_t padded_;          // width of a padded row
  Partition tasks_;
  int64_t in_rows_ = 1;           // input of a task
  std::vector<int64_t> offsets_;  // of the elements under a window, from its first
};

}  // namespace

Offer offer_few_channel_convolution(const KernelRequest& request) {
  const auto& op = static_cast<const Convolution&>(request.op);
  if (op.kernel.rank() != 2 || op.groups != 1)
    return "only two spatial axes and group 1 are supported";
  const Shape& data = request.inputs[0].shape;
  if (op.output_channels > kFewOutputChannels && (data.rank() < 2 || data[1] > kFewChannels))
    return "only few input or few output channels are supported";
  Offer offer = offer_block_convolution<FewChannelConvolution>(request);
  // Data may arrive in blocks of channels: rows are copied once in any case.
  if (auto* kernel = std::get_if<std::unique_ptr<Kernel>>(&offer))
    if (const Layout layout = request.inputs[0].layout; channel_block(layout) > 1) {
      (*kernel)->input_layouts.assign(request.inputs.size(), Layout::kLinear);
      (*kernel)->input_layouts[0] = layout;
    }
  return offer;
}

}  // namespace tenon::cpu
