#include "ops/support/scale_blocks.h"

#include <cmath>

#include "ops/support/infer.h"
#include "ops/support/reference.h"

namespace tenon {

void ScaleLayout::visit(FieldVisitor& v) {
  v("axis", axis);
  v("block", block);
}

namespace {

bool is_one_scale(const Shape& scale) {
  return scale.rank() <= 1 && scale.volume() == 1;
}

}  // namespace

Shape block_extents(const ScaleLayout& layout, const Shape& data, const Shape& scale) {
  Shape blocks = data;
  if (is_one_scale(scale)) return blocks;
  if (scale.rank() == 1 && layout.block.rank() == 0) {
    const int axis = normalized_axis(layout.axis, data.rank());
    require(scale[0] == data[axis], "expected {} scales, one per position along axis {}, found {}",
            data[axis], axis, scale[0]);
    blocks[axis] = 1;
    return blocks;
  }
  require(
      scale.rank() == data.rank(),
      "expected one scale, a list of them for one axis, or a scale of the data's rank {}, found "
      "a scale of shape {}",
      data.rank(), scale);
  require(layout.block.rank() == 0 || layout.block.rank() == data.rank(),
          "expected a block of {} extents, found {}", data.rank(), layout.block);
  for (int i = 0; i < data.rank(); ++i) {
    const int64_t chosen = layout.block.rank() > 0 ? layout.block[i] : 0;
    if (chosen > 0)
      blocks[i] = chosen;
    else if (chosen == 0 && scale[i] > 0)
      blocks[i] = (data[i] + scale[i] - 1) / scale[i];
    blocks[i] = std::max<int64_t>(blocks[i], 1);
    const int64_t expected = data[i] / blocks[i] + (data[i] % blocks[i] != 0);
    require(scale[i] == expected,
            "axis {}: expected {} scales for {} elements in blocks of {}, found {}", i, expected,
            data[i], blocks[i], scale[i]);
  }
  return blocks;
}

void check_scales(const Inference& c, const ScaleLayout& layout) {
  require(is_float(c.type(1)), "expected scales (input 1) of a floating-point type, found {}",
          name_of(c.type(1)));
  if (const Tensor* scales = c.constant(1))
    for (double scale : scales->numbers())
      require(std::isfinite(scale), "expected finite scales (input 1), found {}", scale);
  for (int64_t extent : layout.block)
    require(extent > 0 || extent == -1, "expected block extents of 1 or more, or -1, found {}",
            extent);
  const auto data = c.constant_shape(0), scale = c.constant_shape(1);
  if (data && scale) block_extents(layout, *data, *scale);
  const bool per_axis = c.rank(1) == 1 && layout.block.rank() == 0;
  if (per_axis && (!scale || scale->volume() != 1)) normalized_axis(layout.axis, c.rank(0));
  if (c.rank(1) > 1 || layout.block.rank() > 0)
    require(c.rank(1) == c.rank(0) || (scale && is_one_scale(*scale)),
            "expected scales (input 1) of the data's rank {}, found {}", c.rank(0),
            text_of(c.dims(1)));
  if (!c.has_input(2)) return;
  const auto zero = c.constant_shape(2);
  if (zero && scale)
    require(*zero == *scale || (is_one_scale(*zero) && is_one_scale(*scale)),
            "expected zero points (input 2) of the scales' shape {}, found {}", *scale, *zero);
}

ScaleBlocks scale_blocks(const ScaleLayout& layout, const Shape& data, const Shape& scale) {
  const Shape blocks = block_extents(layout, data, scale);
  int axis = data.rank() - 1;  // the innermost along which scales differ
  while (axis >= 0 && blocks[axis] >= data[axis]) --axis;
  ScaleBlocks s;
  if (axis < 0) {
    s.inner = data.volume();
    s.first = {0};
    return s;
  }
  s.outer = data.volume(0, axis);
  s.extent = data[axis];
  s.block = blocks[axis];
  s.inner = data.volume(axis + 1, data.rank());
  s.first.assign(static_cast<size_t>(s.outer), 0);
  if (scale.rank() != data.rank()) return s;  // a list for one axis
  const Shape steps = scale.strides();
  for (int64_t row = 0; row < s.outer; ++row) {
    int64_t rest = row, at = 0;
    for (int i = axis - 1; i >= 0; rest /= data[i], --i)
      at += rest % data[i] / blocks[i] * steps[i];
    s.first[static_cast<size_t>(row)] = at;
  }
  return s;
}

}  // namespace tenon
