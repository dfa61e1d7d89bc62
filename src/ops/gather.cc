#include "ops/gather.h"

#include <cstring>

#include "ops/support/infer.h"
#include "ops/support/reference.h"

namespace tenon {

using nvinfer1::GatherMode;

TENON_REGISTER_OP(Gather);

void Gather::visit(FieldVisitor& v) {
  v("mode", mode);
  v("axis", axis);
  v("batch_axes", batch_axes);
}

namespace {

void require_equal(Dim a, Dim b, size_t axis) {
  require(!a->is_constant() || !b->is_constant() || a == b,
          "expected data and indices of equal extent along batch axis {}, found {} and {}", axis,
          text_of(a), text_of(b));
}

Dims default_dims(const Inference& c, int axis, int batch) {
  const Dims &data = c.dims(0), &indices = c.dims(1);
  require(batch >= 0 && batch <= axis && batch <= c.rank(1),
          "expected 0 to {} batch axes, found {}", std::min(axis, c.rank(1)), batch);
  for (int i = 0; i < batch; ++i)
    require_equal(data[static_cast<size_t>(i)], indices[static_cast<size_t>(i)],
                  static_cast<size_t>(i));
  Dims out(data.begin(), data.begin() + axis);
  out.insert(out.end(), indices.begin() + batch, indices.end());
  out.insert(out.end(), data.begin() + axis + 1, data.end());
  return out;
}

Dims element_dims(const Inference& c, int axis) {
  const Dims &data = c.dims(0), &indices = c.dims(1);
  require(data.size() == indices.size(), "expected data and indices of equal rank, found {} and {}",
          text_of(data), text_of(indices));
  for (size_t i = 0; i < data.size(); ++i)
    require(static_cast<int>(i) == axis || !data[i]->is_constant() || !indices[i]->is_constant()
                || indices[i]->value.integer <= data[i]->value.integer,
            "axis {}: expected at most {} indices, found {}", i, text_of(data[i]),
            text_of(indices[i]));
  return indices;
}

Dims nd_dims(const Inference& c, int batch) {
  const Dims &data = c.dims(0), &indices = c.dims(1);
  require(!data.empty() && !indices.empty(), "expected data and indices of rank 1 or more");
  require(batch >= 0 && batch < std::min(c.rank(0), c.rank(1)),
          "expected 0 to {} batch axes, found {}", std::min(c.rank(0), c.rank(1)) - 1, batch);
  for (int i = 0; i < batch; ++i)
    require_equal(data[static_cast<size_t>(i)], indices[static_cast<size_t>(i)],
                  static_cast<size_t>(i));
  const Dim last = indices.back();
  require(last->is_integer_constant(), "expected a constant last extent of the indices, found {}",
          text_of(last));
  const int64_t width = last->value.integer;
  require(width >= 1 && width <= c.rank(0) - batch,
          "expected a last extent of the indices of 1 to {}, found {}", c.rank(0) - batch, width);
  Dims out(indices.begin(), indices.end() - 1);
  out.insert(out.end(), data.begin() + batch + width, data.end());
  return out;
}

int64_t in_range(int64_t index, int64_t extent) {
  require(index >= -extent && index < extent, "index {} is outside [{}, {})", index, -extent,
          extent);
  return index < 0 ? index + extent : index;
}

// Copies `count` blocks; source(i) is the block that block i of the output comes from.
template <class Source>
void copy_blocks(const ReferenceCall& call, int64_t count, int64_t elements, const Source& source) {
  const auto bytes = static_cast<int64_t>(element_bytes(call.inputs[0].type)) * elements;
  const auto* from = call.inputs[0].as<std::byte>();
  auto* to = call.outputs[0].as<std::byte>();
  if (bytes == 0) return;
  parallel_for(count, std::max<int64_t>(1, (1 << 16) / bytes), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      std::memcpy(to + i * bytes, from + source(i) * bytes, static_cast<size_t>(bytes));
  });
}

void gather_default(const ReferenceCall& call, int axis, int batch) {
  const Shape &data = call.inputs[0].shape, &indices = call.inputs[1].shape;
  const auto index = read_integers(call.inputs[1]);
  const int64_t outer = data.volume(0, axis), inner = data.volume(axis + 1, data.rank());
  const int64_t batches = data.volume(0, batch);
  require(batches == indices.volume(0, batch), "batch axes of {} and {} differ", data, indices);
  const int64_t picked = indices.volume(batch, indices.rank());
  const int64_t outer_per_batch = batches == 0 ? 0 : outer / batches;
  copy_blocks(call, outer * picked, inner, [&](int64_t i) {
    const int64_t o = i / picked;
    const int64_t at = o / outer_per_batch * picked + i % picked;
    return o * data[axis] + in_range(index[static_cast<size_t>(at)], data[axis]);
  });
}

void gather_elements(const ReferenceCall& call, int axis) {
  const Shape &data = call.inputs[0].shape, &out = call.outputs[0].shape;
  require_output(call.outputs[0], call.inputs[1].shape);
  for (int k = 0; k < out.rank(); ++k)
    require(k == axis || out[k] <= data[k], "axis {}: expected at most {} indices, found {}", k,
            data[k], out[k]);
  const auto index = read_integers(call.inputs[1]);
  const Shape steps = data.strides();
  copy_blocks(call, out.volume(), 1, [&](int64_t i) {
    int64_t rest = i, from = in_range(index[static_cast<size_t>(i)], data[axis]) * steps[axis];
    for (int k = out.rank() - 1; k >= 0; --k) {
      if (k != axis) from += rest % out[k] * steps[k];
      rest /= out[k];
    }
    return from;
  });
}

void gather_nd(const ReferenceCall& call, int batch) {
  const Shape &data = call.inputs[0].shape, &indices = call.inputs[1].shape;
  const auto index = read_integers(call.inputs[1]);
  const int64_t width = indices.back(), tuples = indices.volume(0, indices.rank() - 1);
  const int64_t batches = data.volume(0, batch);
  require(batches == indices.volume(0, batch), "batch axes of {} and {} differ", data, indices);
  const int end = batch + static_cast<int>(width);
  const int64_t per_batch = batches == 0 ? 0 : tuples / batches;
  copy_blocks(call, tuples, data.volume(end, data.rank()), [&](int64_t i) {
    int64_t from = i / per_batch;
    for (int k = batch; k < end; ++k)
      from = from * data[k] + in_range(index[static_cast<size_t>(i * width + k - batch)], data[k]);
    return from;
  });
}

}  // namespace

