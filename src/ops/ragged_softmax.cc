#include "ops/ragged_softmax.h"

#include <cmath>

#include "ops/support/infer.h"
#include "ops/support/reference.h"

namespace tenon {

TENON_REGISTER_OP(RaggedSoftmax);

void RaggedSoftmax::infer(Inference& c) const {
  require_inputs(c, 2, 2);
  require_float(c, 0, "the data");
  require_index(c, 1, "the lengths");
  const Dims &data = c.dims(0), &lengths = c.dims(1);
  require(data.size() >= 2, "expected data of at least 2 dimensions, found {}", text_of(data));
  bool fits = lengths.size() == data.size();
  for (size_t i = 0; fits && i < data.size(); ++i) {
    const Dim expected = i + 1 == data.size() ? c.pool().constant(1) : data[i];
    fits = !expected->is_constant() || !lengths[i]->is_constant() || expected == lengths[i];
  }
  require(fits, "expected one length for each row of {}, so 1 instead of its last extent, found {}",
          text_of(data), text_of(lengths));
  c.set_output(0, c.type(0), data);
}

void RaggedSoftmax::reference(const ReferenceCall& call) const {
  const TensorView &in = call.inputs[0], &out = call.outputs[0];
  require_output(out, in.shape);
  const int64_t extent = in.shape.back(), rows = in.shape.volume(0, in.shape.rank() - 1);
  const auto lengths = read_integers(call.inputs[1]);
  require(static_cast<int64_t>(lengths.size()) == rows, "{} lengths do not fit {} rows",
          lengths.size(), rows);
  for (int64_t length : lengths)
    require(length >= 0 && length <= extent, "expected lengths of 0 to {}, found {}", extent,
            length);
  with_float(in.type, [&](auto zero) {
    using T = decltype(zero);
    parallel_for(rows, std::max<int64_t>(1, 4096 / (extent + 1)), [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        const T* x = in.as<T>() + row * extent;
        T* y = out.as<T>() + row * extent;
        const int64_t length = lengths[static_cast<size_t>(row)];
        double largest = -INFINITY, sum = 0;
        for (int64_t i = 0; i < length; ++i) largest = std::max(largest, double{load(x[i])});
        for (int64_t i = 0; i < length; ++i) sum += std::exp(double{load(x[i])} - largest);
        for (int64_t i = 0; i < extent; ++i)
          y[i] = store<T>(i < length ? std::exp(double{load(x[i])} - largest) / sum : 0.0);
      }
    });
  });
}

}  // namespace tenon
