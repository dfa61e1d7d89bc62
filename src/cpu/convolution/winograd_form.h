// How a convolution is made of Winograd's tiles: the parts of its windows, and where its
// transformed weights lie.
#pragma once

#include <algorithm>
#include <vector>

#include "cpu/simd/kernels.h"
#include "ops/convolution.h"

namespace tenon::cpu {

/// A window, or what there is of it in one phase of its stride and in reach of a tile's windows.
/// Elements of the data that are a stride apart are multiplied by adjacent taps.
struct WinogradPart {
  struct Axis {
    int64_t begin;  // element under the tile's first tap, counted from the window's first
    int64_t tap;    // of the window, which is the part's first
    int lead;       // taps of the tile's window before it, which are zeros
    int taps;       // how many the part has

    bool operator==(const Axis&) const = default;
  };
  Axis y, x;
};

/// Weights are transformed into planes: pair of vectors of output channels, plane, channel, output
/// channel. A plane has the channels of each part that has anything in it; channels and output
/// channels that fill the last vector are zeros.
class WinogradForm {
 public:
  static constexpr int64_t kPair = 2;
  static constexpr int kMaxSize = 8, kMaxLanes = 16;

  /// @param tile lives as long as the form.
  /// @param lanes floats of a vector.
  WinogradForm(const Convolution& op, int64_t channels, const WinogradKernels::Tile& tile,
               int lanes);

  const WinogradKernels::Tile* tile;
  int64_t channels, output_channels;
  Shape kernel, stride;
  int size, window;  // elements of a tile along an axis, and of the windows that it is for
  int lanes;
  std::vector<WinogradPart> parts;

  int planes() const { return size * size; }
  /// Results of a tile along an axis.
  int results() const { return size + 1 - window; }
  int64_t padded(int64_t count) const { return (count + lanes - 1) / lanes * lanes; }
  /// Whether the channels are so few that those of all parts lie together in vectors.
  bool gathers() const;
  /// Channels of all parts, in whole vectors.
  int64_t depth() const;
  /// Those that are multiplied in a plane: the first ones.
  int64_t depth(int plane) const;
  /// Which channel of a plane the first one of a part is. Parts that have nothing in the plane are
  /// the last.
  int64_t row(size_t part, int plane) const;
  bool is_used(size_t part, int plane) const;

  int64_t floats() const { return padded(output_channels) * plane_starts_.back(); }
  /// Where an element lies.
  int64_t at(int64_t output_channel, size_t part, int64_t channel, int plane) const {
    const int64_t pair = output_channel / lanes / kPair * kPair * lanes;
    const int64_t width = std::min(kPair * lanes, padded(output_channels) - pair);
    return pair * plane_starts_.back() + (plane_start(plane) + row(part, plane) + channel) * width
           + output_channel - pair;
  }
  /// Channels of the planes before one.
  int64_t plane_start(int plane) const { return plane_starts_[static_cast<size_t>(plane)]; }

  /// Multiplications for one of a convolution without this algorithm.
  double work() const;

 private:
  std::vector<int64_t> rows_;          // part, plane
  std::vector<int64_t> plane_starts_;  // and of all of them
};

}  // namespace tenon::cpu
