// Quantisation by one scale, in the layout in which the data arrives: the reference kernel on the
// elements as they lie. Bytes of pictures, which have few channels, get them last, as convolutions
// of integers read them.
#include "ops/quantize.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "base/parallel.h"
#include "cpu/kernels.h"
#include "cpu/simd/kernels.h"
#include "ops/support/reference.h"

namespace tenon::cpu {
namespace {

class QuantizeExecution final : public Execution {
 public:
  QuantizeExecution(const Op& op, std::span<const TensorSpec> inputs,
                    std::span<const TensorSpec> outputs)
      : op_(op) {
    for (const TensorSpec& s : inputs) inputs_.push_back({nullptr, s.type, s.shape});
    inputs_[0].shape = Shape{inputs[0].shape.volume()};
    output_ = {nullptr, outputs[0].type, inputs_[0].shape};
  }

  void run(const RunArguments& arguments) override {
    for (size_t i = 0; i < inputs_.size(); ++i)
      inputs_[i].data = const_cast<void*>(arguments.inputs[i]);
    output_.data = arguments.outputs[0];
    op_.reference({inputs_, {&output_, 1}});
  }

 private:
  const Op& op_;
  std::vector<TensorView> inputs_;
  TensorView output_;
};

/// Of float32 to bytes: the same results, in the loops of this processor.
class ByteQuantizeExecution final : public Execution {
 public:
  ByteQuantizeExecution(std::span<const TensorSpec> inputs, const TensorSpec& output)
      : count_(output.shape.volume()), to_(output.type) {
    for (const TensorSpec& s : inputs) small_.push_back({nullptr, s.type, s.shape});
    if (output.layout == inputs[0].layout || output.shape[1] < 2) return;
    channels_ = output.shape[1];
    plane_ = output.shape.volume(2, output.shape.rank());
    images_ = output.shape[0];
  }

  void run(const RunArguments& arguments) override {
    const IntegerRange range = integer_range(to_);
    const float scale = number_of(arguments, 1, 1), zero = number_of(arguments, 2, 0);
    const auto* from = static_cast<const float*>(arguments.inputs[0]);
    auto* to = static_cast<uint8_t*>(arguments.outputs[0]);
    const int64_t blocks = (plane_or_all() + kBlock - 1) / kBlock;
    parallel_for(images_ * blocks, std::max<int64_t>(kGrainBlocks / channels_, 1),
                 [&](int64_t begin, int64_t end) {
                   Block block(scale, range, zero);
                   Rows rows;
                   for (int64_t i = begin; i < end; ++i) {
                     const int64_t image = i / blocks, at = i % blocks * kBlock;
                     const int64_t n = std::min(kBlock, plane_or_all() - at);
                     if (channels_ == 1) {
                       block.quantize(from + at, n, to + at);
                       continue;
                     }
                     for (int64_t first = 0; first < channels_; first += kMaxChannels) {
                       const int64_t channels = std::min(kMaxChannels, channels_ - first);
                       for (int64_t c = 0; c < channels; ++c)
                         block.quantize(from + (image * channels_ + first + c) * plane_ + at, n,
                                        rows[c]);
                       put_last(rows, channels, n, to + (image * plane_ + at) * channels_ + first);
                     }
                   }
                 });
  }

  /// So many bytes of a pixel are put at a time.
  static constexpr int64_t kMaxChannels = 4;

 private:
  static constexpr int64_t kBlock = 512, kGrainBlocks = 16;
  using Rows = uint8_t[kMaxChannels][kBlock];

  class Block {
   public:
    Block(float scale, const IntegerRange& range, float zero)
        : low_(static_cast<float>(range.lowest) - zero),
          high_(static_cast<float>(range.highest) - zero),
          zero_(static_cast<int32_t>(zero)) {
      std::fill_n(scales_, kBlock, scale);
    }
    void quantize(const float* from, int64_t n, uint8_t* to) {
      const SimdKernels& simd = simd_kernels();
      const auto divide = simd.element_wise[static_cast<int>(nvinfer1::ElementWiseOperation::kDIV)];
      divide(from, scales_, numbers_, n, 0, 0);
      simd.round_to_bytes(numbers_, low_, high_, zero_, to, n);
    }

   private:
    alignas(64) float numbers_[kBlock], scales_[kBlock];
    float low_, high_;
    int32_t zero_;
  };

  // Of all images where the channels stay where they are.
  int64_t plane_or_all() const { return channels_ == 1 ? count_ : plane_; }

