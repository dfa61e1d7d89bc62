#include "ops/scatter.h"

#include <cstring>

#include "ops/support/infer.h"
#include "ops/support/order.h"

namespace tenon {

using nvinfer1::ScatterMode;

TENON_REGISTER_OP(Scatter);

void Scatter::visit(FieldVisitor& v) {
  v("mode", mode);
  v("axis", axis);
  v("reduction", reduction);
}

namespace {

void require_fit(Dim expected, Dim found, const char* what, size_t axis) {
  require(!expected->is_constant() || !found->is_constant() || expected == found,
          "expected extent {} along axis {} of {}, found {}", text_of(expected), axis, what,
          text_of(found));
}

void check_elements(const Inference& c, int axis) {
  const Dims &data = c.dims(0), &indices = c.dims(1), &updates = c.dims(2);
  require(data.size() == indices.size() && data.size() == updates.size(),
          "expected data, indices and updates of equal rank, found {}, {} and {}", text_of(data),
          text_of(indices), text_of(updates));
  for (size_t i = 0; i < data.size(); ++i) {
    require_fit(indices[i], updates[i], "the updates", i);
    require(static_cast<int>(i) == axis || !data[i]->is_constant() || !indices[i]->is_constant()
                || indices[i]->value.integer <= data[i]->value.integer,
            "axis {}: expected at most {} indices, found {}", i, text_of(data[i]),
            text_of(indices[i]));
  }
}

void check_nd(const Inference& c) {
  const Dims &data = c.dims(0), &indices = c.dims(1), &updates = c.dims(2);
  require(!indices.empty(), "expected indices of rank 1 or more, found a scalar");
  // The ranks tell it, too, while the indices' last extent is not known.
  const Dim last = indices.back();
  const int64_t width =
      last->is_integer_constant() ? last->value.integer : c.rank(0) + c.rank(1) - 1 - c.rank(2);
  require(width >= 0 && width <= c.rank(0),
          "expected a last extent of the indices of 0 to {}, found {}", c.rank(0), width);
  Dims expected(indices.begin(), indices.end() - 1);
  expected.insert(expected.end(), data.begin() + width, data.end());
  require(expected.size() == updates.size(), "expected updates of shape {}, found {}",
          text_of(expected), text_of(updates));
  for (size_t i = 0; i < expected.size(); ++i)
    require_fit(expected[i], updates[i], "the updates", i);
}

int64_t in_range(int64_t index, int64_t extent) {
  require(index >= -extent && index < extent, "index {} is outside [{}, {})", index, -extent,
          extent);
  return index < 0 ? index + extent : index;
}

// A NaN stays one, as with NumPy.
template <class T> T combined(ScatterReduction reduction, T there, T update) {
  switch (reduction) {
    case ScatterReduction::kAdd:
    case ScatterReduction::kMul: {
      using Wide = std::conditional_t<is_real<T>, float, uint64_t>;
      const auto a = static_cast<Wide>(load(there)), b = static_cast<Wide>(load(update));
      return store<T>(reduction == ScatterReduction::kAdd ? a + b : a * b);
    }
    case ScatterReduction::kMin:
      if constexpr (is_real<T>)
        if (load(there) != load(there) || load(update) != load(update))
          return load(there) != load(there) ? there : update;
      return order_key(update) < order_key(there) ? update : there;
    case ScatterReduction::kMax:
      return order_key(update) > order_key(there) ? update : there;
    default:
      return update;
  }
}

}  // namespace

void Scatter::infer(Inference& c) const {
  require_inputs(c, 3, 3);
  require_index(c, 1, "the indices");
  require_type_of_data(c, 2, "the updates");
  require(mode == ScatterMode::kELEMENT || mode == ScatterMode::kND,
          "expected a ScatterMode (0 or 1), found {}", static_cast<int32_t>(mode));
  require(reduction >= ScatterReduction::kNone && reduction <= ScatterReduction::kMax,
          "expected a reduction (0 to 4), found {}", static_cast<int32_t>(reduction));
  require(reduction == ScatterReduction::kNone || c.type(0) != DataType::kBOOL,
          "expected numbers to combine, found bool");
  if (mode == ScatterMode::kND)
    check_nd(c);
  else
    check_elements(c, normalized_axis(axis, c.rank(0)));
  // Shape arithmetic: elements that are known replace others at constant indices.
  set_output_and_content(c, c.type(0), c.dims(0), {0, 1, 2}, [&](const Shape& shape) {
    const auto indices = constant_integers(c, 1);
    require(indices.has_value() && reduction == ScatterReduction::kNone, "not constant");
    const Tensor from = numbered(shape);
    const Tensor updates = numbered(*c.constant_shape(2), shape.volume());
    Tensor to(DataType::kINT64, shape);
    const TensorView inputs[] = {view_of(from), view_of(*indices), view_of(updates)};
    const TensorView outputs[] = {view_of(to)};
    reference({inputs, outputs});
    Content content;
    for (int64_t i : to.integers())
      content.push_back(i < shape.volume()
                            ? (*c.content(0))[static_cast<size_t>(i)]
                            : (*c.content(2))[static_cast<size_t>(i - shape.volume())]);
    return content;
  });
}

void scatter_elements(const TensorView& indices, const TensorView& updates, int axis,
                      ScatterReduction reduction, const TensorView& out) {
  const Shape &shape = out.shape, &given = indices.shape;
  require(given == updates.shape && given.rank() == shape.rank(),
          "indices of shape {} and updates of shape {} do not fit data of shape {}", given,
          updates.shape, shape);
  for (int k = 0; k < given.rank(); ++k)
    require(k == axis || given[k] <= shape[k], "axis {}: expected at most {} indices, found {}", k,
            shape[k], given[k]);
  if (given.volume() == 0) return;
  const auto index = read_integers(indices);
  const Shape steps = shape.strides(), given_steps = given.strides();
  const int64_t length = given[axis], step = given_steps[axis], rows = given.volume() / length;
  // Updates meet only along the axis: one thread walks it, in order.
  with_type(out.type, [&](auto zero) {
    using T = decltype(zero);
    const T* from = updates.as<T>();
    T* to = out.as<T>();
    parallel_for(rows, std::max<int64_t>(1, 16384 / length), [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        const int64_t first = row / step * step * length + row % step;
        int64_t base = 0;
        for (int k = 0; k < given.rank(); ++k)
          if (k != axis) base += first / given_steps[k] % given[k] * steps[k];
        for (int64_t i = 0; i < length; ++i) {
          const int64_t at = first + i * step;
          T& place = to[base + in_range(index[static_cast<size_t>(at)], shape[axis]) * steps[axis]];
          place = combined(reduction, place, from[at]);
        }
      }
    });
  });
}

