// Convolution of few output channels over data in blocks of channels: vectors of channels are
// multiplied where they lie, and their lanes summed at the end, so that no output channel is filled
// up to a vector. Only windows that reach into the padding, and the last of a row, are copied.
#include <algorithm>

#include "base/parallel.h"
#include "cpu/convolution/block_convolution.h"
#include "cpu/convolution/direct_panels.h"

namespace tenon::cpu {
namespace {

const DotKernels& dot_loops() {
  return simd_kernels().dot;
}

class DotExecution final : public BlockExecution {
 public:
  DotExecution(const Convolution& op, const DirectWeights& weights,
               std::span<const TensorSpec> inputs, const TensorSpec& output)
      : BlockExecution({}, {}, output), weights_(weights), epilogue_(op.epilogue, inputs, output) {
    const Shape &data = inputs[0].shape, &result = output.shape;
    const auto windows = convolution_windows(op, inputs, result);
    vertical_ = windows[0];
    horizontal_ = windows[1];
    for (const Window& w : windows)
      require(std::max({w.reach(), w.pre, w.stride}) <= kMaxReach,
              "only windows, strides and padding of up to {} elements are supported", kMaxReach);
    require(inputs[0].layout == direct_layout() && output.layout == Layout::kLinear,
            "data must lie in blocks of {} channels, and the result in rows", dot_loops().lanes);
    output_channels_ = op.output_channels;
    groups_ = units(data[1], dot_loops().lanes);
    const int64_t taps = groups_ * op.kernel.volume();
    require(weights.bias.count() == padded_channels(output_channels_)
                && weights.weights.count()
                       == Shape({output_channels_, taps, dot_loops().lanes}).volume(),
            "the packed weights do not fit {} vectors under a window and {} output channels", taps,
            output_channels_);
    in_height_ = data[2];
    in_width_ = data[3];
    height_ = result[2];
    width_ = result[3];
    copied_width_ = (dot_loops().pixels - 1) * horizontal_.stride + horizontal_.reach();
    offsets_ = offsets_of(in_height_, in_width_, vertical_.dilation);
    copied_offsets_ = offsets_of(vertical_.kernel, copied_width_, 1);
    form_ = {offsets_.data(),
             taps,
             horizontal_.stride * dot_loops().lanes,
             height_ * width_,
             epilogue_.lower(),
             epilogue_.upper()};
    first_inside_ = std::min(units(horizontal_.pre, horizontal_.stride), width_);
    const int64_t workspace = in_width_ + horizontal_.pre - horizontal_.reach();
    const int64_t end = workspace < 0 ? 0 : std::min(workspace / horizontal_.stride + 1, width_);
    inside_ = std::max<int64_t>(end - first_inside_, 0) / dot_loops().pixels * dot_loops().pixels;
    tasks_ = Partition({.images = data[0], .blocks = width_ == 0 ? 0 : height_});
    const double work = static_cast<double>(data[0] * height_ * width_)
                        * static_cast<double>(weights.weights.count());
    set_tasks(tasks_.count(), work, groups_ * vertical_.kernel * copied_width_ * dot_loops().lanes);
  }

 protected:
  void begin(const RunArguments& arguments, float*) override {
    data_ = static_cast<const float*>(arguments.inputs[0]);
    result_ = static_cast<float*>(arguments.outputs[0]);
    epilogue_.begin(arguments);
  }

  // Some rows of one image, all output channels.
  void run_task(int64_t task, float* workspace) const override {
    const auto t = tasks_[task];
    const int64_t image = t.image;
    for (int64_t y = t.first_block; y < t.end_block; ++y) {
      run_row(image, y, workspace);
      for (int64_t output_channel = 0; output_channel < output_channels_; ++output_channel)
        epilogue_.run(image * output_channels_ + output_channel, y * width_, width_);
    }
  }

 private:
  // Of data, or of a copy, of so many rows and columns, where the rows of a window lie so far
  // apart.
  std::vector<int64_t> offsets_of(int64_t rows, int64_t columns, int64_t apart) const {
    std::vector<int64_t> offsets;
    for (int64_t c = 0; c < groups_; ++c)
      for (int64_t y = 0; y < vertical_.kernel; ++y)
        for (int64_t x = 0; x < horizontal_.kernel; ++x)
          offsets.push_back(((c * rows + y * apart) * columns + x * horizontal_.dilation)
                            * dot_loops().lanes);
    return offsets;
  }

  void run_row(int64_t image, int64_t y, float* workspace) const {
    const int64_t lanes = dot_loops().lanes, top = y * vertical_.stride - vertical_.pre;
    const float* const in = data_ + image * groups_ * in_height_ * in_width_ * lanes;
    float* const out = result_ + (image * output_channels_ * height_ + y) * width_;
    const bool is_inside = top >= 0 && top + vertical_.reach() <= in_height_;
    const int64_t first = is_inside && inside_ > 0 ? first_inside_ : width_;
    run_copies(in, top, 0, first, workspace, out);
    if (first == width_) return;
    const int64_t left = first * horizontal_.stride - horizontal_.pre;
    dot_loops().run(form_, in + (top * in_width_ + left) * lanes, weights_.weights.data<float>(),
                    weights_.bias.data<float>(), output_channels_, inside_, out + first);
    run_copies(in, top, first + inside_, width_, workspace, out);
  }

