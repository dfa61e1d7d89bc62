// Where the elements of a tensor with channels lie, the same for every layout. Kernels of GPUs read
// this, too, whose compiler takes no base/layout.h.
#pragma once

#include <cstdint>

namespace tenon {

class Shape;
enum class Layout : uint8_t;

/// A tensor as images of channels and planes: groups of `width` channels side by side, the
/// positions of a plane one after the other. Linear layouts have groups of one channel, channels
/// last have one group.
struct ChannelGroups {
  int64_t images = 0, channels = 0, plane = 0;
  int64_t width = 1;
  int64_t groups = 0;

  ChannelGroups() = default;
  /// @pre the shape has the axis.
  ChannelGroups(const Shape& shape, Layout layout, int channel_axis = 1);

  constexpr int64_t padded_channels() const { return groups * width; }
  constexpr int64_t elements() const { return images * padded_channels() * plane; }
  /// Of the channel at the first position; the next position is `width` elements further.
  constexpr int64_t offset(int64_t image, int64_t channel) const {
    return (image * padded_channels() + channel / width * width) * plane + channel % width;
  }
};

}  // namespace tenon