void scatter_nd(const TensorView& indices, const TensorView& updates, ScatterReduction reduction,
                const TensorView& out) {
  const Shape& shape = out.shape;
  const int64_t width = indices.shape.back();
  require(width <= shape.rank(), "indices of {} elements do not fit data of shape {}", width,
          shape);
  const int64_t tuples = indices.shape.volume(0, indices.shape.rank() - 1);
  const int64_t block = shape.volume(static_cast<int>(width), shape.rank());
  require(updates.shape.volume() == tuples * block,
          "expected {} updates of {} elements, found updates of shape {}", tuples, block,
          updates.shape);
  const auto index = read_integers(indices);
  std::vector<int64_t> places(static_cast<size_t>(tuples));
  for (int64_t i = 0; i < tuples; ++i) {
    int64_t& place = places[static_cast<size_t>(i)];
    for (int k = 0; k < width; ++k)
      place = place * shape[k] + in_range(index[static_cast<size_t>(i * width + k)], shape[k]);
  }
  // Any two updates may meet, so that threads share the elements of blocks, not the updates.
  with_type(out.type, [&](auto zero) {
    using T = decltype(zero);
    parallel_for(block, std::max<int64_t>(64, 65536 / std::max<int64_t>(1, tuples)),
                 [&](int64_t begin, int64_t end) {
                   for (int64_t i = 0; i < tuples; ++i) {
                     const T* from = updates.as<T>() + i * block;
                     T* to = out.as<T>() + places[static_cast<size_t>(i)] * block;
                     if (reduction == ScatterReduction::kNone)
                       std::memcpy(to + begin, from + begin,
                                   static_cast<size_t>(end - begin) * sizeof(T));
                     else
                       for (int64_t k = begin; k < end; ++k)
                         to[k] = combined(reduction, to[k], from[k]);
                   }
                 });
  });
}

void Scatter::reference(const ReferenceCall& call) const {
  const TensorView &data = call.inputs[0], &out = call.outputs[0];
  require_output(out, data.shape);
  if (out.data != data.data)
    copy_bytes(out.data, data.data, bytes_of(data.type, data.shape.volume()));
  if (mode == ScatterMode::kND)
    scatter_nd(call.inputs[1], call.inputs[2], reduction, out);
  else
    scatter_elements(call.inputs[1], call.inputs[2], normalized_axis(axis, data.shape.rank()),
                     reduction, out);
}

}  // namespace tenon
