#include "ops/activation.h"

#include "ops/support/infer.h"
#include "ops/support/pointwise_program.h"
#include "ops/support/reference.h"

namespace tenon {

using nvinfer1::ActivationType;

TENON_REGISTER_OP(Activation);

void Activation::visit(FieldVisitor& v) {
  v("type", type);
  v("alpha", alpha);
  v("beta", beta);
}

namespace {
PointwiseStep step_of(const Activation& op) {
  return {
      PointwiseStep::Family::kActivation, static_cast<int32_t>(op.type), 0, -1, op.alpha, op.beta};
}

// ReLU or clip of an integer: the element itself where no bound applies, because a double does not
// hold every int64.
template <class T> T bounded(const Activation& op, T element) {
  const auto x = static_cast<double>(element);
  const bool relu = op.type == ActivationType::kRELU;
  const double low = relu ? 0 : op.alpha, high = relu ? x : op.beta;
  return x > high || x < low ? static_cast<T>(std::max(low, std::min(high, x))) : element;
}

bool works_on_integers(ActivationType type) {
  return type == ActivationType::kRELU || type == ActivationType::kCLIP;
}
}  // namespace

void Activation::infer(Inference& c) const {
  require_inputs(c, 1, 1);
  require(type >= ActivationType::kRELU && type <= ActivationType::kGELU_TANH,
          "expected an ActivationType (0 to 13), found {}", static_cast<int32_t>(type));
  if (!is_integer(c.type(0)) || !works_on_integers(type)) require_float(c, 0, "the input");
  set_output_and_content(c, c.type(0), c.dims(0), {0}, [&](const Shape&) {
    if (!works_on_integers(type)) fail(ErrorCode::kUNSUPPORTED_STATE, "not for shapes");
    ExprPool& pool = c.pool();
    Content out;
    for (Dim x : *c.content(0)) {
      const auto bound = [&](float value) {
        return x->is_float ? pool.constant_float(value)
                           : pool.constant(static_cast<int64_t>(value));
      };
      out.push_back(type == ActivationType::kRELU
                        ? pool.max(x, bound(0))
                        : pool.max(bound(alpha), pool.min(bound(beta), x)));
    }
    return out;
  });
}

void Activation::reference(const ReferenceCall& call) const {
  const TensorView &in = call.inputs[0], &out = call.outputs[0];
  require_output(out, in.shape);
  const PointwiseStep step = step_of(*this);
  with_type(in.type, [&](auto zero) {
    using T = decltype(zero);
    parallel_for(in.shape.volume(), 4096, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const T x = in.as<T>()[i];
        if constexpr (is_real<T>)
          out.as<T>()[i] = store<T>(evaluate(step, load(x), 0));
        else
          out.as<T>()[i] = bounded(*this, x);
      }
    });
  });
}

}  // namespace tenon
