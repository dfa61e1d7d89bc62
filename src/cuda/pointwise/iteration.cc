#include "cuda/pointwise/iteration.h"

#include "base/error.h"

namespace tenon::cuda {
namespace {

// Elements to skip for a step along each axis of the tensor.
Shape memory_strides(const Shape& shape, Layout layout) {
  if (layout == Layout::kLinear || shape.rank() < 2) return shape.strides();
  require(layout == Layout::kChannelsLast, "layout \"{}\" is not supported on a GPU",
          name_of(layout));
  Shape permuted = shape;
  permuted.erase(1);
  permuted.push_back(shape[1]);
  Shape strides = permuted.strides();
  const int64_t channel = strides.back();
  Shape own = Shape::filled(shape.rank(), channel);
  own[0] = strides[0];
  for (int axis = 2; axis < shape.rank(); ++axis) own[axis] = strides[axis - 1];
  return own;
}

// The result's axes from the outermost in.
std::vector<int> memory_order(int rank, Layout layout) {
  std::vector<int> axes;
  for (int axis = 0; axis < rank; ++axis)
    if (layout == Layout::kLinear || axis != 1) axes.push_back(axis);
  if (layout != Layout::kLinear && rank > 1) axes.push_back(1);
  return axes;
}

// Axes are added from the outermost in; one that continues the axis before it makes that longer.
void add_axis(Iteration& to, int64_t extent, std::span<const int64_t> strides) {
  if (extent == 1) return;
  const int last = to.extents.rank() - 1;
  bool joins = last >= 0;
  for (size_t k = 0; k < strides.size() && joins; ++k)
    joins = to.strides[k][last] == strides[k] * extent;
  if (!joins) {
    to.extents.push_back(extent);
    for (size_t k = 0; k < strides.size(); ++k) to.strides[k].push_back(strides[k]);
    return;
  }
  to.extents[last] *= extent;
  for (size_t k = 0; k < strides.size(); ++k) to.strides[k][last] = strides[k];
}

// An axis of the loop before axes are joined: `block` steps inside each of `extent`.
struct BlockedAxis {
  int64_t extent, block, rest;        // rest: steps after the last whole block
  std::vector<int64_t> outer, inner;  // per operand
};

BlockedAxis blocked_axis(std::span<const OperandView> operands, std::span<const Shape> strides,
                         int axis) {
  const Shape& out = operands[0].shape;
  BlockedAxis a{out[axis], 1, 0, {}, {}};
  for (const OperandView& x : operands)
    if (x.block.rank() > 0 && x.shape[axis] > 1) a.block = std::max(a.block, x.block[axis]);
  a.extent = out[axis] / a.block;
  a.rest = out[axis] % a.block;
  for (size_t k = 0; k < operands.size(); ++k) {
    const OperandView& x = operands[k];
    const bool is_blocked = x.block.rank() > 0 && x.block[axis] > 1 && x.shape[axis] > 1;
    const int64_t expected = is_blocked ? a.extent + (a.rest > 0) : out[axis];
    require(x.shape[axis] == 1
                || (x.shape[axis] == expected && (!is_blocked || x.block[axis] == a.block)),
            "an operand of shape {} does not fit a result of shape {}", x.shape, out);
    const int64_t stride = x.shape[axis] == 1 ? 0 : strides[k][axis];
    a.outer.push_back(is_blocked ? stride : stride * a.block);
    a.inner.push_back(is_blocked ? 0 : stride);
  }
  return a;
}

}  // namespace

std::vector<Iteration> iterations(std::span<const OperandView> operands) {
  const Shape& out = operands[0].shape;
  if (out.volume() == 0) return {};
  std::vector<Shape> strides;
  for (const OperandView& x : operands) {
    require(x.shape.rank() == out.rank(), "an operand of shape {} beside a result of shape {}",
            x.shape, out);
    strides.push_back(memory_strides(x.shape, x.layout));
  }
  std::vector<Iteration> all = {
      {{}, std::vector<Shape>(operands.size()), std::vector<int64_t>(operands.size(), 0)}};
  for (const int axis : memory_order(out.rank(), operands[0].layout)) {
    const BlockedAxis a = blocked_axis(operands, strides, axis);
    std::vector<Iteration> next;
    for (Iteration& before : all) {
      if (a.rest > 0) {  // the part of a block that is left over
        next.push_back(before);
        for (size_t k = 0; k < operands.size(); ++k)
          next.back().offsets[k] += a.extent * a.outer[k];
        add_axis(next.back(), a.rest, a.inner);
      }
      if (a.extent == 0) continue;
      add_axis(before, a.extent, a.outer);
      add_axis(before, a.block, a.inner);
      next.push_back(std::move(before));
    }
    all = std::move(next);
  }
  for (Iteration& i : all)
    if (i.extents.rank() == 0) {
      i.extents.push_back(1);
      for (Shape& s : i.strides) s.push_back(1);
    }
  return all;
}

std::vector<Iteration> halves(const Iteration& whole) {
  std::vector<Iteration> two = {whole, whole};
  const int64_t extent = whole.extents[0];
  // A multiple of 16 where that fits, so that vectors stay aligned.
  const int64_t half = extent / 2 >= 16 ? extent / 2 / 16 * 16 : extent / 2;
  two[0].extents[0] = half;
  two[1].extents[0] = extent - half;
  for (size_t k = 0; k < whole.offsets.size(); ++k) two[1].offsets[k] += half * whole.strides[k][0];
  return two;
}

}  // namespace tenon::cuda
