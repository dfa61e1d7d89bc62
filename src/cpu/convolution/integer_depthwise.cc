// Depthwise convolution of 8-bit integers: the windows of a row's pixels are found once, and each
// panel of channels is summed along the row where the data lie, channels last.
#include <fmt/format.h>

#include "base/error.h"
#include "cpu/blocks.h"
#include "cpu/convolution/integer_execution.h"
#include "cpu/kernels.h"
#include "cpu/window.h"

namespace tenon::cpu {
namespace {

using In = IntegerInputs;

// The first channel of a panel. The last one overlaps the one before rather than not be full.
int64_t first_channel(int64_t panel, int64_t channels) {
  const int64_t lanes = byte_product_kernels()->panel_channels;
  return std::min(panel * lanes, std::max<int64_t>(channels - lanes, 0));
}

struct IntegerDepthwiseWeights {
  Tensor panels;  // of kINT8, as 16-bit integers: panel, tap, channel
  Tensor sums;    // as IntegerPanels has them
};

Shape depthwise_panels_shape(const IntegerConvolution& op) {
  const int64_t channels = byte_product_kernels()->panel_channels;
  return {units(op.output_channels, channels), op.kernel.volume(), channels,
          int64_t{sizeof(int16_t)}};
}

IntegerDepthwiseWeights pack(const IntegerConvolution& op, const ConstantWindows& from) {
  IntegerDepthwiseWeights made{Tensor(DataType::kINT8, depthwise_panels_shape(op)), from.sums()};
  auto* to = made.panels.mutable_data<int16_t>();
  const Shape& shape = made.panels.shape();
  for (int64_t panel = 0; panel < shape[0]; ++panel)
    for (int64_t t = 0; t < shape[1]; ++t)
      for (int64_t lane = 0; lane < shape[2]; ++lane) {
        const int64_t m = first_channel(panel, op.output_channels) + lane;
        *to++ = m < op.output_channels
                    ? static_cast<int16_t>(from.weight(m, 0, t / op.kernel[1], t % op.kernel[1]))
                    : int16_t{0};
      }
  return made;
}

class IntegerDepthwiseExecution final : public BlockExecution {
 public:
  IntegerDepthwiseExecution(const IntegerConvolution& op, const IntegerDepthwiseWeights& weights,
                            std::span<const TensorSpec> inputs, const TensorSpec& output)
      : BlockExecution({}, inputs, output),
        weights_(weights),
        results_(op, weights.sums, std::nullopt, inputs),
        in_(inputs[In::kData].shape),
        out_(output.shape),
        channels_(op.output_channels),
        taps_(op.kernel.volume()) {
    check_result(out_, in_[0], channels_);
    require(in_[1] == channels_, "data of {} channels does not fit {} weights", in_[1], channels_);
    const auto windows =
        make_windows(2, op.kernel, op.stride, op.dilation, op.pre_padding, op.post_padding);
    for (int i = 0; i < 2; ++i)
      windows_[i] =
          resolved(windows[static_cast<size_t>(i)], in_[i + 2], out_[i + 2], op.padding_mode);
    const int64_t addresses = out_[3] * taps_ * int64_t{sizeof(const uint8_t*)};
    set_tasks(out_[0] * out_[2], static_cast<double>(out_.volume()) * static_cast<double>(taps_),
              units(addresses, int64_t{sizeof(float)}), units(channels_, int64_t{sizeof(float)}));
  }

 protected:
  void begin(const RunArguments& arguments, float* shared) override {
    data_ = static_cast<const uint8_t*>(arguments.inputs[In::kData]);
    results_.begin(arguments);
    padding_ = reinterpret_cast<uint8_t*>(shared);
    std::fill_n(padding_, channels_, static_cast<uint8_t>(results_.padding() ^ results_.flip()));
  }

  // A row of the result.
  void run_task(int64_t task, float* workspace) const override {
    auto* const addresses = reinterpret_cast<const uint8_t**>(workspace);
    find_taps(task / out_[2], task % out_[2], addresses);
    const ByteProductKernels& kernels = *byte_product_kernels();
    for (int64_t panel = 0; panel < weights_.panels.shape()[0]; ++panel) {
      const int64_t first = first_channel(panel, channels_);
      const auto* weights =
          weights_.panels.data<int16_t>() + panel * taps_ * kernels.panel_channels;
      const ByteTaps taps{addresses, out_[3], taps_, first, results_.flip(), weights};
      results_.of(task * out_[3] * channels_ + first, first, [&](const ByteResult& r, void* out) {
        kernels.depthwise(taps, r, std::min(kernels.panel_channels, channels_ - first), out,
                          channels_);
      });
    }
  }

