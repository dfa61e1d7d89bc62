// Parts of tensors, and padding.
#include "import/node.h"

namespace tenon {
namespace {

using Code = nvonnxparser::ErrorCode;
using nvinfer1::SampleMode;

// The value that a list gives for an axis: values[k] where axes[k] names it, else `otherwise`.
// Axes that are not known yet are compared when they are.
Dim chosen(ExprPool& pool, const Dims& axes, const Dims& values, int axis, int rank,
           Dim otherwise) {
  Dim value = otherwise;
  for (size_t k = 0; k < axes.size(); ++k) {
    const auto names = [&](int64_t number) {
      return pool.make(ExprOp::kEqual, axes[k], pool.constant(number));
    };
    value = pool.make(ExprOp::kSelect, names(axis), values[k],
                      pool.make(ExprOp::kSelect, names(axis - rank), values[k], value));
  }
  return value;
}

// Known axes must be there, once.
void check_axes(const Dims& axes, int rank) {
  require(axes.size() <= static_cast<size_t>(rank), "it names {} axes; its input has {}",
          axes.size(), rank);
  uint32_t seen = 0;
  for (Dim d : axes) {
    if (!d->is_integer_constant()) continue;
    const uint32_t bit = 1u << normalized_axis(d->value.integer, rank);
    require((seen & bit) == 0, "axis {} is given twice", d->value.integer);
    seen |= bit;
  }
}

struct SliceAxis {
  Dim start, size;
};

// ONNX clamps: a start or end outside the axis means its border.
SliceAxis clamped(ExprPool& pool, Dim extent, Dim start, Dim end, Dim step) {
  const Dim zero = pool.constant(0), one = pool.constant(1);
  const auto from_end = [&](Dim index) {
    if (index->is_integer_constant())
      return index->value.integer < 0 ? pool.add(extent, index) : index;
    const Dim negative = pool.make(ExprOp::kLess, index, zero);
    return pool.add(index, pool.make(ExprOp::kSelect, negative, extent, zero));
  };
  const Dim from = from_end(start), to = from_end(end);
  const Dim last = pool.sub(extent, one);
  const auto forwards = [&]() -> SliceAxis {
    const Dim first = pool.max(zero, pool.min(from, extent));
    const Dim length = pool.sub(pool.max(zero, pool.min(to, extent)), first);
    const Dim pace = step->is_constant() ? step : pool.max(one, step);
    return {first, pool.max(zero, pool.ceil_div(length, pace))};
  };
  const auto backwards = [&]() -> SliceAxis {
    const Dim first = pool.max(zero, pool.min(from, last));
    const Dim length = pool.sub(first, pool.max(pool.constant(-1), pool.min(to, last)));
    const Dim back = pool.make(ExprOp::kNeg, step);
    const Dim pace = step->is_constant() ? back : pool.max(one, back);
    return {first, pool.max(zero, pool.ceil_div(length, pace))};
  };
  if (step->is_constant()) return step->value.integer < 0 ? backwards() : forwards();
  const Dim is_backwards = pool.make(ExprOp::kLess, step, zero);
  const SliceAxis f = forwards(), b = backwards();
  return {pool.make(ExprOp::kSelect, is_backwards, b.start, f.start),
          pool.make(ExprOp::kSelect, is_backwards, b.size, f.size)};
}

// What lies beyond any extent may as well lie nearer, where sums with it do not overflow.
Dim saturated(ExprPool& pool, Dim d) {
  constexpr int64_t kFar = int64_t{1} << 40;
  return pool.max(pool.constant(-kFar), pool.min(d, pool.constant(kFar)));
}

Dims constants(NodeContext& n, const std::vector<int64_t>& values) {
  Dims dims;
  for (int64_t v : values) dims.push_back(n.number(v));
  return dims;
}

Dims first_axes(NodeContext& n, size_t count) {
  Dims axes;
  for (size_t i = 0; i < count; ++i) axes.push_back(n.number(static_cast<int64_t>(i)));
  return axes;
}

void slice(NodeContext& n, Dims starts, Dims ends, const Dims& axes, Dims steps) {
  Value& x = n.input(0);
  require(starts.size() == ends.size(), "it has {} starts and {} ends", starts.size(), ends.size());
  require(axes.size() == starts.size() && steps.size() == starts.size(),
          "it has {} starts, {} axes and {} steps", starts.size(), axes.size(), steps.size());
  const int rank = n.rank(x);
  check_axes(axes, rank);
  for (Dims* list : {&starts, &ends, &steps})
    for (Dim& d : *list)
      // A start or end that is not known yet has nothing added to it that it may overflow with.
      if (list == &steps || d->is_constant()) d = saturated(n.pool(), d);
  for (Dim d : steps) require(!d->is_constant() || d->value.integer != 0, "a step is 0");
  n.know(x);
  Dims start, size, stride;
  for (int axis = 0; axis < rank; ++axis) {
    const Dim extent = x.dims[static_cast<size_t>(axis)];
    const auto choose = [&](const Dims& values, Dim otherwise) {
      return chosen(n.pool(), axes, values, axis, rank, otherwise);
    };
    const Dim step = choose(steps, n.number(1));
    const SliceAxis s =
        clamped(n.pool(), extent, choose(starts, n.number(0)), choose(ends, extent), step);
    start.push_back(s.start);
    size.push_back(s.size);
    stride.push_back(step);
  }
  n.set_output(0, n.slice(x, start, size, stride));
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

void pad(NodeContext& n, const Dims& pads, const Dims& axes, Value* fill) {
  Value& x = n.input(0);
  const size_t count = axes.size();
  require(pads.size() == 2 * count, "it has {} pads for {} axes; expected two for each",
          pads.size(), count);
  const int rank = n.rank(x);
  check_axes(axes, rank);
  const SampleMode mode = pad_mode(n);
  n.know(x);
  const auto middle = pads.begin() + static_cast<std::ptrdiff_t>(count);
  const Dims before(pads.begin(), middle), after(middle, pads.end());
  Dims start, size = x.dims;
  for (int axis = 0; axis < rank; ++axis) {
    const Dim first = chosen(n.pool(), axes, before, axis, rank, n.number(0));
    const Dim last = chosen(n.pool(), axes, after, axis, rank, n.number(0));
    Dim& extent = size[static_cast<size_t>(axis)];
    start.push_back(n.pool().make(ExprOp::kNeg, first));
    extent = n.pool().add(extent, n.pool().add(first, last));
    require(!extent->is_constant() || extent->value.integer >= 0,
            "axis {} would have size {} after padding", axis, text_of(extent));
  }
  const Dims stride(x.dims.size(), n.number(1));
  n.set_output(0,
               n.slice(x, start, size, stride, mode, mode == SampleMode::kFILL ? fill : nullptr));
}

Dims all_axes(NodeContext& n) {
  return first_axes(n, n.input(0).dims.size());
}

}  // namespace

TENON_IMPORT(Slice, 1, "") {
  const Dims starts = constants(n, n.integers_in("starts"));
  const Dims axes =
      n.has("axes") ? constants(n, n.integers_in("axes")) : first_axes(n, starts.size());
  slice(n, starts, constants(n, n.integers_in("ends")), axes, Dims(starts.size(), n.number(1)));
}

TENON_IMPORT(Slice, 10, "") {
  n.expect_inputs(3, 5);
  const Dims starts = n.host_elements(1, "starts"), ends = n.host_elements(2, "ends");
  const Dims axes = n.has_input(3) ? n.host_elements(3, "axes") : first_axes(n, starts.size());
  const Dims steps =
      n.has_input(4) ? n.host_elements(4, "steps") : Dims(starts.size(), n.number(1));
  slice(n, starts, ends, axes, steps);
}

TENON_IMPORT(Pad, 1, "") {
  const float value = n.real("value", 0);
  Value* fill = value == 0 ? nullptr : &n.reshape(n.scalar(n.input(0), value), {});
  const auto pads = n.has("paddings") ? n.integers_in("paddings") : n.integers_in("pads");
  pad(n, constants(n, pads), all_axes(n), fill);
}

TENON_IMPORT(Pad, 11, "") {
  n.expect_inputs(2, 4);
  const Dims pads = n.host_elements(1, "pads");
  Value* fill = n.optional_input(2);
  if (fill != nullptr && n.rank(*fill) != 0) fill = &n.reshape(*fill, {});
  const Dims axes = n.has_input(3) ? Dims(n.host_elements(3, "axes")) : all_axes(n);
  pad(n, pads, axes, fill);
}

TENON_IMPORT(CenterCropPad, 18, "") {
  n.expect_inputs(2, 2);
  Value& x = n.input(0);
  const Dims wanted = n.host_elements(1, "the shape");
  const Dims axes = n.has("axes") ? constants(n, n.integers_in("axes")) : all_axes(n);
  require(wanted.size() == axes.size(), "the shape has {} entries for {} axes", wanted.size(),
          axes.size());
  check_axes(axes, n.rank(x));
  n.know(x);
  Dims start, size;
  for (int axis = 0; axis < n.rank(x); ++axis) {
    const Dim extent = x.dims[static_cast<size_t>(axis)];
    size.push_back(chosen(n.pool(), axes, wanted, axis, n.rank(x), extent));
    // Half of what is cropped, or minus half of what is added, both rounded down.
    start.push_back(
        n.pool().make(ExprOp::kTruncDiv, n.pool().sub(extent, size.back()), n.number(2)));
  }
  n.set_output(0, n.slice(x, start, size, Dims(x.dims.size(), n.number(1)), SampleMode::kFILL));
}

}  // namespace tenon
