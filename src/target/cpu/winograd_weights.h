// Weights of 3x3 windows as Winograd's convolution multiplies them.
#pragma once

#include <algorithm>

#include "base/tensor.h"

namespace tenon::cpu {

/// The weights of all maps in planes: pair of vectors of maps, plane, channel, map. Channels and
/// maps that fill the last vector are zeros.
struct WinogradForm {
  static constexpr int64_t kPair = 2;

  int64_t channels, maps;
  int size;   // elements of a tile along an axis: 4 or 6
  int lanes;  // floats of a vector

  int64_t padded(int64_t count) const { return (count + lanes - 1) / lanes * lanes; }
  int64_t depth() const { return padded(channels); }
  int64_t floats() const { return padded(maps) * depth() * size * size; }
  /// Where an element lies.
  int64_t at(int64_t map, int64_t channel, int64_t plane) const {
    const int64_t vector = map / lanes, pair = vector / kPair;
    const int64_t width = std::min(kPair * lanes, padded(maps) - pair * kPair * lanes);
    return pair * kPair * lanes * depth() * size * size + (plane * depth() + channel) * width + map
           - pair * kPair * lanes;
  }
};

/// Weights (maps, channels, 3, 3) in that form.
Tensor winograd_weights(const Tensor& weights, const WinogradForm& form);
/// A bias of one number for each map, or of none, which are zeros: padded to whole vectors with
/// zeros.
Tensor winograd_bias(const Tensor& bias, const WinogradForm& form);
/// Packed weights for vectors of another length.
Tensor rearranged(const Tensor& packed, const WinogradForm& from, const WinogradForm& to);

}  // namespace tenon::cpu
