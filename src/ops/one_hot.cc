#include "ops/one_hot.h"

#include "ops/support/infer.h"
#include "ops/support/reference.h"

namespace tenon {

TENON_REGISTER_OP(OneHot);

void OneHot::visit(FieldVisitor& v) {
  v("axis", axis);
}

void OneHot::infer(Inference& c) const {
  require_inputs(c, 3, 3);
  require_index(c, 0, "the indices");
  require_count(c, 1, "the values", 2);
  require_index(c, 2, "the depth");
  require_count(c, 2, "the depth", 1);
  const int along = normalized_axis(axis, c.rank(0) + 1);
  const Content& depth = c.known_content(2, "the depth");
  require(depth.size() == 1, "expected one element in the depth (input 2), found {}", depth.size());
  require(!depth[0]->is_constant() || depth[0]->value.integer >= 0,
          "expected a depth of at least 0, found {}", text_of(depth[0]));
  Dims dims = c.dims(0);
  dims.insert(dims.begin() + along, depth[0]);
  c.set_output(0, c.type(1), std::move(dims));
}

void OneHot::reference(const ReferenceCall& call) const {
  const TensorView& out = call.outputs[0];
  const int along = normalized_axis(axis, out.shape.rank());
  Shape expected = call.inputs[0].shape;
  expected.insert(along, out.shape[along]);
  require_output(out, expected);
  const int64_t depth = out.shape[along], outer = out.shape.volume(0, along);
  const int64_t inner = out.shape.volume(along + 1, out.shape.rank());
  const auto index = read_integers(call.inputs[0]);
  with_type(out.type, [&](auto zero) {
    using T = decltype(zero);
    const T off = call.inputs[1].as<T>()[0], on = call.inputs[1].as<T>()[1];
    const int64_t block = depth * inner;
    parallel_for(outer, std::max<int64_t>(1, 32768 / std::max<int64_t>(1, block)),
                 [&](int64_t begin, int64_t end) {
                   for (int64_t o = begin; o < end; ++o) {
                     T* to = out.as<T>() + o * block;
                     std::fill_n(to, block, off);
                     for (int64_t i = 0; i < inner; ++i) {
                       int64_t at = index[static_cast<size_t>(o * inner + i)];
                       if (at < 0) at += depth;
                       if (at >= 0 && at < depth) to[at * inner + i] = on;
                     }
                   }
                 });
  });
}

}  // namespace tenon
