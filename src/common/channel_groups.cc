#include "common/channel_groups.h"

#include "base/layout.h"

namespace tenon {

ChannelGroups::ChannelGroups(const Shape& shape, Layout layout)
    : images(shape[0]), channels(shape[1]), plane(shape.volume(2, shape.rank())) {
  const int block = channel_block(layout);
  groups = channels / block + (channels % block != 0 ? 1 : 0);
  width = block;
  if (has_channels_last(layout)) {
    width = groups * block;
    groups = 1;
  }
}

}  // namespace tenon
