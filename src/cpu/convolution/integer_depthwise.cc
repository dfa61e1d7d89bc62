// Depthwise convolution of 8-bit integers: the windows of a row's pixels are found once, and each
// panel of channels is summed along the row where the data lie, channels last.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "cpu/blocks.h"
#include "cpu/convolution/copied_axis.h"
#include "cpu/convolution/integer_execution.h"
#include "cpu/kernels.h"

namespace tenon::cpu {
namespace {

using In = QuantizedInputs;

// The channels of a panel.
struct DepthwiseChannels {
  int64_t first, count;
};
// The last one overlaps the one before rather than not fill half a panel, or all of it.
DepthwiseChannels channels_of(const ByteDepthwise& sums, int64_t panel, int64_t channels) {
  const int64_t all = sums.panel_channels, left = channels - panel * all;
  const int64_t count = std::min(left <= all / 2 ? all / 2 : all, channels);
  return {std::min(panel * all, channels - count), count};
}

/// Columns of a window are groups of taps, as many as its rows fill.
int64_t column_groups(const ByteDepthwise& sums, const QuantizedConvolution& op) {
  return units(op.kernel[0], sums.taps);
}

struct IntegerDepthwiseWeights {
  const ByteDepthwise* by;
  Tensor panels;  // of kINT8: panel, column and group of the window, channel, tap, byte
  Tensor sums;    // as IntegerPanels has them
};

Shape depthwise_panels_shape(const ByteDepthwise& by, const QuantizedConvolution& op) {
  return {units(op.output_channels, by.panel_channels), op.kernel[1] * column_groups(by, op),
          by.panel_channels, by.taps, by.element_bytes};
}

IntegerDepthwiseWeights pack(const ByteDepthwise& by, const QuantizedConvolution& op,
                             const ConstantWindows& from) {
  IntegerDepthwiseWeights made{&by, Tensor(DataType::kINT8, depthwise_panels_shape(by, op)),
                               from.sums()};
  const Shape& shape = made.panels.shape();
  auto* to = made.panels.mutable_data<int8_t>();
  std::fill_n(to, made.panels.count(), int8_t{0});
  const int64_t each = column_groups(by, op), group_bytes = shape.volume(2, shape.rank());
  for (int64_t panel = 0; panel < shape[0]; ++panel) {
    const auto [first, count] = channels_of(by, panel, op.output_channels);
    for (int64_t group = 0; group < shape[1]; ++group, to += group_bytes)
      for (int64_t c = 0; c < count; ++c)
        for (int64_t tap = 0; tap < by.taps; ++tap) {
          const int64_t row = group % each * by.taps + tap;
          if (row >= op.kernel[0]) break;
          // Little-endian: its first bytes are the element.
          const int32_t weight = from.weight(first + c, 0, row, group / each);
          std::memcpy(to + (by.place(c, count) * by.taps + tap) * by.element_bytes, &weight,
                      static_cast<size_t>(by.element_bytes));
        }
  }
  return made;
}

class IntegerDepthwiseExecution final : public BlockExecution {
 public:
  IntegerDepthwiseExecution(const QuantizedConvolution& op, const IntegerDepthwiseWeights& weights,
                            std::span<const TensorSpec> inputs, const TensorSpec& output)
      : BlockExecution({}, inputs, output),
        weights_(weights),
        results_(op, weights.sums, std::nullopt, inputs),
        in_(inputs[In::kData].shape),
        out_(output.shape),
        channels_(op.output_channels) {
    check_result(out_, in_[0], channels_);
    require(in_[1] == channels_, "data of {} channels does not fit {} weights", in_[1], channels_);
    const auto windows =
        make_windows(2, op.kernel, op.stride, op.dilation, op.pre_padding, op.post_padding);
    const auto axis = [&](int i) {
      return CopiedAxis{
          resolved(windows[static_cast<size_t>(i)], in_[i + 2], out_[i + 2], op.padding_mode),
          in_[i + 2], out_[i + 2]};
    };
    vertical_ = axis(0);
    horizontal_ = axis(1);
    column_taps_ = column_groups(*weights_.by, op) * weights_.by->taps;
    for (int64_t at = 0; out_[3] > 0 && at < horizontal_.elements(out_[3]); ++at) {
      const int64_t column = horizontal_.source(0, at);
      columns_.push_back(column >= 0 && column < in_[3] ? column * channels_ : kPadding);
    }
    const int64_t addresses = static_cast<int64_t>(columns_.size()) * column_taps_;
    set_tasks(out_[0] * out_[2],
              static_cast<double>(out_.volume()) * static_cast<double>(op.kernel.volume()),
              units(addresses * int64_t{sizeof(const uint8_t*)}, int64_t{sizeof(float)}),
              units(channels_, int64_t{sizeof(float)}));
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
    const ByteDepthwise& by = *weights_.by;
    const Shape& panels = weights_.panels.shape();
    const auto* weights = weights_.panels.data<int8_t>();
    for (int64_t panel = 0; panel < panels[0];
         ++panel, weights += panels.volume(1, panels.rank())) {
      const auto [first, count] = channels_of(by, panel, channels_);
      const ByteTaps taps{
          addresses, out_[3],         panels[1], horizontal_.step() * column_taps_ / by.taps,
          first,     results_.flip(), weights};
      results_.of(task * out_[3] * channels_ + first, first,
                  [&, count = count](const ByteResult& r, void* out) {
                    by.sum(taps, r, count, out, channels_);
                  });
    }
  }

