#include "cpu/convolution/int8_panels.h"

#include <algorithm>
#include <array>

#include "base/error.h"
#include "cpu/blocks.h"

namespace tenon::cpu {
namespace {

/// Of a pair's weights of one sign: with bytes of 255 they come to no more than 16 bits hold.
constexpr int32_t kMaxOfSign = 128;
constexpr int32_t kMaxByte = 255;
/// About the cycles of a dot group for six pixels, by group, and those of its two dot groups of
/// 16-bit integers.
constexpr std::array<double, kByteGroups> kCycles = {12.6, 14.5, 14.5, 17};
constexpr double kOtherCycles = 16.7;
constexpr size_t kHalves = 2;

int64_t masks_of(int64_t group) {
  return (group & 1) + (group >> 1);
}

// A dot group of all output channels of a panel, as it is multiplied.
struct DotGroup {
  std::vector<int8_t> weights, masks;
  int64_t group = 0;
};

Shape order_shape(const ByteProductKernels& kernels, const Shape& windows) {
  return {units(windows[0], kernels.panel_channels), windows[2],
          kByteGroups + units(windows[3] * windows[1], kernels.dot_group())};
}

class Packing {
 public:
  Packing(const ByteProductKernels& kernels, const ConstantWindows& from)
      : kernels_(kernels),
        from_(from),
        made_{
            &kernels, {}, from.sums(), Tensor(DataType::kINT32, order_shape(kernels, from.shape))} {
  }

  std::optional<IntegerPanels> pack() {
    const Shape& order = made_.order.shape();
    const int64_t dot_groups = order[2] - kByteGroups;
    auto* next = made_.order.mutable_data<int32_t>();
    std::vector<int8_t> bytes;
    double cycles = 0;
    for (int64_t panel = 0; panel < order[0]; ++panel)
      for (int64_t run = 0; run < order[1]; ++run) {
        std::vector<DotGroup> list;
        for (int64_t k = 0; k < dot_groups; ++k) list.push_back(dot_group(panel, run, k));
        int32_t* const counts = next;
        next += kByteGroups;
        for (int64_t group = 0; group < kByteGroups; ++group) {
          counts[group] = 0;
          for (int64_t k = 0; k < dot_groups; ++k) {
            const DotGroup& dot_group = list[static_cast<size_t>(k)];
            if (dot_group.group != group) continue;
            ++counts[group];
            *next++ = static_cast<int32_t>(k);
            append(dot_group, bytes);
          }
          cycles += counts[group] * kCycles[static_cast<size_t>(group)];
        }
      }
    const double others = kOtherCycles * static_cast<double>(order.volume(0, 2) * dot_groups);
    if (!can_ || cycles >= others) return std::nullopt;
    made_.panels = Tensor(DataType::kINT8, {static_cast<int64_t>(bytes.size())});
    std::copy(bytes.begin(), bytes.end(), made_.panels.mutable_data<int8_t>());
    return std::move(made_);
  }

 private:
  int32_t weight(int64_t output_channel, int64_t run, int64_t element) const {
    const Shape& shape = from_.shape;
    if (output_channel >= shape[0] || element >= shape[1] * shape[3]) return 0;
    return from_.weight(output_channel, element % shape[1], run, element / shape[1]);
  }

  DotGroup dot_group(int64_t panel, int64_t run, int64_t k) {
    DotGroup made;
    const auto size = static_cast<size_t>(kernels_.panel_channels * kDotGroupBytes);
    made.weights.resize(size);
    made.masks.resize(size);
    for (int64_t m = 0; m < kernels_.panel_channels; ++m)
      for (int64_t e = 0; e < kDotGroupBytes; e += 2) {
        const int64_t output_channel = panel * kernels_.panel_channels + m,
                      element = k * kDotGroupBytes + e;
        int32_t pair[] = {weight(output_channel, run, element),
                          weight(output_channel, run, element + 1)};
        const auto at = static_cast<size_t>(m * kDotGroupBytes + e);
        if (std::abs(pair[0] + pair[1]) > kMaxOfSign && (pair[0] < 0) == (pair[1] < 0)) {
          const size_t other = pair[1] == -kMaxOfSign ? 0 : 1;  // 128 is no int8
          can_ &= pair[other] != -kMaxOfSign;
          // Sums of many terms wrap, as those of the loops do.
          auto& constant = made_.sums.mutable_data<uint32_t>()[from_.shape[0] + output_channel];
          constant += static_cast<uint32_t>(kMaxByte * pair[other]);
          pair[other] = -pair[other];
          made.masks[at + other] = -1;
          made.group |= int64_t{1} << (m / (kernels_.panel_channels / 2));
        }
        for (size_t i = 0; i < 2; ++i) made.weights[at + i] = static_cast<int8_t>(pair[i]);
      }
    return made;
  }

