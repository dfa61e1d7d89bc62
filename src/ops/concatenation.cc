#include "ops/concatenation.h"

#include <cstring>

#include "ops/support/infer.h"
#include "ops/support/reference.h"

namespace tenon {

TENON_REGISTER_OP(Concatenation);

void Concatenation::visit(FieldVisitor& v) {
  v("axis", axis);
}

void Concatenation::infer(Inference& c) const {
  require_inputs(c, std::max(1, c.input_count()), c.input_count());
  const auto along = static_cast<size_t>(normalized_axis(axis, c.rank(0)));
  Dims dims = c.dims(0);
  for (int i = 1; i < c.input_count(); ++i) {
    require_type_of_data(c, i, "an input");
    const Dims& other = c.dims(i);
    require(other.size() == dims.size(),
            "expected inputs of equal rank, found {} and {} (input {})", text_of(dims),
            text_of(other), i);
    for (size_t k = 0; k < dims.size(); ++k) {
      if (k == along) {
        dims[k] = c.pool().add(dims[k], other[k]);
        continue;
      }
      require(!dims[k]->is_constant() || !other[k]->is_constant() || dims[k] == other[k],
              "expected inputs that agree except along axis {}, found {} and {} (input {})", along,
              text_of(c.dims(0)), text_of(other), i);
      if (other[k]->is_constant()) dims[k] = other[k];
    }
  }
  set_output_and_content(c, c.type(0), std::move(dims), {}, [&](const Shape& shape) {
    Content all;
    std::vector<Tensor> from;
    std::vector<TensorView> inputs;
    for (int i = 0; i < c.input_count(); ++i) {
      require(c.content(i) != nullptr, "not known on the host");
      from.push_back(numbered(*c.constant_shape(i), static_cast<int64_t>(all.size())));
      all.insert(all.end(), c.content(i)->begin(), c.content(i)->end());
    }
    for (const Tensor& t : from) inputs.push_back(view_of(t));
    Tensor to(DataType::kINT64, shape);
    const TensorView outputs[] = {view_of(to)};
    reference({inputs, outputs});
    Content content;
    for (int64_t i : to.integers()) content.push_back(all[static_cast<size_t>(i)]);
    return content;
  });
}

void Concatenation::reference(const ReferenceCall& call) const {
  const TensorView& out = call.outputs[0];
  const int along = normalized_axis(axis, out.shape.rank());
  const auto bytes = static_cast<int64_t>(element_bytes(out.type));
  const int64_t inner = out.shape.volume(along + 1, out.shape.rank()) * bytes;
  const int64_t outer = out.shape.volume(0, along), pitch = out.shape[along] * inner;
  int64_t position = 0;
  for (const TensorView& in : call.inputs) {
    Shape expected = out.shape;
    expected[along] = in.shape[along];
    require(in.shape == expected, "cannot concatenate {} into {} along axis {}", in.shape,
            out.shape, along);
    const int64_t length = in.shape[along] * inner;
    auto* to = out.as<std::byte>() + position;
    constexpr int64_t kBytesPerTask = 1 << 17;
    const bool is_in_place = in.data == to;
    if (length > 0 && !is_in_place)
      parallel_for(outer, std::max<int64_t>(1, kBytesPerTask / length), [&](int64_t b, int64_t e) {
        for (int64_t i = b; i < e; ++i)
          std::memcpy(to + i * pitch, in.as<std::byte>() + i * length, static_cast<size_t>(length));
      });
    position += length;
  }
  require(position == pitch, "the inputs do not fill an output of shape {} along axis {}",
          out.shape, along);
}

void Concatenation::insert_batch_axis(int32_t) {
  if (axis >= 0) ++axis;
}

}  // namespace tenon