 private:
  // Where the bytes under each pixel's window lie, column by column. What fills a group up is
  // padding, too.
  void find_taps(int64_t image, int64_t y, const uint8_t** to) const {
    const Window& w = vertical_.window;
    const int64_t columns = static_cast<int64_t>(columns_.size());
    for (int64_t tap = 0; tap < column_taps_; ++tap, ++to) {
      const int64_t row = y * w.stride - w.pre + tap * w.dilation;
      const bool is_inside = tap < w.kernel && row >= 0 && row < in_[2];
      const uint8_t* const first =
          is_inside ? data_ + (image * in_[2] + row) * in_[3] * channels_ : padding_;
      for (int64_t at = 0; at < columns; ++at) {
        const int64_t column = columns_[static_cast<size_t>(at)];
        to[at * column_taps_] = is_inside && column != kPadding ? first + column : padding_;
      }
    }
  }

  static constexpr int64_t kPadding = -1;

  const IntegerDepthwiseWeights& weights_;
  IntegerResults results_;
  Shape in_, out_;
  int64_t channels_, column_taps_ = 0;
  CopiedAxis vertical_, horizontal_;
  std::vector<int64_t> columns_;  // where each begins in its row, or that it is padding
  const uint8_t* data_ = nullptr;
  uint8_t* padding_ = nullptr;  // a pixel
};

class IntegerDepthwiseKernel final : public Kernel {
 public:
  IntegerDepthwiseKernel(const QuantizedConvolution& op, IntegerDepthwiseWeights weights,
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
  QuantizedConvolution op_;
  IntegerDepthwiseWeights weights_;
};

std::optional<std::string> refusal(const QuantizedConvolution& op, const KernelRequest& request) {
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
  const auto& op = static_cast<const QuantizedConvolution&>(request.op);
  if (auto reason = refusal(op, request)) return std::move(*reason);
  const int64_t taps = op.kernel.volume();
  auto taken = ConstantWindows::take(request, {op.output_channels, 1, op.kernel[0], op.kernel[1]},
                                     {taps, taps, op.kernel[1], 1});
  if (auto* reason = std::get_if<std::string>(&taken)) return std::move(*reason);
  const auto& from = std::get<ConstantWindows>(taken);
  const ByteProductKernels& kernels = *byte_product_kernels();
  const ByteDepthwise& by = from.are_bytes() ? kernels.int8->depthwise : kernels.depthwise;
  return std::make_unique<IntegerDepthwiseKernel>(op, pack(by, op, from), request);
}

Offer load_integer_depthwise(const KernelRequest& request, const StoredKernel& stored) {
  const auto& op = static_cast<const QuantizedConvolution&>(request.op);
  if (auto reason = refusal(op, request)) return std::move(*reason);
  const auto& packed = stored.packed;
  const ByteProductKernels& kernels = *byte_product_kernels();
  for (const ByteDepthwise* by : {&kernels.depthwise, &kernels.int8->depthwise})
    if (packed.size() == 2 && packed[0].type() == DataType::kINT8
        && packed[0].shape() == depthwise_panels_shape(*by, op)
        && packed[1].type() == DataType::kINT32
        && packed[1].shape() == Shape({2, op.output_channels}))
      return std::make_unique<IntegerDepthwiseKernel>(
          op, IntegerDepthwiseWeights{by, packed[0], packed[1]}, request);
  fail(ErrorCode::kINVALID_ARGUMENT, "stored weights do not fit {} channels and windows of {}",
       op.output_channels, op.kernel);
}

}  // namespace tenon::cpu
