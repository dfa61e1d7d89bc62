#include "base/layout.h"

#include <cstdint>

#include "base/error.h"

namespace tenon {

std::string_view name_of(Layout layout) {
  switch (layout) {
    case Layout::kLinear:
      return "linear";
    case Layout::kChannelsLast:
      return "channels last";
    case Layout::kBlocked8:
      return "channels / 8";
    case Layout::kBlocked16:
      return "channels / 16";
  }
  return "?";
}

int64_t storage_elements(const Shape& shape, Layout layout) {
  const int block = channel_block(layout);
  const int64_t elements = shape.volume();
  if (block == 1 || elements == 0) return elements;
  require(shape[1] <= INT64_MAX - block,
          "shape {} in blocks of {} channels has more elements than fit 64 bits", shape, block);
  Shape padded = shape;
  padded[1] = (shape[1] + block - 1) / block * block;
  return padded.volume();
}

}  // namespace tenon
