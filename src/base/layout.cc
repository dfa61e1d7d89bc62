#include "base/layout.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/error.h"

namespace tenon {
namespace {

struct LayoutInformation {
  std::string_view name;
  int channel_block;
};

// In the order of Layout.
constexpr LayoutInformation kLayouts[] = {{"linear", 1},
                                          {"channels last", 1},
                                          {"channels / 8", 8},
                                          {"channels / 16", 16},
                                          {"channels / 2", 2},
                                          {"channels / 4", 4},
                                          {"channels / 32", 32},
                                          {"channels last, padded to 8", 8},
                                          {"channels last, padded to 16", 16}};
static_assert(std::size(kLayouts) == static_cast<size_t>(kLastLayout) + 1);

// Damaged plans have others.
const LayoutInformation& information_of(Layout layout) {
  static constexpr LayoutInformation kUnknown = {"?", 1};
  const auto i = static_cast<size_t>(layout);
  return i < std::size(kLayouts) ? kLayouts[i] : kUnknown;
}

}  // namespace

std::string_view name_of(Layout layout) {
  return information_of(layout).name;
}

int channel_block(Layout layout) {
  return information_of(layout).channel_block;
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

Shape strides_of(const Shape& shape, Layout layout) {
  std::vector<int> inner_first;  // axes
  for (int axis = shape.rank() - 1; axis >= 0; --axis) inner_first.push_back(axis);
  if (has_channels_last(layout)) {
    std::erase(inner_first, 1);
    inner_first.insert(inner_first.begin(), 1);
  }
  const int block = channel_block(layout);
  Shape strides = shape;
  int64_t stride = 1;
  for (int axis : inner_first) {
    strides[axis] = stride;
    if (stride < 0 || shape[axis] < 0) {
      stride = -1;
      continue;
    }
    const int64_t extent = std::max<int64_t>(shape[axis], 1);
    stride *= axis == 1 ? extent / block + (extent % block != 0 ? 1 : 0) : extent;
  }
  return strides;
}

}  // namespace tenon
