#include "ops/resize.h"

#include <cmath>

#include "ops/support/infer.h"
#include "ops/support/reference.h"
#include "ops/support/resize_weights.h"

namespace tenon {

using nvinfer1::InterpolationMode;
using nvinfer1::ResizeCoordinateTransformation;
using nvinfer1::ResizeRoundMode;

TENON_REGISTER_OP(Resize);

void Resize::visit(FieldVisitor& v) {
  v("mode", mode);
  v("coordinates", coordinates);
  v("selector", selector);
  v("rounding", rounding);
  v("cubic_coefficient", cubic_coefficient);
  v("exclude_outside", exclude_outside);
  v("antialias", antialias);
  v("extrapolation_value", extrapolation_value);
  v("input_is_scales", input_is_scales);
  v("output_size", output_size);
  v("scales", scales);
}

namespace {

bool is_crop(const Resize& op) {
  return static_cast<PrivateCoordinates>(op.coordinates) == PrivateCoordinates::kTfCropAndResize;
}

void check_attributes(const Resize& op) {
  require(op.mode >= InterpolationMode::kNEAREST && op.mode <= InterpolationMode::kCUBIC,
          "expected an InterpolationMode (0 to 2), found {}", static_cast<int32_t>(op.mode));
  const auto c = static_cast<int32_t>(op.coordinates);
  const bool public_rule =
      c >= static_cast<int32_t>(ResizeCoordinateTransformation::kALIGN_CORNERS)
      && c <= static_cast<int32_t>(ResizeCoordinateTransformation::kHALF_PIXEL);
  const bool private_rule = c >= static_cast<int32_t>(PrivateCoordinates::kPytorchHalfPixel)
                            && c <= static_cast<int32_t>(PrivateCoordinates::kHalfPixelSymmetric);
  require(public_rule || private_rule, "unknown coordinate transformation {}", c);
  require(op.rounding >= ResizeRoundMode::kHALF_UP && op.rounding <= ResizeRoundMode::kCEIL,
          "expected a ResizeRoundMode (0 to 3), found {}", static_cast<int32_t>(op.rounding));
  for (float s : op.scales)
    require(s > 0 && std::isfinite(s), "expected positive scales, found {}", s);
}

Dim scaled(ExprPool& pool, Dim extent, Dim scale) {
  require(!scale->is_constant() || scale->value.as_double() > 0,
          "expected positive scales, found {}", text_of(scale));
  if (scale->is_constant() && scale->value.as_double() == 1) return extent;
  const Dim product = pool.make(ExprOp::kMul, pool.make(ExprOp::kToFloat, extent), scale);
  return pool.make(ExprOp::kTruncate, pool.make(ExprOp::kFloor, product));
}

Dims output_dims(const Resize& op, Inference& c) {
  const auto rank = static_cast<size_t>(c.rank(0));
  Dims dims;
  const auto check = [&](size_t count, const char* what) {
    require(count == rank, "expected {} entries in the {}, one per axis, found {}", rank, what,
            count);
  };
  if (op.input_is_scales && c.has_input(3)) {
    require_index(c, 3, "the output size");
    require_count(c, 1, "the scales", static_cast<int64_t>(rank));
    const Content& size = c.known_content(3, "output size");
    check(size.size(), "output size");
    for (Dim extent : size) dims.push_back(c.pool().max(extent, c.pool().constant(0)));
  } else if (c.has_input(1)) {
    const char* what = op.input_is_scales ? "scales" : "output size";
    if (op.input_is_scales)
      require(c.type(1) == DataType::kFLOAT, "expected scales (input 1) of type float32, found {}",
              name_of(c.type(1)));
    else
      require_index(c, 1, "the output size");
    const Content& given = c.known_content(1, what);
    check(given.size(), what);
    for (size_t i = 0; i < rank; ++i)
      dims.push_back(op.input_is_scales ? scaled(c.pool(), c.dims(0)[i], given[i]) : given[i]);
  } else if (op.output_size.rank() > 0 || op.scales.empty()) {
    check(static_cast<size_t>(op.output_size.rank()), "output size");
    for (int64_t extent : op.output_size) dims.push_back(c.pool().constant(extent));
  } else {
    check(op.scales.size(), "scales");
    for (size_t i = 0; i < rank; ++i)
      dims.push_back(scaled(c.pool(), c.dims(0)[i],
                            c.pool().constant_float(static_cast<double>(op.scales[i]))));
  }
  return dims;
}

}  // namespace

void Resize::infer(Inference& c) const {
  require_inputs(c, 1, 4);
  check_attributes(*this);
  if (mode != InterpolationMode::kNEAREST || is_crop(*this)) require_float(c, 0, "the data");
  if (!scales.empty())
    require(static_cast<int>(scales.size()) == c.rank(0),
            "expected {} scales, one per axis, found {}", c.rank(0), scales.size());
  if (is_crop(*this)) {
    require(c.has_input(2), "expected a region of interest (input 2)");
    require_count(c, 2, "the region of interest", 2 * c.rank(0));
  }
  c.set_output(0, c.type(0), output_dims(*this, c));
}

namespace {

// How each axis of the call is resized.
std::vector<AxisResize> axes_of(const Resize& op, const ReferenceCall& call) {
  const Shape &in = call.inputs[0].shape, &out = call.outputs[0].shape;
  require(in.rank() == out.rank(), "cannot resize {} to {}", in, out);
  std::vector<float> scales = op.scales;
  const auto given = [&](size_t i) {
    return i < call.inputs.size() && call.inputs[i].data != nullptr;
  };
  const auto rank = static_cast<size_t>(in.rank());
  if (given(1) && op.input_is_scales) {
    const Floats values(call.inputs[1]);
    scales.assign(values.data(), values.data() + call.inputs[1].shape.volume());
  }
  require(scales.empty() || scales.size() == rank, "expected {} scales, found {}", rank,
          scales.size());
  std::vector<AxisResize> axes(rank);
  for (size_t i = 0; i < rank; ++i) {
    AxisResize& a = axes[i] = axis_resize(in, out, scales, static_cast<int>(i));
    if (!is_crop(op)) continue;
    require(given(2) && call.inputs[2].shape.volume() == 2 * in.rank(),
            "expected a region of interest of {} elements", 2 * in.rank());
    const Floats roi(call.inputs[2]);
    a.roi_start = roi[static_cast<int64_t>(i)];
    a.roi_end = roi[static_cast<int64_t>(i + rank)];
    require(std::isfinite(a.roi_start) && std::isfinite(a.roi_end),
            "axis {}: expected a finite region of interest, found {} to {}", i, a.roi_start,
            a.roi_end);
  }
  return axes;
}

void resize_nearest(const Resize& op, const std::vector<AxisResize>& axes,
                    const ReferenceCall& call) {
  const Shape strides = call.inputs[0].shape.strides();
  OffsetTables tables;
  for (size_t i = 0; i < axes.size(); ++i) {
    tables.push_back(nearest_positions(op, axes[i]));
    for (int64_t& position : tables.back()) position *= strides[static_cast<int>(i)];
  }
  copy_indexed(element_bytes(call.inputs[0].type), call.outputs[0].shape, tables,
               call.inputs[0].data, call.outputs[0].data);
}

// One axis at a time: (outer, in, inner) to (outer, out, inner).
std::vector<float> resize_axis(const std::vector<float>& from, const AxisTaps& taps, int64_t in,
                               int64_t outer, int64_t inner) {
  const auto out = static_cast<int64_t>(taps.size());
  std::vector<float> to(static_cast<size_t>(outer * out * inner));
  const int64_t grain = std::max<int64_t>(1, 16384 / std::max<int64_t>(1, inner));
  parallel_for(outer * out, grain, [&](int64_t begin, int64_t end) {
    std::vector<double> sum(static_cast<size_t>(inner));
    for (int64_t i = begin; i < end; ++i) {
      std::fill(sum.begin(), sum.end(), 0.0);
      for (const Tap& tap : taps[static_cast<size_t>(i % out)]) {
        const float* row = from.data() + (i / out * in + tap.position) * inner;
        for (size_t k = 0; k < sum.size(); ++k) sum[k] += tap.weight * double{row[k]};
      }
      for (size_t k = 0; k < sum.size(); ++k)
        to[static_cast<size_t>(i * inner) + k] = static_cast<float>(sum[k]);
    }
  });
  return to;
}

std::vector<float> interpolated(const Resize& op, const std::vector<AxisResize>& axes,
                                const ReferenceCall& call) {
  const Floats in(call.inputs[0]);
  std::vector<float> values(in.data(), in.data() + call.inputs[0].shape.volume());
  Shape shape = call.inputs[0].shape;
  for (size_t i = 0; i < axes.size(); ++i) {
    const auto axis = static_cast<int>(i);
    const AxisTaps taps = interpolation_taps(op, axes[i]);
    if (is_identity(taps, axes[i])) continue;
    values = resize_axis(values, taps, axes[i].in, shape.volume(0, axis),
                         shape.volume(axis + 1, shape.rank()));
    shape[axis] = axes[i].out;
  }
  return values;
}

// Results whose coordinate leaves the input along any axis are the extrapolation value.
template <class T>
void extrapolate(const Resize& op, const std::vector<AxisResize>& axes, const TensorView& out) {
  for (size_t i = 0; i < axes.size(); ++i) {
    const auto axis = static_cast<int>(i);
    const int64_t outer = out.shape.volume(0, axis);
    const int64_t inner = out.shape.volume(axis + 1, out.shape.rank());
    for (int64_t x = 0; x < axes[i].out; ++x) {
      const double at = coordinate(op, axes[i], x);
      if (at >= 0 && at <= static_cast<double>(axes[i].in - 1)) continue;
      for (int64_t o = 0; o < outer; ++o)
        std::fill_n(out.as<T>() + (o * axes[i].out + x) * inner, inner,
                    store<T>(op.extrapolation_value));
    }
  }
}

}  // namespace

void Resize::reference(const ReferenceCall& call) const {
  const auto axes = axes_of(*this, call);
  const TensorView& out = call.outputs[0];
  if (out.shape.volume() == 0) return;
  if (mode == InterpolationMode::kNEAREST) {
    resize_nearest(*this, axes, call);
  } else {
    const std::vector<float> values = interpolated(*this, axes, call);
    with_float(out.type, [&](auto zero) {
      for (size_t i = 0; i < values.size(); ++i)
        out.as<decltype(zero)>()[i] = store<decltype(zero)>(values[i]);
    });
  }
  if (is_crop(*this))
    with_float(out.type, [&](auto zero) { extrapolate<decltype(zero)>(*this, axes, out); });
}

void Resize::insert_batch_axis(int32_t) {
  if (output_size.rank() > 0 || scales.empty())
    fail(ErrorCode::kUNSUPPORTED_STATE,
         "output dimensions are not supported yet with an implicit batch: call setScales");
  scales.insert(scales.begin(), 1.f);
}

}  // namespace tenon
