// How the elements of a tensor lie in memory between layers.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/dtype.h"
#include "base/shape.h"

namespace tenon {

/// Axis 1 is the channel axis. Blocked layouts split it into groups of 8 or 16 that lie innermost
/// (oneDNN's nChw8c, nChw16c); channels that pad the last group are zero.
enum class Layout : uint8_t { kLinear, kChannelsLast, kBlocked8, kBlocked16 };

std::string_view name_of(Layout layout);

/// Channels in a group: 8, 16, or 1 for layouts that do not split the axis.
inline int channel_block(Layout layout) {
  return layout == Layout::kBlocked8 ? 8 : layout == Layout::kBlocked16 ? 16 : 1;
}

/// Elements that a tensor takes in that layout, padding included.
int64_t storage_elements(const Shape& shape, Layout layout);
inline size_t storage_bytes(DataType type, const Shape& shape, Layout layout) {
  return bytes_of(type, storage_elements(shape, layout));
}

}  // namespace tenon
