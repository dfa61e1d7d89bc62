#include "cpu/convolution/winograd_form.h"

#include <algorithm>

namespace tenon::cpu {
namespace {

/// Fewer channels are gathered from rows.
constexpr int64_t kFewChannels = 4;

// A window along one axis: the taps of each phase of the stride, in runs that a tile's window has
// room for. One with room on both sides needs neither the point 0 nor infinity.
std::vector<WinogradPart::Axis> parts_of(int64_t kernel, int64_t stride, int window) {
  std::vector<WinogradPart::Axis> parts;
  for (int64_t phase = 0; phase < std::min(stride, kernel); ++phase)
    for (int64_t tap = phase; tap < kernel; tap += window * stride) {
      const int64_t left = (kernel - tap + stride - 1) / stride;
      const int taps = static_cast<int>(std::min<int64_t>(left, window));
      const int lead = window - taps >= 2 ? 1 : 0;
      parts.push_back({tap - lead * stride, tap, lead, taps});
    }
  return parts;
}

// Whether a part has anything at a point: 0 is the first, infinity the last.
bool reaches(const WinogradPart::Axis& part, int point, int size, int window) {
  if (point == 0) return part.lead == 0;
  return point != size - 1 || part.lead + part.taps == window;
}

}  // namespace

WinogradForm::WinogradForm(const Convolution& op, int64_t channels,
                           const WinogradKernels::Tile& tile, int lanes)
    : tile(&tile),
      channels(channels),
      output_channels(op.output_channels),
      kernel(op.kernel),
      stride(op.stride),
      size(tile.size),
      window(tile.window),
      lanes(lanes) {
  for (const auto& y : parts_of(kernel[0], stride[0], window))
    for (const auto& x : parts_of(kernel[1], stride[1], window)) parts.push_back({y, x});
  const int64_t step = gathers() ? channels : padded(channels);
  const auto count = static_cast<int64_t>(parts.size());
  rows_.resize(parts.size() * static_cast<size_t>(planes()));
  plane_starts_.push_back(0);
  for (int plane = 0; plane < planes(); ++plane) {
    int64_t used = 0, unused = 0;
    for (size_t part = 0; part < parts.size(); ++part)
      rows_[part * static_cast<size_t>(planes()) + static_cast<size_t>(plane)] =
          (is_used(part, plane) ? used++ : count - ++unused) * step;
    plane_starts_.push_back(plane_starts_.back() + padded(used * step));
  }
}

bool WinogradForm::gathers() const {
  return channels <= kFewChannels;
}

int64_t WinogradForm::depth() const {
  const auto count = static_cast<int64_t>(parts.size());
  return gathers() ? padded(count * channels) : count * padded(channels);
}

int64_t WinogradForm::depth(int plane) const {
  return plane_start(plane + 1) - plane_start(plane);
}

int64_t WinogradForm::row(size_t part, int plane) const {
  return rows_[part * static_cast<size_t>(planes()) + static_cast<size_t>(plane)];
}

bool WinogradForm::is_used(size_t part, int plane) const {
  return gathers()
         || (reaches(parts[part].y, plane / size, size, window)
             && reaches(parts[part].x, plane % size, size, window));
}

double WinogradForm::work() const {
  const auto products = static_cast<double>(plane_starts_.back() * padded(output_channels));
  return products / results() / results()
         / static_cast<double>(channels * output_channels * kernel.volume());
}

}  // namespace tenon::cpu