  static void append(const DotGroup& dot_group, std::vector<int8_t>& bytes) {
    bytes.insert(bytes.end(), dot_group.weights.begin(), dot_group.weights.end());
    const auto half = static_cast<int64_t>(dot_group.masks.size() / kHalves);
    for (int64_t h = 0; h < static_cast<int64_t>(kHalves); ++h)
      if ((dot_group.group >> h & 1) != 0)
        bytes.insert(bytes.end(), dot_group.masks.begin() + h * half,
                     dot_group.masks.begin() + (h + 1) * half);
  }

  const ByteProductKernels& kernels_;
  const ConstantWindows& from_;
  IntegerPanels made_;
  bool can_ = true;
};

// Calls with(bytes) for what each panel takes, in order.
template <class With> void for_panels(const IntegerPanels& weights, const With& with) {
  const Shape& shape = weights.order.shape();
  const auto* counts = weights.order.data<int32_t>();
  const int64_t half =
      weights.kernels->panel_channels * kDotGroupBytes / static_cast<int64_t>(kHalves);
  for (int64_t panel = 0; panel < shape[0]; ++panel) {
    int64_t halves = 0;
    for (int64_t run = 0; run < shape[1]; ++run, counts += shape[2])
      for (int64_t group = 0; group < kByteGroups; ++group)
        halves += counts[group] * (static_cast<int64_t>(kHalves) + masks_of(group));
    with(halves * half);
  }
}

// Whether the dot groups of all runs are in the groups, and their weights there.
bool is_whole(const IntegerPanels& weights) {
  const Shape& shape = weights.order.shape();
  const int64_t dot_groups = shape[2] - kByteGroups;
  const auto* order = weights.order.data<int32_t>();
  for (int64_t run = 0; run < shape.volume(0, 2); ++run, order += shape[2]) {
    int64_t sum = 0;
    for (int64_t group = 0; group < kByteGroups; ++group) {
      if (order[group] < 0) return false;
      sum += order[group];
    }
    if (sum != dot_groups) return false;
    for (int64_t k = 0; k < dot_groups; ++k)
      if (order[kByteGroups + k] < 0 || order[kByteGroups + k] >= dot_groups) return false;
  }
  int64_t bytes = 0;
  for_panels(weights, [&](int64_t more) { bytes += more; });
  return bytes == weights.panels.count();
}

}  // namespace

std::optional<IntegerPanels> pack_int8(const ByteProductKernels& kernels,
                                       const ConstantWindows& from) {
  if (!from.are_bytes()) return std::nullopt;
  return Packing(kernels, from).pack();
}

IntegerPanels stored_int8_panels(const ByteProductKernels& kernels, const StoredKernel& stored,
                                 const Shape& windows) {
  const auto& packed = stored.packed;
  IntegerPanels made{&kernels, packed[0], packed[1], packed[2]};
  require(made.panels.type() == DataType::kINT8 && made.sums.type() == DataType::kINT32
              && made.sums.shape() == Shape({2, windows[0]})
              && made.order.type() == DataType::kINT32
              && made.order.shape() == order_shape(kernels, windows) && is_whole(made),
          "stored weights do not fit {} output channels of {} channels and windows of {}x{}",
          windows[0], windows[1], windows[2], windows[3]);
  return made;
}

std::vector<BytePanel> int8_panels(const IntegerPanels& weights) {
  const Shape& shape = weights.order.shape();
  std::vector<BytePanel> list;
  const auto* next = weights.panels.data<int8_t>();
  const auto* order = weights.order.data<int32_t>();
  for_panels(weights, [&](int64_t bytes) {
    list.push_back({next, bytes, order});
    next += bytes;
    order += shape[1] * shape[2];
  });
  return list;
}

}  // namespace tenon::cpu
