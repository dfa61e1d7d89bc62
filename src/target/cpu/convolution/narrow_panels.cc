#include "target/cpu/convolution/narrow_panels.h"

#include <algorithm>
#include <array>

#include "base/error.h"
#include "target/cpu/blocks.h"

namespace tenon::cpu {
namespace {

/// Of a pair's weights of one sign: with bytes of 255 they come to no more than 16 bits hold.
constexpr int32_t kMostOfSign = 128;
constexpr int32_t kMostByte = 255;
/// About the cycles of a word for six pixels, by group, and those of its two words of 16-bit
/// integers.
constexpr std::array<double, kByteGroups> kCycles = {12.6, 14.5, 14.5, 17};
constexpr double kOtherCycles = 16.7;
constexpr size_t kHalves = 2;

int64_t masks_of(int64_t group) {
  return (group & 1) + (group >> 1);
}

// A word of all maps of a panel, as it is multiplied.
struct Word {
  std::vector<int8_t> weights, masks;
  int64_t group = 0;
};

Shape order_shape(const ByteProductKernels& kernels, const Shape& windows) {
  return {units(windows[0], kernels.panel_maps), windows[2],
          kByteGroups + units(windows[3] * windows[1], kernels.word())};
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
    const int64_t words = order[2] - kByteGroups;
    auto* next = made_.order.mutable_data<int32_t>();
    std::vector<int8_t> bytes;
    double cycles = 0;
    for (int64_t panel = 0; panel < order[0]; ++panel)
      for (int64_t run = 0; run < order[1]; ++run) {
        std::vector<Word> list;
        for (int64_t k = 0; k < words; ++k) list.push_back(word(panel, run, k));
        int32_t* const counts = next;
        next += kByteGroups;
        for (int64_t group = 0; group < kByteGroups; ++group) {
          counts[group] = 0;
          for (int64_t k = 0; k < words; ++k) {
            const Word& word = list[static_cast<size_t>(k)];
            if (word.group != group) continue;
            ++counts[group];
            *next++ = static_cast<int32_t>(k);
            append(word, bytes);
          }
          cycles += counts[group] * kCycles[static_cast<size_t>(group)];
        }
      }
    const double others = kOtherCycles * static_cast<double>(order.volume(0, 2) * words);
    if (!can_ || cycles >= others) return std::nullopt;
    made_.panels = Tensor(DataType::kINT8, {static_cast<int64_t>(bytes.size())});
    std::copy(bytes.begin(), bytes.end(), made_.panels.mutable_data<int8_t>());
    return std::move(made_);
  }

 private:
  int32_t weight(int64_t map, int64_t run, int64_t element) const {
    const Shape& shape = from_.shape;
    if (map >= shape[0] || element >= shape[1] * shape[3]) return 0;
    return from_.weight(map, element % shape[1], run, element / shape[1]);
  }

  Word word(int64_t panel, int64_t run, int64_t k) {
    Word made;
    const auto size = static_cast<size_t>(kernels_.panel_maps * kWordBytes);
    made.weights.resize(size);
    made.masks.resize(size);
    for (int64_t m = 0; m < kernels_.panel_maps; ++m)
      for (int64_t e = 0; e < kWordBytes; e += 2) {
        const int64_t map = panel * kernels_.panel_maps + m, element = k * kWordBytes + e;
        int32_t pair[] = {weight(map, run, element), weight(map, run, element + 1)};
        const auto at = static_cast<size_t>(m * kWordBytes + e);
        if (std::abs(pair[0] + pair[1]) > kMostOfSign && (pair[0] < 0) == (pair[1] < 0)) {
          const size_t other = pair[1] == -kMostOfSign ? 0 : 1;  // 128 is no int8
          can_ &= pair[other] != -kMostOfSign;
          // Sums of many terms wrap, as those of the loops do.
          auto& constant = made_.sums.mutable_data<uint32_t>()[from_.shape[0] + map];
          constant += static_cast<uint32_t>(kMostByte * pair[other]);
          pair[other] = -pair[other];
          made.masks[at + other] = -1;
          made.group |= int64_t{1} << (m / (kernels_.panel_maps / 2));
        }
        for (size_t i = 0; i < 2; ++i) made.weights[at + i] = static_cast<int8_t>(pair[i]);
      }
    return made;
  }

  static void append(const Word& word, std::vector<int8_t>& bytes) {
    bytes.insert(bytes.end(), word.weights.begin(), word.weights.end());
    const auto half = static_cast<int64_t>(word.masks.size() / kHalves);
    for (int64_t h = 0; h < static_cast<int64_t>(kHalves); ++h)
      if ((word.group >> h & 1) != 0)
        bytes.insert(bytes.end(), word.masks.begin() + h * half,
                     word.masks.begin() + (h + 1) * half);
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
  const int64_t half = weights.kernels->panel_maps * kWordBytes / static_cast<int64_t>(kHalves);
  for (int64_t panel = 0; panel < shape[0]; ++panel) {
    int64_t halves = 0;
    for (int64_t run = 0; run < shape[1]; ++run, counts += shape[2])
      for (int64_t group = 0; group < kByteGroups; ++group)
        halves += counts[group] * (static_cast<int64_t>(kHalves) + masks_of(group));
    with(halves * half);
  }
}

// Whether the words of all runs are in the groups, and their weights there.
bool is_whole(const IntegerPanels& weights) {
  const Shape& shape = weights.order.shape();
  const int64_t words = shape[2] - kByteGroups;
  const auto* order = weights.order.data<int32_t>();
  for (int64_t run = 0; run < shape.volume(0, 2); ++run, order += shape[2]) {
    int64_t sum = 0;
    for (int64_t group = 0; group < kByteGroups; ++group) {
      if (order[group] < 0) return false;
      sum += order[group];
    }
    if (sum != words) return false;
    for (int64_t k = 0; k < words; ++k)
      if (order[kByteGroups + k] < 0 || order[kByteGroups + k] >= words) return false;
  }
  int64_t bytes = 0;
  for_panels(weights, [&](int64_t more) { bytes += more; });
  return bytes == weights.panels.count();
}

}  // namespace

std::optional<IntegerPanels> pack_narrow(const ByteProductKernels& kernels,
                                         const ConstantWindows& from) {
  if (!from.are_bytes()) return std::nullopt;
  return Packing(kernels, from).pack();
}

IntegerPanels stored_narrow_panels(const ByteProductKernels& kernels, const StoredKernel& stored,
                                   const Shape& windows) {
  const auto& packed = stored.packed;
  IntegerPanels made{&kernels, packed[0], packed[1], packed[2]};
  require(made.panels.type() == DataType::kINT8 && made.sums.type() == DataType::kINT32
              && made.sums.shape() == Shape({2, windows[0]})
              && made.order.type() == DataType::kINT32
              && made.order.shape() == order_shape(kernels, windows) && is_whole(made),
          "stored weights do not fit {} maps of {} channels and windows of {}x{}", windows[0],
          windows[1], windows[2], windows[3]);
  return made;
}

std::vector<BytePanel> narrow_panels(const IntegerPanels& weights) {
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
