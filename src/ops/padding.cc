#include "ops/padding.h"

#include "ops/support/infer.h"
#include "ops/support/reference.h"

namespace tenon {

TENON_REGISTER_OP(Padding);

void Padding::visit(FieldVisitor& v) {
  v("pre", pre);
  v("post", post);
}

void Padding::infer(Inference& c) const {
  require_inputs(c, 1, 1);
  require(pre.rank() == 2 && post.rank() == 2,
          "expected two entries in the paddings before and after, found {} and {}", pre.rank(),
          post.rank());
  require(c.rank(0) >= 2, "expected an input of rank 2 or more, found {}", text_of(c.dims(0)));
  Dims dims = c.dims(0);
  constexpr int64_t kLimit = int64_t{1} << 40;
  for (int i = 0; i < 2; ++i) {
    for (int64_t padding : {pre[i], post[i]})
      require(padding >= -kLimit && padding <= kLimit,
              "expected paddings of at most {} elements, found {}", kLimit, padding);
    Dim& d = dims[dims.size() - 2 + static_cast<size_t>(i)];
    const Dim both = c.pool().add(c.pool().constant(pre[i]), c.pool().constant(post[i]));
    d = c.pool().add(d, both);
    require(!d->is_constant() || d->value.integer >= 0,
            "axis {} of {} would have extent {} after padding by {} and {}",
            dims.size() - 2 + static_cast<size_t>(i), text_of(c.dims(0)), text_of(d), pre[i],
            post[i]);
  }
  c.set_output(0, c.type(0), std::move(dims));
}

void Padding::reference(const ReferenceCall& call) const {
  const TensorView &in = call.inputs[0], &out = call.outputs[0];
  const Shape steps = in.shape.strides();
  OffsetTables tables = offset_tables(out.shape, steps);
  const int first = in.shape.rank() - 2;
  for (int i = 0; i < 2; ++i) {
    const int axis = first + i;
    int64_t position = -pre[i];
    for (int64_t& offset : tables[static_cast<size_t>(axis)]) {
      offset = position >= 0 && position < in.shape[axis] ? position * steps[axis] : kOutside;
      ++position;
    }
  }
  const int64_t zero = 0;  // all bits zero is 0 in every type
  copy_indexed(element_bytes(in.type), out.shape, tables, in.data, out.data, &zero);
}

int Padding::min_rank(size_t) const {
  return 2;
}

}  // namespace tenon
