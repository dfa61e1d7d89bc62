#include "common/channel_groups.h"

#include "base/layout.h"

namespace tenon {

ChannelGroups::ChannelGroups(const Shape& shape, Layout layout, int channel_axis)
    : images(shape.volume(0, channel_axis)),
      channels(shape[channel_axis]),
      plane(shape.volume(channel_axis + 1, shape.rank())) {
  const int block = channel_block(layout);
  groups = channels / block + (channels % block != 0 ? 1 : 0);
  width = block;
  if (has_channels_last(layout)) {
    width = groups * block;
    groups = 1;
  }
}

}  // namespace tenon