void Gather::infer(Inference& c) const {
  require_inputs(c, 2, 2);
  require_index(c, 1, "the indices");
  require(mode >= GatherMode::kDEFAULT && mode <= GatherMode::kND,
          "expected a GatherMode (0 to 2), found {}", static_cast<int32_t>(mode));
  Dims dims;
  if (mode == GatherMode::kND) {
    dims = nd_dims(c, batch_axes);
  } else {
    const int along = normalized_axis(axis, c.rank(0));
    dims =
        mode == GatherMode::kDEFAULT ? default_dims(c, along, batch_axes) : element_dims(c, along);
  }
  set_output_and_content(c, c.type(0), std::move(dims), {0, 1}, [&](const Shape& shape) {
    const auto indices = constant_integers(c, 1);
    require(indices.has_value(), "not constant");
    const Tensor from = numbered(*c.constant_shape(0));
    Tensor to(DataType::kINT64, shape);
    const TensorView inputs[] = {view_of(from), view_of(*indices)}, outputs[] = {view_of(to)};
    reference({inputs, outputs});
    Content content;
    for (int64_t i : to.integers()) content.push_back((*c.content(0))[static_cast<size_t>(i)]);
    return content;
  });
}

void Gather::reference(const ReferenceCall& call) const {
  const int along =
      mode == GatherMode::kND ? 0 : normalized_axis(axis, call.inputs[0].shape.rank());
  switch (mode) {
    case GatherMode::kDEFAULT:
      return gather_default(call, along, batch_axes);
    case GatherMode::kELEMENT:
      return gather_elements(call, along);
    case GatherMode::kND:
      return gather_nd(call, batch_axes);
  }
}

}  // namespace tenon
