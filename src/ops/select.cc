#include "ops/select.h"

#include "ops/support/infer.h"
#include "ops/support/reference.h"

namespace tenon {

TENON_REGISTER_OP(Select);

void Select::infer(Inference& c) const {
  require_inputs(c, 3, 3);
  require(c.type(0) == DataType::kBOOL, "expected a bool condition, found {}", name_of(c.type(0)));
  require(c.type(1) == c.type(2), "expected two inputs of equal type, found {} and {}",
          name_of(c.type(1)), name_of(c.type(2)));
  Dims dims = broadcast(c.pool(), broadcast(c.pool(), c.dims(0), c.dims(1)), c.dims(2));
  set_output_and_content(c, c.type(1), std::move(dims), {0, 1, 2}, [&](const Shape& out) {
    const auto element = [&](int input, int64_t at) {
      const Shape shape = *c.constant_shape(input), steps = broadcast_strides(shape, out);
      int64_t offset = 0;
      for (int k = out.rank() - 1; k >= 0; at /= out[k], --k) offset += at % out[k] * steps[k];
      return (*c.content(input))[static_cast<size_t>(offset)];
    };
    Content content;
    for (int64_t i = 0; i < out.volume(); ++i)
      content.push_back(
          c.pool().make(ExprOp::kSelect, element(0, i), element(1, i), element(2, i)));
    return content;
  });
}

void Select::reference(const ReferenceCall& call) const {
  const TensorView& out = call.outputs[0];
  Shape strides[3];
  for (size_t i = 0; i < 3; ++i) strides[i] = broadcast_strides(call.inputs[i].shape, out.shape);
  with_type(out.type, [&](auto zero) {
    using T = decltype(zero);
    for_rows(out.shape, strides, [&](const Row& row) {
      for (int64_t i = 0; i < row.length; ++i) {
        const auto at = [&](size_t k) { return row.offset[k] + i * row.step[k]; };
        out.as<T>()[row.begin + i] = call.inputs[0].as<uint8_t>()[at(0)] != 0
                                         ? call.inputs[1].as<T>()[at(1)]
                                         : call.inputs[2].as<T>()[at(2)];
      }
    });
  });
}

}  // namespace tenon
