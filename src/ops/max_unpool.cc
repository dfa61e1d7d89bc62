#include "ops/max_unpool.h"

#include <cstring>

#include "ops/support/infer.h"
#include "ops/support/reference.h"
#include "ops/support/window.h"

namespace tenon {

TENON_REGISTER_OP(MaxUnpool);

void MaxUnpool::visit(FieldVisitor& v) {
  v("window", window);
  v("stride", stride);
  v("pre_padding", pre_padding);
  v("post_padding", post_padding);
}

void MaxUnpool::infer(Inference& c) const {
  require_inputs(c, 2, 2);
  require_float(c, 0, "the maxima");
  require_index(c, 1, "the places");
  require(c.rank(0) >= 3, "expected maxima of at least 3 dimensions (N, C, …), found {}",
          text_of(c.dims(0)));
  broadcast(c.pool(), c.dims(0), c.dims(1));
  const auto windows =
      make_windows(c.rank(0) - 2, window, stride, Shape(), pre_padding, post_padding);
  Dims dims{c.dims(0)[0], c.dims(0)[1]};
  for (size_t i = 0; i < windows.size(); ++i)
    dims.push_back(
        deconvolved(c.pool(), c.dims(0)[i + 2], windows[i], 0, PaddingMode::kEXPLICIT_ROUND_DOWN));
  c.set_output(0, c.type(0), std::move(dims));
}

void MaxUnpool::reference(const ReferenceCall& call) const {
  const TensorView &in = call.inputs[0], &out = call.outputs[0];
  require(call.inputs[1].shape == in.shape, "indices of shape {} do not fit maxima of shape {}",
          call.inputs[1].shape, in.shape);
  const auto places = read_integers(call.inputs[1]);
  const int64_t count = out.shape.volume();
  for (int64_t place : places)
    require(place >= 0 && place < count, "place {} is outside [0, {})", place, count);
  with_float(in.type, [&](auto zero) {
    using T = decltype(zero);
    std::fill_n(out.as<T>(), count, T{});
    for (size_t i = 0; i < places.size(); ++i) out.as<T>()[places[i]] = in.as<T>()[i];
  });
}

}  // namespace tenon
