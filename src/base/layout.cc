#include "base/layout.h"

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
  if (block == 1) return shape.volume();
  Shape padded = shape;
  padded[1] = (shape[1] + block - 1) / block * block;
  return padded.volume();
}

}  // namespace tenon
