// Depthwise sums of bytes with AVX-512 VNNI: the windows of a panel of channels along a row.
#pragma once

#include "cpu/simd/avx512_byte_depthwise_pairs.h"

namespace tenon::cpu {
namespace {

// Integers and floats, by the epilogues of the products, of half a panel each.
template <class W, class Epilogue> struct DepthwiseToNumbers {
  DepthwiseToNumbers(const ByteResult& result, int64_t channels, void* to)
      : halves{Epilogue(result, channels, to),
               Epilogue(rest_of(result), std::max<int64_t>(channels - kPanelChannels, 0), to)} {}

  void store(const Quarters<W>& sums, int64_t at) const {
    int32_t lanes[kQuarters][W::kLanes][kLaneNumbers], numbers[W::kLanes][kQuarters][kLaneNumbers];
    std::memcpy(lanes, sums, sizeof lanes);
    for (int lane = 0; lane < W::kLanes; ++lane)
      for (int q = 0; q < kQuarters; ++q)
        std::memcpy(numbers[lane][q], lanes[q][lane], sizeof lanes[q][lane]);
    for (int64_t first = 0; first < W::kChannels; first += kPanelChannels) {
      const int32_t* const from = numbers[0][0] + first;
      const Sums of_half[] = {{_mm512_loadu_si512(from), _mm512_loadu_si512(from + kLanes)}};
      const int64_t to = at + first;
      avx512::bytes::store<1>(halves[first / kPanelChannels], of_half, &to);
    }
  }

  static ByteResult rest_of(ByteResult result) {
    result.add += kPanelChannels;
    result.scale += kPanelChannels;
    result.shift += kPanelChannels;
    return result;
  }

  Epilogue halves[2];
};

// Windows that share no groups, or that share them and are not of three.
template <class W, bool kFull, class Results>
void depthwise_pixels(const DepthwisePanel<W, kFull>& panel, const Results& results,
                      int64_t pixel_step) {
  const uint8_t* const* tap = panel.taps.data;
  for (int64_t pixel = 0; pixel < panel.taps.pixels; ++pixel) {
    Quarters<W> sums = {panel.add[0], panel.add[1], panel.add[2], panel.add[3]}, x;
    for (int64_t group = 0; group < panel.taps.groups; ++group) {
      panel.group(tap + group * kTapGroup, x);
      panel.add_group(group, x, sums);
    }
    results.store(sums, pixel * pixel_step);
    tap += panel.taps.step * kTapGroup;
  }
}

// Windows of three groups, of which a pixel has `kStep` more than the one before: the others stay
// in registers.
template <class W, int kStep, bool kFull, class Results>
void depthwise_columns(const DepthwisePanel<W, kFull>& panel, const Results& results,
                       int64_t pixel_step) {
  constexpr int kGroups = 3;
  const uint8_t* const* tap = panel.taps.data;
  Quarters<W> x[kGroups];
#pragma GCC unroll 4
  for (int group = 0; group < kGroups - kStep; ++group, tap += kTapGroup)
    panel.group(tap, x[group]);
  for (int64_t pixel = 0; pixel < panel.taps.pixels; ++pixel) {
    Quarters<W> sums = {panel.add[0], panel.add[1], panel.add[2], panel.add[3]};
#pragma GCC unroll 4
    for (int group = kGroups - kStep; group < kGroups; ++group, tap += kTapGroup)
      panel.group(tap, x[group]);
#pragma GCC unroll 4
    for (int group = 0; group < kGroups; ++group) panel.add_group(group, x[group], sums);
    results.store(sums, pixel * pixel_step);
#pragma GCC unroll 4
    for (int group = 0; group + kStep < kGroups; ++group)
#pragma GCC unroll 4
      for (int q = 0; q < kQuarters; ++q) x[group][q] = x[group + kStep][q];
  }
}

template <class W, bool kFull, class Results>
void sum_panel(const ByteTaps& taps, const ByteResult& result, const Results& results,
               int64_t channels, int64_t pixel_step) {
  const DepthwisePanel<W, kFull> panel(taps, result, channels);
  if (taps.groups == 3 && taps.step == 1)
    depthwise_columns<W, 1>(panel, results, pixel_step);
  else if (taps.groups == 3 && taps.step == 2)
    depthwise_columns<W, 2>(panel, results, pixel_step);
  else
    depthwise_pixels(panel, results, pixel_step);
}

template <class W, bool kFull>
void sum_in_groups_of(const ByteTaps& taps, const ByteResult& result, int64_t channels, void* out,
                      int64_t pixel_step) {
  const auto run = [&](const auto& results) {
    sum_panel<W, kFull>(taps, result, results, channels, pixel_step);
  };
  switch (result.to) {
    case ByteResult::To::kByte:
      return run(DepthwiseToBytes<W, kFull>(result, channels, out));
    case ByteResult::To::kFloat:
      return run(DepthwiseToNumbers<W, ToFloats>(result, channels, out));
    case ByteResult::To::kInteger:
      return run(DepthwiseToNumbers<W, ToIntegers>(result, channels, out));
  }
}

bool is_half(int64_t channels) {
  return channels <= HalfDepthwise::kChannels;
}

void sum_in_groups(const ByteTaps& taps, const ByteResult& result, int64_t channels, void* out,
                   int64_t pixel_step) {
  if (channels == HalfDepthwise::kChannels && taps.pixels > 1 && result.to == ByteResult::To::kByte)
    return sum_pairs(taps, result, out, pixel_step);
  using Run = decltype(sum_in_groups);
  Run* run = nullptr;
  if (is_half(channels))
    run = channels == HalfDepthwise::kChannels ? sum_in_groups_of<HalfDepthwise, true>
                                               : sum_in_groups_of<HalfDepthwise, false>;
  else
    run = channels >= WholeDepthwise::kChannels ? sum_in_groups_of<WholeDepthwise, true>
                                                : sum_in_groups_of<WholeDepthwise, false>;
  run(taps, result, channels, out, pixel_step);
}

int64_t place_in_quarters(int64_t channel, int64_t channels) {
  const int64_t lanes = is_half(channels) ? HalfDepthwise::kLanes : WholeDepthwise::kLanes;
  constexpr int64_t kLaneChannels = kQuarters * kLaneNumbers;
  const int64_t lane = channel / kLaneChannels, quarter = channel % kLaneChannels / kLaneNumbers;
  return (quarter * lanes + lane) * kLaneNumbers + channel % kLaneNumbers;
}

constexpr ByteDepthwise kDotDepthwise = {.panel_channels = WholeDepthwise::kChannels,
                                         .taps = kTapGroup,
                                         .element_bytes = 1,
                                         .place = place_in_quarters,
                                         .sum = sum_in_groups};

}  // namespace
}  // namespace tenon::cpu
