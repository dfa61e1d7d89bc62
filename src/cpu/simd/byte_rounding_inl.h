// Numbers of an epilogue to bytes, and bytes that it reads to numbers: the loops around an
// instruction set's Rounding and Dequantizing, which are included in front of this.
#pragma once

namespace tenon::cpu {
namespace {

/// As ByteProductKernels::round says.
void round(const PixelRow<float>& rows, float scale, const ByteRounding& how, uint8_t* to) {
  const Rounding rounding(scale, how);
  const bool lie_together = rows.step == rows.channels && rows.to_step == rows.channels;
  const int64_t pixels = lie_together ? 1 : rows.pixels;
  const int64_t channels = lie_together ? rows.pixels * rows.channels : rows.channels;
  int64_t pixel = 0;
  if (channels == kPanelChannels)
    for (; pixel + 1 < pixels; pixel += 2) {
      const float* const from = rows.first + pixel * rows.step;
      const auto bytes = rounding.two(from, from + rows.step);
      store(to + pixel * rows.to_step, lower(bytes));
      store(to + (pixel + 1) * rows.to_step, upper(bytes));
    }
  for (; pixel < pixels; ++pixel) {
    const float* from = rows.first + pixel * rows.step;
    uint8_t* out = to + pixel * rows.to_step;
    int64_t n = channels;
    for (; n >= 2 * kPanelChannels; n -= 2 * kPanelChannels) {
      const auto bytes = rounding.two(from, from + kPanelChannels);
      store(out, lower(bytes));
      store(out + kPanelChannels, upper(bytes));
      from += 2 * kPanelChannels;
      out += 2 * kPanelChannels;
    }
    if (n >= kPanelChannels) {
      store(out, rounding.one(from));
      from += kPanelChannels;
      out += kPanelChannels;
      n -= kPanelChannels;
    }
    if (n > 0) rounding.some(from, n, out);
  }
}

/// As ByteProductKernels::dequantize says.
void dequantize(const PixelRow<uint8_t>& row, const ByteScale& scale, float* to) {
  const Dequantizing dequantizing(scale);
  for (int64_t pixel = 0; pixel < row.pixels; ++pixel) {
    const uint8_t* const from = row.first + pixel * row.step;
    float* const out = to + pixel * row.to_step;
    int64_t c = 0;
    for (; c + kLanes <= row.channels; c += kLanes) dequantizing.whole(from + c, out + c);
    if (c < row.channels) dequantizing.some(from + c, row.channels - c, out + c);
  }
}

}  // namespace
}  // namespace tenon::cpu
