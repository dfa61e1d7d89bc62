#include "ops/slice.h"

#include "ops/support/infer.h"
#include "ops/support/reference.h"

namespace tenon {

using nvinfer1::SampleMode;

TENON_REGISTER_OP(Slice);

void Slice::visit(FieldVisitor& v) {
  v("start", start);
  v("size", size);
  v("stride", stride);
  v("axes", axes);
  v("mode", mode);
}

namespace {

// The axes that start, size and stride talk about.
std::vector<int> sliced_axes(std::span<const int64_t> given, int rank, bool all) {
  std::vector<int> out;
  if (all)
    for (int axis = 0; axis < rank; ++axis) out.push_back(axis);
  std::vector<bool> seen(static_cast<size_t>(rank));
  for (int64_t axis : given) {
    out.push_back(normalized_axis(axis, rank));
    require(!seen[static_cast<size_t>(out.back())], "axis {} is sliced twice", axis);
    seen[static_cast<size_t>(out.back())] = true;
  }
  return out;
}

// Start, size or stride as expressions: the input if it is there, else the attribute.
Dims parameter(Inference& c, int input, const Shape& attribute, const char* what, size_t count) {
  Dims values;
  if (c.has_input(input)) {
    require_index(c, input, what);
    require(c.rank(input) == 1, "expected a one-dimensional {} (input {}), found {}", what, input,
            text_of(c.dims(input)));
    if (const auto shape = c.constant_shape(input))
      require((*shape)[0] == static_cast<int64_t>(count),
              "expected {} entries in the {} (input {}), found {}", count, what, input,
              (*shape)[0]);
    if (c.content(input) == nullptr && input != Slice::kSize) return {};  // read when it runs
    values = c.known_content(input, what);
  } else {
    for (int64_t v : attribute) values.push_back(c.pool().constant(v));
  }
  require(values.size() == count, "expected {} entries in the {}, found {}", count, what,
          values.size());
  return values;
}

// Whether every sample lies inside an axis, where that is known already.
void check_bounds(int axis, Dim extent, Dim start, Dim size, Dim stride) {
  for (Dim d : {extent, start, size, stride})
    if (!d->is_integer_constant()) return;
  if (size->value.integer == 0) return;
  const int64_t first = start->value.integer;
  int64_t last = 0;
  const bool overflow =
      __builtin_mul_overflow(size->value.integer - 1, stride->value.integer, &last)
      || __builtin_add_overflow(last, first, &last);
  require(!overflow && std::min(first, last) >= 0 && std::max(first, last) < extent->value.integer,
          "axis {}: expected samples within [0, {}), but start {}, size {} and stride {} leave it",
          axis, extent->value.integer, first, size->value.integer, stride->value.integer);
}

}  // namespace

int64_t sampled_position(int64_t i, int64_t extent, SampleMode mode) {
  if (i >= 0 && i < extent) return i;
  switch (mode) {
    case SampleMode::kFILL:
      return kOutside;
    case SampleMode::kCLAMP:
      return i < 0 ? 0 : extent - 1;
    case SampleMode::kWRAP:
      return (i % extent + extent) % extent;
    case SampleMode::kREFLECT: {
      if (extent == 1) return 0;
      const int64_t period = 2 * (extent - 1);
      const int64_t phase = (i % period + period) % period;
      return phase < extent ? phase : period - phase;
    }
    default:
      return kOutside;
  }
}

void Slice::infer(Inference& c) const {
  require_inputs(c, 1, 6);
  require(mode >= SampleMode::kSTRICT_BOUNDS && mode <= SampleMode::kREFLECT,
          "expected a SampleMode (0 to 4), found {}", static_cast<int32_t>(mode));
  std::vector<int64_t> named(axes.begin(), axes.end());
  if (c.has_input(kAxes)) {
    const auto given = constant_integers(c, kAxes);
    require(given.has_value(), "expected constant axes (input {})", static_cast<int>(kAxes));
    named = given->integers();
  }
  const auto along = sliced_axes(named, c.rank(kData), !c.has_input(kAxes) && axes.rank() == 0);
  const Dims starts = parameter(c, kStart, start, "start", along.size());
  const Dims sizes = parameter(c, kSize, size, "size", along.size());
  const Dims strides = parameter(c, kStride, stride, "stride", along.size());
  if (c.has_input(kFill)) {
    require_type_of_data(c, kFill, "the fill value");
    require_count(c, kFill, "the fill value", 1);
  }
  Dims dims = c.dims(kData);
  for (size_t k = 0; k < along.size(); ++k) {
    const auto axis = static_cast<size_t>(along[k]);
    require(!sizes[k]->is_constant() || sizes[k]->value.integer >= 0,
            "axis {}: expected a size of at least 0, found {}", axis, text_of(sizes[k]));
    if (mode == SampleMode::kSTRICT_BOUNDS && !starts.empty() && !strides.empty())
      check_bounds(along[k], dims[axis], starts[k], sizes[k], strides[k]);
    dims[axis] = sizes[k];
  }
  set_output_and_content(c, c.type(kData), std::move(dims), {kData}, [&](const Shape& shape) {
    const Tensor from = numbered(*c.constant_shape(kData));
    std::vector<Tensor> tensors(6);
    std::vector<TensorView> inputs{view_of(from)};
    for (int i = kStart; i < c.input_count(); ++i) {
      inputs.emplace_back();
      if (!c.has_input(i) || i == kFill) continue;
      const auto t = constant_integers(c, i);
      require(t.has_value(), "not constant");
      tensors[static_cast<size_t>(i)] = *t;
      inputs.back() = view_of(*t);
    }
    const Tensor fill = Tensor::of<int64_t>(DataType::kINT64, {}, std::vector<int64_t>{-1});
    inputs.resize(6);
    inputs[kFill] = view_of(fill);
    Tensor to(DataType::kINT64, shape);
    const TensorView outputs[] = {view_of(to)};
    reference({inputs, outputs});
    Dim outside =
        c.type(kData) == DataType::kFLOAT ? c.pool().constant_float(0) : c.pool().constant(0);
    if (c.has_input(kFill)) outside = c.known_content(kFill, "the fill value").at(0);
    Content content;
    for (int64_t i : to.integers())
      content.push_back(i < 0 ? outside : (*c.content(kData))[static_cast<size_t>(i)]);
    return content;
  });
}

void Slice::reference(const ReferenceCall& call) const {
  const TensorView &in = call.inputs[kData], &out = call.outputs[0];
  const auto given = [&](size_t i) {
    return i < call.inputs.size() && call.inputs[i].data != nullptr;
  };
  const auto list = [&](size_t i, const Shape& attribute) {
    return given(i) ? read_integers(call.inputs[i])
                    : std::vector<int64_t>(attribute.begin(), attribute.end());
  };
  const auto along =
      sliced_axes(list(kAxes, axes), in.shape.rank(), !given(kAxes) && axes.rank() == 0);
  const auto starts = list(kStart, start), steps = list(kStride, stride);
  require(starts.size() == along.size() && steps.size() == along.size(),
          "expected {} entries in start and stride, found {} and {}", along.size(), starts.size(),
          steps.size());
  const Shape strides = in.shape.strides();
  OffsetTables tables = offset_tables(out.shape, strides);
  for (int axis = 0; axis < in.shape.rank(); ++axis) {
    const auto it = std::find(along.begin(), along.end(), axis);
    if (it == along.end()) {
      require(out.shape[axis] == in.shape[axis], "axis {}: expected extent {}, found {}", axis,
              in.shape[axis], out.shape[axis]);
      continue;
    }
    const auto k = static_cast<size_t>(it - along.begin());
    int64_t position = starts[k];
    bool is_first = true;
    for (int64_t& offset : tables[static_cast<size_t>(axis)]) {
      require(is_first || !__builtin_add_overflow(position, steps[k], &position),
              "axis {}: stride {} overflows", axis, steps[k]);
      is_first = false;
      const bool inside = position >= 0 && position < in.shape[axis];
      require(inside || mode == SampleMode::kFILL
                  || (mode != SampleMode::kSTRICT_BOUNDS && in.shape[axis] > 0),
              "axis {}: sample {} lies outside [0, {})", axis, position, in.shape[axis]);
      const int64_t from = sampled_position(position, in.shape[axis], mode);
      offset = from == kOutside ? kOutside : from * strides[axis];
    }
  }
  const int64_t zero = 0;  // all bits zero is 0 in every type
  copy_indexed(element_bytes(in.type), out.shape, tables, in.data, out.data,
               given(kFill) ? call.inputs[kFill].data : &zero);
}

void Slice::insert_batch_axis(int32_t) {
  if (axes.rank() == 0)
    for (int axis = 0; axis < start.rank(); ++axis) axes.push_back(axis);
  for (int i = 0; i < axes.rank(); ++i) axes[i] += axes[i] >= 0 ? 1 : 0;
}

}  // namespace tenon
