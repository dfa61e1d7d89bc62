// Deconvolution whose windows do not overlap (the kernel is as large as the stride), in blocks of
// channels: for each place in the window a product, whose results are every so many pixels.
#include <algorithm>

#include "base/error.h"
#include "base/parallel.h"
#include "cpu/blocked_epilogue.h"
#include "cpu/convolution/block_convolution.h"
#include "cpu/convolution/direct_panels.h"
#include "cpu/kernels.h"
#include "ops/deconvolution.h"

namespace tenon::cpu {
namespace {

class DirectDeconvolution final : public BlockExecution {
 public:
  DirectDeconvolution(const Deconvolution& op, const DirectWeights& weights,
                      std::span<const TensorSpec> inputs, const TensorSpec& output)
      : BlockExecution({}, {}, output),
        weights_(weights),
        epilogue_(op.epilogue, inputs, output),
        down_(op.kernel[0]),
        right_(op.kernel[1]) {
    const Shape& data = inputs[0].shape;
    const Shape& result = output.shape;
    require(data.rank() == 4 && result.rank() == 4 && result[0] == data[0]
                && result[1] == op.output_channels,
            "shapes {} of X and {} of Y do not fit kernel_shape, strides, pads and dilations", data,
            result);
    require(result[2] == data[2] * down_ && result[3] == data[3] * right_,
            "only results of {}x{} pixels for each of the data are supported", down_, right_);
    require(inputs[0].layout == direct_layout() && output.layout == direct_layout(),
            "data and result must lie in blocks of {} channels", direct_loops().lanes);
    channels_ = data[1];
    height_ = data[2];
    width_ = data[3];
    vectors_ = units(result[1], direct_loops().lanes);
    require(weights_.fit(result[1], Shape({channels_, down_, right_}).volume()),
            "the packed weights do not fit {} channels and {} output channels", channels_,
            result[1]);
    const int64_t lanes = direct_loops().lanes, plane = height_ * width_;
    for (int64_t c = 0; c < channels_; ++c)
      offsets_.push_back(c / lanes * plane * lanes + c % lanes);
    form_ = {
        offsets_.data(),   channels_,        lanes, result[2] * result[3] * lanes, right_ * lanes,
        epilogue_.lower(), epilogue_.upper()};
    split(data[0]);
  }

 protected:
  void begin(const RunArguments& arguments, float*) override {
    data_ = static_cast<const float*>(arguments.inputs[0]);
    result_ = static_cast<float*>(arguments.outputs[0]);
    epilogue_.begin(arguments);
  }

  // Some output channels for some rows of the data of one image. The weights of a panel stay near
  // while rows pass by.
  void run_task(int64_t task, float*) const override {
    const auto [image, first, end, first_vector, last] = tasks_[task];
    for (int64_t v = first_vector; v < last; v += kPanelVectors)
      for (int64_t row = first; row < end; ++row)
        run_row(image, v, std::min(kPanelVectors, last - v), row);
  }

 private:
  void split(int64_t images) {
    tasks_ = Partition(direct_work(images, height_, width_, width_ * channels_, vectors_,
                                   channels_ * down_ * right_));
    set_tasks(tasks_.count(),
              static_cast<double>(images * height_ * width_)
                  * static_cast<double>(weights_.weights.count()),
              0);
  }

  // Blocks of the result are counted through all images.
  void run_row(int64_t image, int64_t vector, int64_t vectors, int64_t row) const {
    const int64_t lanes = direct_loops().lanes, output_channel = vector * lanes;
    const int64_t pixels = width_ * right_;  // of a row of the result
    const float* in = data_ + (image * units(channels_, lanes) * height_ + row) * width_ * lanes;
    const float* const first = weights_.panel(output_channel, channels_);
    float* out =
        result_ + (image * vectors_ + vector) * form_.out_step + row * down_ * pixels * lanes;
    const int64_t width = weights_.width_of(output_channel), places = down_ * right_;
    for (int64_t place = 0; place < places; ++place) {
      const auto weights_of = [&](int64_t p) {
        return first + p * weights_.bias.count() * channels_;
      };
      const float *const weights = weights_of(place), *next = weights_of((place + 1) % places);
      direct_loops().run(form_, in, weights, width, {next, width * channels_},
                         weights_.bias_of(output_channel), vectors, {width_},
                         out + (place / right_ * pixels + place % right_) * lanes);
    }
    for (int64_t v = vector; v < vector + vectors; ++v)
      epilogue_.run(image * vectors_ + v, row * down_ * pixels, down_ * pixels);
  }

  DirectWeights weights_;
  BlockedEpilogue epilogue_;
  int64_t down_, right_;  // pixels of the result for each of the data
  DirectForm form_;
  std::vector<int64_t> offsets_;
  Partition tasks_;                    // a block is what a row of the data gives
  int64_t channels_, height_, width_;  // of the data
  int64_t vectors_;                    // of the result's output channels
  const float* data_ = nullptr;
  float* result_ = nullptr;
};

std::string refusal(const Deconvolution& op, const KernelRequest& request) {
  if (const std::string reason = refusal_of_planes(op.kernel, request); !reason.empty())
    return reason;
  const Shape& data = request.inputs[0].shape;
  if (op.groups != 1 || op.output_channels < 1 || data[1] < 1)
    return "only group 1 and static channels are supported";
  const auto all = [](const Shape& shape, int64_t value) {
    return std::all_of(shape.begin(), shape.end(), [&](int64_t e) { return e == value; });
  };
  if (!(op.kernel == op.stride) || !all(op.dilation, 1))
    return "windows that overlap, or leave gaps, are not supported";
  if (!all(op.pre_padding, 0) || !all(op.post_padding, 0) || !all(op.output_padding, 0))
    return "padding is not supported";
  return "";
}

std::unique_ptr<Kernel> make(const Deconvolution& op, const DirectWeights& packed,
                             const KernelRequest& request) {
  auto kernel = std::make_unique<DirectKernel<Deconvolution, DirectDeconvolution>>(op, packed);
  lie_in(direct_layout(), *kernel, request);
  return kernel;
}

}  // namespace

Offer offer_direct_deconvolution(const KernelRequest& request) {
  const auto& op = static_cast<const Deconvolution&>(request.op);
  if (const std::string reason = refusal(op, request); !reason.empty()) return reason;
  const int64_t channels = request.inputs[0].shape[1], window = op.kernel.volume();
  const int64_t count = Shape({channels, op.output_channels, window}).volume();
  if (const auto reason = refusal_of_constants(request, count, op.output_channels); !reason.empty())
    return reason;
  const int64_t floats = padded_channels(op.output_channels) * channels;
  DirectWeights packed;
  packed.weights = make_panels(op.output_channels, channels * window);
  for (int64_t place = 0; place < window; ++place)
    write_panels(request.constants[1]->data<float>() + place, {window, op.output_channels * window},
                 op.output_channels, channels,
                 packed.weights.mutable_data<float>() + place * floats);
  packed.bias = padded_bias(constant_bias(request), op.output_channels);
  return make(op, packed, request);
}

Offer load_direct_deconvolution(const KernelRequest& request, const StoredKernel& stored) {
  const auto& op = static_cast<const Deconvolution&>(request.op);
  if (const std::string reason = refusal(op, request); !reason.empty()) return reason;
  return make(op, stored_weights(stored), request);
}

}  // namespace tenon::cpu
