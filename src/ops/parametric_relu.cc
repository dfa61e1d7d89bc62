#include "ops/parametric_relu.h"

#include "ops/support/infer.h"
#include "ops/support/reference.h"

namespace tenon {

TENON_REGISTER_OP(ParametricRelu);

void ParametricRelu::infer(Inference& c) const {
  require_inputs(c, 2, 2);
  require_float(c, 0, "the data");
  require_type_of_data(c, 1, "the slopes");
  require(c.rank(0) == c.rank(1), "expected slopes of {} dimensions, found {}", c.rank(0),
          text_of(c.dims(1)));
  for (size_t axis = 0; axis < c.dims(0).size(); ++axis) {
    const Dim data = c.dims(0)[axis], slope = c.dims(1)[axis];
    require(
        !slope->is_constant() || slope->value.integer == 1 || !data->is_constant() || slope == data,
        "slopes of shape {} do not broadcast to {}", text_of(c.dims(1)), text_of(c.dims(0)));
  }
  c.set_output(0, c.type(0), c.dims(0));
}

void ParametricRelu::reference(const ReferenceCall& call) const {
  const TensorView &in = call.inputs[0], &slopes = call.inputs[1], &out = call.outputs[0];
  require_output(out, in.shape);
  const Shape strides[] = {broadcast_strides(slopes.shape, in.shape)};
  with_float(in.type, [&](auto zero) {
    using T = decltype(zero);
    for_rows(in.shape, strides, [&](const Row& row) {
      const T *x = in.as<T>() + row.begin, *slope = slopes.as<T>() + row.offset[0];
      T* y = out.as<T>() + row.begin;
      for (int64_t i = 0; i < row.length; ++i) {
        const float value = load(x[i]);
        y[i] = store<T>(value < 0 ? value * load(slope[i * row.step[0]]) : value);
      }
    });
  });
}

}  // namespace tenon
