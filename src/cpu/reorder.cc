// Changes of layout by plain loops, for any element type.
#include "ops/reorder.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "base/parallel.h"
#include "common/channel_groups.h"
#include "cpu/kernels.h"
#include "cpu/simd/kernels.h"
#include "cpu/words.h"

namespace tenon::cpu {
namespace {

/// Channels and pixels of a tile.
constexpr int64_t kTile = 8;
/// Elements that are moved at a time, so that lines of the cache are used whole.
constexpr int64_t kBlockElements = 8192;

/// Pixels [begin, end) of `count` channels from c on, all on the padded or all on the real side.
template <class T>
void move_channels(const ChannelGroups& from, const ChannelGroups& to, const T* in, T* out,
                   int64_t n, int64_t c, int64_t count, int64_t begin, int64_t end) {
  const int64_t source_step = from.width, target_step = to.width;
  for (int64_t last = c + count; c < last; ++c) {
    T* target = out + to.offset(n, c);
    if (c >= to.channels) {
      for (int64_t p = begin; p < end; ++p) target[p * target_step] = T{};
      continue;
    }
    const T* source = in + from.offset(n, c);
    for (int64_t p = begin; p < end; ++p) target[p * target_step] = source[p * source_step];
  }
}

/// Pixels [begin, end) of one image.
template <class T>
void reorder_pixels(const ChannelGroups& from, const ChannelGroups& to, const T* in, T* out,
                    int64_t n, int64_t begin, int64_t end) {
  const int64_t padded = to.padded_channels();
  for (int64_t c = 0; c < padded; c += kTile) {
    int64_t p = begin;
    if constexpr (sizeof(T) == sizeof(uint32_t)) {
      // Where pixels lie side by side in one of them, and channels in the other, tiles are turned.
      const bool turns = std::min(from.width, to.width) == 1
                         && std::max(from.width, to.width) >= kTile && c + kTile <= to.channels;
      const T* source = in + from.offset(n, c);
      T* target = out + to.offset(n, c);
      const auto turn = simd_kernels().turn;
      for (; turns && p + kTile <= end; p += kTile) {
        if (from.width == 1)
          turn(source + p, from.plane, target + p * to.width, to.width);
        else
          turn(source + p * from.width, from.width, target + p, to.plane);
      }
    }
    move_channels(from, to, in, out, n, c, std::min(kTile, padded - c), p, end);
  }
}

class ReorderExecution final : public Execution {
 public:
  ReorderExecution(const TensorSpec& from, const TensorSpec& to)
      : from_(from.shape, from.layout, channel_axis(from.layout, to.layout)),
        to_(to.shape, to.layout, channel_axis(from.layout, to.layout)),
        bytes_(bits_of(from.type) / 8) {}

  void run(const RunArguments& arguments) override {
    with_word(bytes_, [&](auto zero) { run_as<decltype(zero)>(arguments); });
  }

 private:
  template <class T> void run_as(const RunArguments& arguments) const {
    const auto* in = static_cast<const T*>(arguments.inputs[0]);
    auto* out = static_cast<T*>(arguments.outputs[0]);
    const int64_t block =
        std::max(kBlockElements / std::max<int64_t>(to_.padded_channels(), 1) / kTile, int64_t{1})
        * kTile;
    const int64_t blocks = (to_.plane + block - 1) / block;
    parallel_for(to_.images * blocks, 2, [&](int64_t first, int64_t last) {
      for (int64_t i = first; i < last; ++i)
        reorder_pixels(from_, to_, in, out, i / blocks, i % blocks * block,
                       std::min(to_.plane, (i % blocks + 1) * block));
    });
  }

  ChannelGroups from_, to_;
  int64_t bytes_;  // of an element; offers are for whole bytes
};

class CopyExecution final : public Execution {
 public:
  explicit CopyExecution(size_t bytes) : bytes_(bytes) {}
  void run(const RunArguments& arguments) override {
    if (bytes_ > 0) std::memcpy(arguments.outputs[0], arguments.inputs[0], bytes_);
  }

 private:
  size_t bytes_;
};

class ReorderKernel final : public Kernel {
 public:
  explicit ReorderKernel(const Reorder& op) {
    input_layouts.assign(1, op.from);
    output_layouts.assign(1, op.to);
  }
  std::unique_ptr<Execution> prepare(std::span<const TensorSpec> inputs,
                                     std::span<const TensorSpec> outputs) const override {
    require(inputs[0].shape == outputs[0].shape && inputs[0].type == outputs[0].type,
            "a reorder from {} to {}", inputs[0].shape, outputs[0].shape);
    if (inputs[0].layout == outputs[0].layout)
      return std::make_unique<CopyExecution>(
          storage_bytes(inputs[0].type, inputs[0].shape, inputs[0].layout));
    require(inputs[0].shape.rank() >= 2, "only tensors with a channel axis have layouts, found {}",
            inputs[0].shape);
    return std::make_unique<ReorderExecution>(inputs[0], outputs[0]);
  }
};

}  // namespace

Offer offer_reorder(const KernelRequest& request) {
  if (bits_of(request.inputs[0].type) < 8) return "elements narrower than a byte are not supported";
  return std::make_unique<ReorderKernel>(static_cast<const Reorder&>(request.op));
}

}  // namespace tenon::cpu
