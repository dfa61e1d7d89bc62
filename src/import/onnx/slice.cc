// Parts of tensors, and padding.
#include "import/node.h"

namespace tenon {
namespace {

using Code = nvonnxparser::ErrorCode;
using nvinfer1::SampleMode;

struct SliceAxis {
  Dim start, size;
  int64_t step;
};

// ONNX clamps: a start or end outside the axis means its border.
SliceAxis clamped(ExprPool& pool, Dim extent, Dim start, Dim end, int64_t step) {
  const Dim zero = pool.constant(0);
  const auto from_end = [&](Dim index) {
    if (index->is_integer_constant())
      return index->value.integer < 0 ? pool.add(extent, index) : index;
    const Dim negative = pool.make(ExprOp::kLess, index, zero);
    return pool.add(index, pool.make(ExprOp::kSelect, negative, extent, zero));
  };
  const bool backwards = step < 0;
  const Dim last = pool.sub(extent, pool.constant(1));
  const Dim lowest_end = backwards ? pool.constant(-1) : zero;
  start = pool.max(zero, pool.min(from_end(start), backwards ? last : extent));
  end = pool.max(lowest_end, pool.min(from_end(end), backwards ? last : extent));
  const Dim length = backwards ? pool.sub(start, end) : pool.sub(end, start);
  const Dim size = pool.max(zero, pool.ceil_div(length, pool.constant(backwards ? -step : step)));
  return {start, size, step};
}

// INT64_MIN plus an extent would still be negative, but -INT64_MAX steps must not overflow.
Dim saturated(ExprPool& pool, Dim d) {
  constexpr int64_t kFar = int64_t{1} << 40;
  if (!d->is_integer_constant()) return d;
  return pool.constant(std::clamp(d->value.integer, -kFar, kFar));
}

void slice(NodeContext& n, const Dims& starts, const Dims& ends, std::vector<int64_t> axes,
           std::vector<int64_t> steps) {
  Value& x = n.input(0);
  require(starts.size() == ends.size(), "it has {} starts and {} ends", starts.size(), ends.size());
  if (axes.empty())
    for (size_t i = 0; i < starts.size(); ++i) axes.push_back(static_cast<int64_t>(i));
  if (steps.empty()) steps.assign(starts.size(), 1);
  require(axes.size() == starts.size() && steps.size() == starts.size(),
          "it has {} starts, {} axes and {} steps", starts.size(), axes.size(), steps.size());
  n.know(x);
  Dims start(x.dims.size(), n.number(0)), size = x.dims, stride(x.dims.size(), n.number(1));
  for (size_t i = 0; i < axes.size(); ++i) {
    const auto axis = static_cast<size_t>(normalized_axis(axes[i], n.rank(x)));
    constexpr int64_t kMostStep = int64_t{1} << 40;
    require(steps[i] != 0, "a step is 0");
    const int64_t step = std::clamp(steps[i], -kMostStep, kMostStep);
    const SliceAxis s = clamped(n.pool(), x.dims[axis], saturated(n.pool(), starts[i]),
                                saturated(n.pool(), ends[i]), step);
    start[axis] = s.start;
    size[axis] = s.size;
    stride[axis] = n.number(s.step);
  }
  n.set_output(0, n.slice(x, start, size, stride));
}

Dims constants(NodeContext& n, const std::vector<int64_t>& values) {
  Dims dims;
  for (int64_t v : values) dims.push_back(n.number(v));
  return dims;
}

SampleMode pad_mode(NodeContext& n) {
  const std::string mode = n.text("mode", "constant");
  if (mode == "constant") return SampleMode::kFILL;
  if (mode == "edge") return SampleMode::kCLAMP;
  if (mode == "reflect") return SampleMode::kREFLECT;
  if (mode == "wrap") return SampleMode::kWRAP;
  fail_import(Code::kINVALID_NODE,
              "attribute 'mode' is '{}'; expected constant, edge, reflect or wrap", mode);
}

void pad(NodeContext& n, const Dims& pads, const std::vector<int64_t>& axes, Value* fill) {
  Value& x = n.input(0);
  const size_t count = axes.size();
  require(pads.size() == 2 * count, "it has {} pads for {} axes; expected two for each",
          pads.size(), count);
  const SampleMode mode = pad_mode(n);
  n.know(x);
  Dims start(x.dims.size(), n.number(0)), size = x.dims;
  for (size_t i = 0; i < count; ++i) {
    const auto axis = static_cast<size_t>(normalized_axis(axes[i], n.rank(x)));
    start[axis] = n.pool().make(ExprOp::kNeg, pads[i]);
    size[axis] = n.pool().add(size[axis], n.pool().add(pads[i], pads[i + count]));
    require(!size[axis]->is_constant() || size[axis]->value.integer >= 0,
            "axis {} would have size {} after padding", axis, text_of(size[axis]));
  }
  const Dims stride(x.dims.size(), n.number(1));
  n.set_output(0,
               n.slice(x, start, size, stride, mode, mode == SampleMode::kFILL ? fill : nullptr));
}

std::vector<int64_t> all_axes(NodeContext& n) {
  std::vector<int64_t> axes;
  for (int i = 0; i < n.rank(n.input(0)); ++i) axes.push_back(i);
  return axes;
}

}  // namespace

TENON_IMPORT(Slice, 1, "") {
  slice(n, constants(n, n.integers_in("starts")), constants(n, n.integers_in("ends")),
        n.integers_in("axes"), {});
}

TENON_IMPORT(Slice, 10, "axes and steps must be constant") {
  n.expect_inputs(3, 5);
  const Dims starts = n.host_elements(1, "starts"), ends = n.host_elements(2, "ends");
  const auto axes = n.has_input(3) ? n.integers_of(3, "axes") : std::vector<int64_t>{};
  const auto steps = n.has_input(4) ? n.integers_of(4, "steps") : std::vector<int64_t>{};
  slice(n, starts, ends, axes, steps);
}

TENON_IMPORT(Pad, 1, "") {
  const float value = n.real("value", 0);
  Value* fill = value == 0 ? nullptr : &n.constant(filled_tensor(n.input(0).type, Shape(), value));
  const auto pads = n.has("paddings") ? n.integers_in("paddings") : n.integers_in("pads");
  pad(n, constants(n, pads), all_axes(n), fill);
}

TENON_IMPORT(Pad, 11, "axes must be constant") {
  n.expect_inputs(2, 4);
  const Dims pads = n.host_elements(1, "pads");
  Value* fill = n.optional_input(2);
  if (fill != nullptr && n.rank(*fill) != 0) fill = &n.reshape(*fill, {});
  const auto axes = n.has_input(3) ? n.integers_of(3, "axes") : all_axes(n);
  pad(n, pads, axes, fill);
}

}  // namespace tenon
