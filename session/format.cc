#include "tenon/session/format.h"

#include <cstring>
#include <string>

#include "guard.h"

namespace tenon::session {
namespace {

using nvinfer1::TensorFormat;

struct Row {
  TensorFormat format;
  const char* name;
  int axis;              // of the channels, counted from the last; 0 for formats without them
  int vector;            // the number of channels is padded to a multiple of it
  bool is_last = false;  // all channels lie side by side
};

constexpr Row kRows[] = {
    {TensorFormat::kLINEAR, "kLINEAR", 0, 1},     {TensorFormat::kCHW2, "kCHW2", 3, 2},
    {TensorFormat::kHWC8, "kHWC8", 3, 8, true},   {TensorFormat::kCHW4, "kCHW4", 3, 4},
    {TensorFormat::kCHW16, "kCHW16", 3, 16},      {TensorFormat::kCHW32, "kCHW32", 3, 32},
    {TensorFormat::kDHWC8, "kDHWC8", 4, 8, true}, {TensorFormat::kCDHW32, "kCDHW32", 4, 32},
    {TensorFormat::kHWC, "kHWC", 3, 1, true},     {TensorFormat::kHWC16, "kHWC16", 3, 16, true},
    {TensorFormat::kDHWC, "kDHWC", 4, 1, true}};

// A tensor as images of groups of channels, which lie side by side at each position of a plane.
struct Groups {
  int64_t images = 1, channels = 1, plane = 1;
  int64_t width = 1, groups = 1;

  int64_t elements() const { return images * groups * width * plane; }
};

Groups groups_of(TensorFormat format, const Shape& shape) {
  const Row* row = nullptr;
  for (const Row& known : kRows)
    if (known.format == format) row = &known;
  if (row == nullptr)
    throw Error{"TensorFormat " + std::to_string(static_cast<int>(format))
                + " is not supported: DLA's formats are its own"};
  Groups groups;
  const auto rank = static_cast<int>(shape.size());
  if (rank < row->axis)
    throw Error{std::string(row->name) + " needs a tensor of " + std::to_string(row->axis)
                + " dimensions or more, found shape " + shape_text(shape)};
  const int axis = row->axis > 0 ? rank - row->axis : -1;
  for (int i = 0; i < rank; ++i)
    (i < axis    ? groups.images
     : i == axis ? groups.channels
                 : groups.plane) *= shape[static_cast<size_t>(i)];
  groups.width = row->vector;
  groups.groups = (groups.channels + row->vector - 1) / row->vector;
  if (row->is_last) {
    groups.width *= groups.groups;
    groups.groups = 1;
  }
  return groups;
}

// Calls move(linear, packed, count) with the places of so many elements in both, in elements.
template <class Move> void for_each(const Groups& g, const Move& move) {
  int64_t linear = 0;
  for (int64_t image = 0; image < g.images; ++image)
    for (int64_t c = 0; c < g.channels; ++c) {
      int64_t packed = (image * g.groups + c / g.width) * g.width * g.plane + c % g.width;
      const int64_t run = g.width == 1 ? g.plane : 1;
      for (int64_t p = 0; p < g.plane; p += run, linear += run, packed += g.width)
        move(linear, packed, static_cast<size_t>(run));
    }
}

}  // namespace

Result<size_t> Format::bytes(nvinfer1::DataType type, const Shape& shape) const {
  return guard([&] {
    return static_cast<size_t>(groups_of(format_, shape).elements()) * element_size(type);
  });
}

Result<void> Format::pack(const Array& array, std::byte* to) const {
  return guard([&] {
    const Groups groups = groups_of(format_, array.shape);
    const size_t size = element_size(array.type);
    std::memset(to, 0, static_cast<size_t>(groups.elements()) * size);
    for_each(groups, [&](int64_t linear, int64_t packed, size_t count) {
      std::memcpy(to + static_cast<size_t>(packed) * size,
                  array.bytes.data() + static_cast<size_t>(linear) * size, count * size);
    });
  });
}

Result<void> Format::unpack(const std::byte* from, Array& array) const {
  return guard([&] {
    const size_t size = element_size(array.type);
    for_each(groups_of(format_, array.shape), [&](int64_t linear, int64_t packed, size_t count) {
      std::memcpy(array.bytes.data() + static_cast<size_t>(linear) * size,
                  from + static_cast<size_t>(packed) * size, count * size);
    });
  });
}

}  // namespace tenon::session
