#include "ops/cast.h"

#include <cmath>
#include <limits>

#include "ops/infer.h"
#include "ops/reference.h"

namespace tenon {

TENON_REGISTER_OP(Cast);

void Cast::visit(FieldVisitor& v) {
  v("to", to);
}

namespace {

template <class To, class From> To convert(From from) {
  const auto x = load(from);
  if constexpr (std::is_same_v<To, bool>) {
    return x != 0;
  } else if constexpr (is_real<From> && !is_real<To>) {
    if (std::isnan(x)) return 0;
    // The bounds as float may lie just outside the range, so they are excluded.
    constexpr auto kLow = static_cast<float>(std::numeric_limits<To>::min());
    constexpr auto kHigh = static_cast<float>(std::numeric_limits<To>::max());
    if (x <= kLow) return std::numeric_limits<To>::min();
    if (x >= kHigh) return std::numeric_limits<To>::max();
    return static_cast<To>(x);
  } else {
    return store<To>(x);
  }
}

bool is_supported(DataType type) {
  return is_integer(type) ? bits_of(type) >= 8
                          : bits_of(type) >= 8 && type != DataType::kFP8 && type != DataType::kE8M0;
}

Dim expression(ExprPool& pool, DataType to, Dim x) {
  if (to == DataType::kBOOL)
    return pool.make(ExprOp::kNot, pool.make(ExprOp::kEqual, x, pool.constant(0)));
  if (to == DataType::kFLOAT) return x->is_float ? x : pool.make(ExprOp::kToFloat, x);
  return x->is_float ? pool.make(ExprOp::kTruncate, x) : x;
}

}  // namespace

void Cast::infer(Inference& c) const {
  require_inputs(c, 1, 1);
  for (DataType t : {c.type(0), to})
    if (!is_supported(t))
      fail(ErrorCode::kUNSUPPORTED_STATE, "a cast from {} to {} is not supported yet",
           name_of(c.type(0)), name_of(to));
  set_output_and_content(c, to, c.dims(0), {0}, [&](const Shape&) {
    Content out;
    for (Dim x : *c.content(0)) out.push_back(expression(c.pool(), to, x));
    return out;
  });
}

void Cast::reference(const ReferenceCall& call) const {
  const TensorView &in = call.inputs[0], &out = call.outputs[0];
  require_output(out, in.shape);
  with_type(in.type, [&](auto from) {
    with_type(out.type, [&](auto zero) {
      using From = decltype(from);
      using To = decltype(zero);
      parallel_for(in.shape.volume(), 16384, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) out.as<To>()[i] = convert<To, From>(in.as<From>()[i]);
      });
    });
  });
}

}  // namespace tenon
