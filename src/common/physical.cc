#include "common/physical.h"

#include "base/error.h"

namespace tenon {

Shape physical_extents(const Shape& shape, Layout layout) {
  if (layout == Layout::kLinear) return shape;
  require(shape.rank() >= 2 && shape.rank() < Shape::kMaxRank,
          "layout \"{}\" needs a tensor of rank 2 to 7, found {}", name_of(layout), shape);
  Shape out = shape;
  if (layout == Layout::kChannelsLast) {
    out.erase(1);
    out.push_back(shape[1]);
  } else {
    const int block = channel_block(layout);
    out[1] = shape[1] / block + (shape[1] % block != 0 ? 1 : 0);  // a sum could be too large
    out.push_back(block);
  }
  return out;
}

Shape physical_strides(const Shape& operand, Layout operand_layout, const Shape& output,
                       Layout layout) {
  require(operand.rank() == output.rank(), "ranks differ: {} and {}", operand, output);
  const Shape extents = physical_extents(operand, operand_layout);
  Shape own = extents.strides();
  if (operand_layout == Layout::kLinear && layout != Layout::kLinear) {
    // Rows, seen along the axes of the other layout.
    const int64_t channel = own[1];
    if (layout == Layout::kChannelsLast) {
      own.erase(1);
    } else {
      own[1] = channel * channel_block(layout);
    }
    own.push_back(channel);
  } else {
    require(operand_layout == layout, "an operand in layout \"{}\" beside \"{}\" is not supported",
            name_of(operand_layout), name_of(layout));
  }
  // An axis of extent 1 is broadcast; the channel axis may have become two.
  const auto broadcast = [&](int axis) { return operand[axis] == 1; };
  for (int i = 0; i < own.rank(); ++i) {
    int axis = i;
    if (layout == Layout::kChannelsLast && i > 0) axis = i + 1 < own.rank() ? i + 1 : 1;
    if (channel_block(layout) > 1 && i + 1 == own.rank()) axis = 1;
    if (broadcast(axis)) own[i] = 0;
    require(operand[axis] == 1 || operand[axis] == output[axis],
            "shape {} does not broadcast to {}", operand, output);
  }
  return own;
}

}  // namespace tenon
