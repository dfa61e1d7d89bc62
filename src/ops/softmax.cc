#include "ops/softmax.h"

#include <bit>
#include <cmath>

#include "ops/support/implicit_batch.h"
#include "ops/support/infer.h"
#include "ops/support/operations.h"
#include "ops/support/reference.h"

namespace tenon {

TENON_REGISTER_OP(Softmax);

void Softmax::visit(FieldVisitor& v) {
  v("axes", axes);
}

void Softmax::infer(Inference& c) const {
  require_inputs(c, 1, 1);
  require_float(c, 0, "the input");
  require(std::popcount(axes) == 1 && std::countr_zero(axes) < c.rank(0),
          "expected a mask of exactly one of the {} axes, found {:#x}", c.rank(0), axes);
  c.set_output(0, c.type(0), c.dims(0));
}

void Softmax::reference(const ReferenceCall& call) const {
  const TensorView &in = call.inputs[0], &out = call.outputs[0];
  require_output(out, in.shape);
  const int axis = std::countr_zero(axes);
  const int64_t extent = in.shape[axis], inner = in.shape.volume(axis + 1, in.shape.rank());
  with_float(in.type, [&](auto zero) {
    using T = decltype(zero);
    parallel_for(in.shape.volume(0, axis) * inner, std::max<int64_t>(1, 4096 / (extent + 1)),
                 [&](int64_t begin, int64_t end) {
                   std::vector<double> e(static_cast<size_t>(extent));
                   for (int64_t i = begin; i < end; ++i) {
                     const int64_t base = i / inner * extent * inner + i % inner;
                     const T* x = in.as<T>() + base;
                     double largest = -INFINITY, sum = 0;
                     for (int64_t k = 0; k < extent; ++k)
                       largest = std::max(largest, double{load(x[k * inner])});
                     for (int64_t k = 0; k < extent; ++k)
                       sum += e[static_cast<size_t>(k)] = std::exp(load(x[k * inner]) - largest);
                     for (int64_t k = 0; k < extent; ++k)
                       out.as<T>()[base + k * inner] = store<T>(e[static_cast<size_t>(k)] / sum);
                   }
                 });
  });
}

void Softmax::insert_batch_axis(int32_t) {
  axes = behind_batch(axes);
}

double Softmax::operations(std::span<const Shape>, std::span<const Shape> outputs) const {
  constexpr double kEach = 5;  // greatest, difference, exponential, sum, quotient
  return kEach * count_of(outputs[0]);
}

}  // namespace tenon