  // Results [first, end) of a row.
  void run_copies(const float* in, int64_t top, int64_t first, int64_t end, float* workspace,
                  float* out) const {
    DotForm form = form_;
    form.offsets = copied_offsets_.data();
    for (int64_t x = first; x < end; x += dot_loops().pixels) {
      copy(in, top, x * horizontal_.stride - horizontal_.pre, workspace);
      dot_loops().run(form, workspace, weights_.weights.data<float>(), weights_.bias.data<float>(),
                      output_channels_, std::min(end - x, dot_loops().pixels), out + x);
    }
  }

  // What the windows of a block from there on read, with its padding.
  void copy(const float* in, int64_t top, int64_t left, float* to) const {
    const int64_t lanes = dot_loops().lanes;
    const int64_t begin = std::clamp<int64_t>(-left, 0, copied_width_);
    const int64_t end = std::clamp(in_width_ - left, begin, copied_width_);
    for (int64_t c = 0; c < groups_; ++c)
      for (int64_t i = 0; i < vertical_.kernel; ++i, to += copied_width_ * lanes) {
        const int64_t y = top + i * vertical_.dilation;
        if (y < 0 || y >= in_height_ || begin == end) {
          std::fill_n(to, copied_width_ * lanes, 0.f);
          continue;
        }
        std::fill_n(to, begin * lanes, 0.f);
        std::copy_n(in + ((c * in_height_ + y) * in_width_ + left + begin) * lanes,
                    (end - begin) * lanes, to + begin * lanes);
        std::fill_n(to + end * lanes, (copied_width_ - end) * lanes, 0.f);
      }
  }

  DirectWeights weights_;
  BlockedEpilogue epilogue_;
  Window vertical_, horizontal_;
  DotForm form_;
  int64_t output_channels_, groups_, in_height_, in_width_, height_, width_;
  int64_t copied_width_;           // columns under the windows of a block
  int64_t first_inside_, inside_;  // results of a row that no padding is under, in whole blocks
  Partition tasks_;
  std::vector<int64_t> offsets_, copied_offsets_;
  const float* data_ = nullptr;
  float* result_ = nullptr;
};

// In DotKernels's order.
Variant<DirectWeights, std::string> dot_weights(const Convolution& op,
                                                const KernelRequest& request) {
  const int64_t channels = request.inputs[0].shape[1], window = op.kernel.volume();
  const int64_t count = Shape({op.output_channels, channels, window}).volume();
  if (auto reason = refusal_of_constants(request, count, op.output_channels); !reason.empty())
    return reason;
  const int64_t lanes = dot_loops().lanes, together = dot_loops().output_channels;
  const int64_t taps = units(channels, lanes) * window;
  DirectWeights packed = {Tensor(DataType::kFLOAT, {op.output_channels * taps * lanes}),
                          padded_bias(constant_bias(request), op.output_channels)};
  const auto* const from = request.constants[1]->data<float>();
  auto* const to = packed.weights.mutable_data<float>();
  std::fill_n(to, packed.weights.count(), 0.f);
  for (int64_t output_channel = 0; output_channel < op.output_channels; ++output_channel) {
    const int64_t first = output_channel / together * together;
    const int64_t width = std::min(together, op.output_channels - first);
    for (int64_t c = 0; c < channels; ++c)
      for (int64_t k = 0; k < window; ++k) {
        const int64_t tap = c / lanes * window + k;
        to[((first * taps + tap * width) + output_channel - first) * lanes + c % lanes] =
            from[(output_channel * channels + c) * window + k];
      }
  }
  return packed;
}

std::string refusal(const Convolution& op, const KernelRequest& request) {
  if (const std::string reason = refusal_of_planes(op.kernel, request); !reason.empty())
    return reason;
  if (op.groups != 1 || op.output_channels < 1 || op.output_channels > kFewOutputChannels)
    return "only few output channels and group 1 are supported";
  return "";
}

std::unique_ptr<Kernel> make(const Convolution& op, const DirectWeights& weights,
                             const KernelRequest& request) {
  auto kernel = std::make_unique<DirectKernel<Convolution, DotExecution>>(op, weights);
  lie_in(Layout::kLinear, *kernel, request);
  kernel->input_layouts[0] = direct_layout();
  return kernel;
}

}  // namespace

Offer offer_dot_convolution(const KernelRequest& request) {
  const auto& op = static_cast<const Convolution&>(request.op);
  if (const std::string reason = refusal(op, request); !reason.empty()) return reason;
  if (request.inputs[0].shape[1] < dot_loops().lanes / 2) return "too few channels to fill vectors";
  const auto weights = dot_weights(op, request);
  if (const auto* reason = std::get_if<std::string>(&weights)) return *reason;
  return unless_it_copies_much(make(op, std::get<DirectWeights>(weights), request), request);
}

Offer load_dot_convolution(const KernelRequest& request, const StoredKernel& stored) {
  const auto& op = static_cast<const Convolution&>(request.op);
  if (const std::string reason = refusal(op, request); !reason.empty()) return reason;
  return make(op, stored_weights(stored), request);
}

}  // namespace tenon::cpu
