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
  bool has_channels_last = false;
};

// In the order of Layout.
constexpr LayoutInformation kLayouts[] = {{"linear", 1},
                                          {"channels last", 1, true},
                                          {"channels / 8", 8},
                                          {"channels / 16", 16},
                                          {"channels / 2", 2},
                                          {"channels / 4", 4},
                                          {"channels / 32", 32},
                                          {"channels last, padded to 8", 8, true},
                                          {"channels last, padded to 16", 16, true},
                                          {"first axis last", 1, true},
                                          {"first axis / 2", 2},
                                          {"first axis / 4", 4},
                                          {"first axis / 16", 16},
                                          {"first axis / 32", 32},
                                          {"first axis last, padded to 8", 8, true},
                                          {"first axis last, padded to 16", 16, true}};
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

bool has_channels_last(Layout layout) {
  return information_of(layout).has_channels_last;
}

int channel_axis(Layout from, Layout to) {
  if (from == Layout::kLinear) return channel_axis(to);
  require(to == Layout::kLinear || channel_axis(from) == channel_axis(to),
          "layouts \"{}\" and \"{}\" have channels in different axes", name_of(from), name_of(to));
  return channel_axis(from);
}

int64_t storage_elements(const Shape& shape, Layout layout) {
  const int block = channel_block(layout);
  const int64_t elements = shape.volume();
  if (block == 1 || elements == 0) return elements;
  const int axis = channel_axis(layout);
  require(shape[axis] <= INT64_MAX - block,
          "shape {} in blocks of {} channels has more elements than fit 64 bits", shape, block);
  Shape padded = shape;
  padded[axis] = (shape[axis] + block - 1) / block * block;
  return padded.volume();
}

Shape strides_of(const Shape& shape, Layout layout) {
  const int channels = channel_axis(layout);
  std::vector<int> inner_first;  // axes
  for (int axis = shape.rank() - 1; axis >= 0; --axis) inner_first.push_back(axis);
  if (has_channels_last(layout)) {
    std::erase(inner_first, channels);
    inner_first.insert(inner_first.begin(), channels);
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
    stride *= axis == channels ? extent / block + (extent % block != 0 ? 1 : 0) : extent;
  }
  return strides;
}

}  // namespace tenon