 private:
  // Where the bytes under each pixel's window lie.
  void find_taps(int64_t image, int64_t y, const uint8_t** to) const {
    const auto source = [](const Window& w, int64_t at, int64_t tap) {
      return at * w.stride - w.pre + tap * w.dilation;
    };
    for (int64_t x = 0; x < out_[3]; ++x)
      for (int64_t i = 0; i < windows_[0].kernel; ++i) {
        const int64_t row = source(windows_[0], y, i);
        for (int64_t j = 0; j < windows_[1].kernel; ++j) {
          const int64_t column = source(windows_[1], x, j);
          const bool is_data = row >= 0 && row < in_[2] && column >= 0 && column < in_[3];
          *to++ =
              is_data ? data_ + ((image * in_[2] + row) * in_[3] + column) * channels_ : padding_;
        }
      }
  }

  const IntegerDepthwiseWeights& weights_;
  IntegerResults results_;
  Shape in_, out_;
  int64_t channels_, taps_;
  Window windows_[2];
  const uint8_t* data_ = nullptr;
  uint8_t* padding_ = nullptr;  // a pixel
};

class IntegerDepthwiseKernel final : public Kernel {
 public:
  IntegerDepthwiseKernel(const IntegerConvolution& op, IntegerDepthwiseWeights weights,
                         const KernelRequest& request)
      : op_(op), weights_(std::move(weights)) {
    take_layouts(*this, op, request);
    packed = {weights_.panels, weights_.sums};
  }

  std::unique_ptr<Execution> prepare(std::span<const TensorSpec> inputs,
                                     std::span<const TensorSpec> outputs) const override {
    return std::make_unique<IntegerDepthwiseExecution>(op_, weights_, inputs, outputs[0]);
  }

 private:
  IntegerConvolution op_;
  IntegerDepthwiseWeights weights_;
};

std::optional<std::string> refusal(const IntegerConvolution& op, const KernelRequest& request) {
  if (byte_product_kernels() == nullptr) return "the processor has no AVX2";
  constexpr int64_t kMaxTaps = 1024;
  const Shape& data = request.inputs[In::kData].shape;
  if (op.kernel.rank() != 2 || data.rank() != 4 || op.groups != op.output_channels
      || data[1] != op.groups || op.groups == 1)
    return "only two spatial axes and a group for each channel are supported";
  if (op.kernel[0] < 1 || op.kernel[1] < 1 || op.kernel[0] > kMaxTaps || op.kernel[1] > kMaxTaps
      || op.kernel.volume() > kMaxTaps)
    return fmt::format("windows of {} are not supported", op.kernel);
  if (op.sum.used || !op.epilogue.empty()) return "sums and epilogues are not supported";
  return std::nullopt;
}

}  // namespace

Offer offer_integer_depthwise(const KernelRequest& request) {
  const auto& op = static_cast<const IntegerConvolution&>(request.op);
  if (auto reason = refusal(op, request)) return std::move(*reason);
  const int64_t taps = op.kernel.volume();
  auto from = ConstantWindows::take(request, {op.output_channels, 1, op.kernel[0], op.kernel[1]},
                                    {taps, taps, op.kernel[1], 1});
  if (auto* reason = std::get_if<std::string>(&from)) return std::move(*reason);
  return std::make_unique<IntegerDepthwiseKernel>(op, pack(op, std::get<ConstantWindows>(from)),
                                                  request);
}

Offer load_integer_depthwise(const KernelRequest& request, const StoredKernel& stored) {
  const auto& op = static_cast<const IntegerConvolution&>(request.op);
  if (auto reason = refusal(op, request)) return std::move(*reason);
  const auto& packed = stored.packed;
  require(packed.size() == 2 && packed[0].type() == DataType::kINT8
              && packed[0].shape() == depthwise_panels_shape(op)
              && packed[1].type() == DataType::kINT32
              && packed[1].shape() == Shape({2, op.output_channels}),
          "stored weights do not fit {} channels and windows of {}", op.output_channels, op.kernel);
  return std::make_unique<IntegerDepthwiseKernel>(op, IntegerDepthwiseWeights{packed[0], packed[1]},
                                                  request);
}

}  // namespace tenon::cpu