  // Some channels of n pixels, from a row for each channel.
  void put_last(const Rows& rows, int64_t channels, int64_t n, uint8_t* to) const {
    if (channels_ == 2) return put_whole<2>(rows, n, to);
    if (channels_ == 3) return simd_kernels().interleave_three(rows[0], kBlock, n, to);
    if (channels_ == 4) return put_whole<4>(rows, n, to);
    for (int64_t c = 0; c < channels; ++c)
      for (int64_t p = 0; p < n; ++p) to[p * channels_ + c] = rows[c][p];
  }

  // Whole pixels, a word each: what it has too much is the next one's place.
  template <size_t kChannels> static void put_whole(const Rows& rows, int64_t n, uint8_t* to) {
    const auto pixel = [&](int64_t p) {
      uint32_t word = 0;
      for (size_t c = 0; c < kChannels; ++c) word |= uint32_t{rows[c][p]} << (8 * c);
      return word;
    };
    for (int64_t p = 0; p + 1 < n; ++p, to += kChannels) {
      const uint32_t word = pixel(p);
      std::memcpy(to, &word, sizeof word);
    }
    const uint32_t last = pixel(n - 1);  // little-endian: its first bytes are the first channels
    std::memcpy(to, &last, kChannels);
  }

  float number_of(const RunArguments& arguments, size_t i, float otherwise) const {
    if (i >= small_.size() || arguments.inputs[i] == nullptr) return otherwise;
    TensorView view = small_[i];
    view.data = const_cast<void*>(arguments.inputs[i]);
    return Floats(view)[0];
  }

  int64_t count_, images_ = 1, channels_ = 1, plane_ = 0;
  DataType to_;
  std::vector<TensorView> small_;
};

bool is_one(const TensorSpec& s) {
  return !s.present || (s.shape.rank() <= 1 && s.shape.volume() == 1);
}

bool makes_bytes(const Op& op, DataType from) {
  const auto* quantize = dynamic_cast<const Quantize*>(&op);
  return quantize != nullptr && is_byte(quantize->to) && quantize->lowest == quantize->highest
         && from == DataType::kFLOAT;
}

// Whether a tensor is pictures, whose bytes a convolution reads pixel by pixel.
bool is_pictures(const KernelRequest& request) {
  const Shape& shape = request.outputs[0].shape;
  return makes_bytes(request.op, request.inputs[0].type) && shape.rank() == 4 && shape[1] > 1
         && shape[1] <= ByteQuantizeExecution::kMaxChannels;
}

class QuantizeKernel final : public Kernel {
 public:
  explicit QuantizeKernel(const Op& op) : op_(op.clone()) {}
  std::unique_ptr<Execution> prepare(std::span<const TensorSpec> inputs,
                                     std::span<const TensorSpec> outputs) const override {
    for (size_t i = 1; i < inputs.size(); ++i)
      require(is_one(inputs[i]), "one scale was expected, found {}", inputs[i].shape);
    if (makes_bytes(*op_, inputs[0].type))
      return std::make_unique<ByteQuantizeExecution>(inputs, outputs[0]);
    return std::make_unique<QuantizeExecution>(*op_, inputs, outputs);
  }

 private:
  std::unique_ptr<Op> op_;
};

Offer make(const KernelRequest& request, Layout to) {
  for (size_t i = 1; i < request.inputs.size(); ++i)
    if (!is_one(request.inputs[i])) return "there is more than one scale";
  for (const TensorSpec* s : {&request.inputs[0], &request.outputs[0]})
    if (bits_of(s->type) < 8) return "elements narrower than a byte are not supported";
  auto kernel = std::make_unique<QuantizeKernel>(request.op);
  kernel->input_layouts.assign(request.inputs.size(), Layout::kLinear);
  // Padding, which blocked layouts have, would not stay 0.
  const bool is_linear = request.inputs[0].layout == Layout::kLinear;
  kernel->input_layouts[0] = is_linear ? Layout::kLinear : Layout::kChannelsLast;
  kernel->output_layouts = {is_linear ? to : Layout::kChannelsLast};
  return kernel;
}

}  // namespace

Offer offer_quantize(const KernelRequest& request) {
  return make(request, is_pictures(request) ? Layout::kChannelsLast : Layout::kLinear);
}

Offer load_quantize(const KernelRequest& request, const StoredKernel&) {
  const Layout to = request.outputs[0].layout;
  const bool may_move =
      makes_bytes(request.op, request.inputs[0].type) && request.outputs[0].shape.rank() == 4;
  require(to == Layout::kLinear || to == request.inputs[0].layout
              || (to == Layout::kChannelsLast && may_move),
          "a stored kernel is damaged");
  return make(request, to);
}

}  // namespace tenon::cpu
