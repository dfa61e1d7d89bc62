// How the elements of a tensor lie in memory.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/dtype.h"
#include "base/shape.h"

namespace tenon {

/// Axis 1 is the channel axis, of the layouts for tensors without images axis 0. Blocked layouts
/// split it into groups that lie innermost (oneDNN's nChw8c, nChw16c); channels that pad the last
/// group are zero.
enum class Layout : uint8_t {
  kLinear,
  kChannelsLast,
  kBlocked8,
  kBlocked16,
  // Where a caller or a plugin wants them: reorders and plugins are the only kernels that know
  // them. What a caller or a plugin leaves in padded channels may be anything.
  kBlocked2,
  kBlocked4,
  kBlocked32,
  kChannelsLast8,  // their number padded to a multiple of 8
  kChannelsLast16,
  // The same of tensors whose first axis is the channels.
  kUnbatchedChannelsLast,
  kUnbatchedBlocked2,
  kUnbatchedBlocked4,
  kUnbatchedBlocked16,
  kUnbatchedBlocked32,
  kUnbatchedChannelsLast8,
  kUnbatchedChannelsLast16,
};
constexpr Layout kLastLayout = Layout::kUnbatchedChannelsLast16;

std::string_view name_of(Layout layout);

inline bool is_io_only(Layout layout) {
  return layout > Layout::kBlocked16;
}
inline int channel_axis(Layout layout) {
  return layout >= Layout::kUnbatchedChannelsLast ? 0 : 1;
}
/// That of a tensor which changes from one layout to another; linear layouts leave it open. Throws
/// where they differ.
int channel_axis(Layout from, Layout to);
/// All channels of a position lie side by side.
bool has_channels_last(Layout layout);
/// The number of channels is padded to a multiple of this: the channels in a group, 8 or 16 for
/// padded channels last, and 1 for layouts that do not pad.
int channel_block(Layout layout);

/// Elements that a tensor takes in that layout, padding included.
int64_t storage_elements(const Shape& shape, Layout layout);
inline size_t storage_bytes(DataType type, const Shape& shape, Layout layout) {
  return bytes_of(type, storage_elements(shape, layout));
}
/// What a step along each axis skips, in groups of channel_block() elements; -1 where it depends on
/// an extent that is not known. Along the channel axis it is a step from group to group.
Shape strides_of(const Shape& shape, Layout layout);

}  // namespace tenon
