#include "ops/float64_cast.h"

#include <bit>
#include <cmath>
#include <limits>

#include "ops/support/infer.h"
#include "ops/support/reference.h"

namespace tenon {

TENON_REGISTER_OP(ToFloat64);
TENON_REGISTER_OP(FromFloat64);
TENON_REGISTER_OP(Float64Order);

namespace {

constexpr int64_t kFloat64Grain = 8192;

// Throws for others than those that C++ computes with.
void require_converted(DataType type) {
  with_type(type, [](auto) {});
}

template <class To> To number_as(double x) {
  if constexpr (std::is_same_v<To, bool>) {
    return x != 0;
  } else if constexpr (is_real<To>) {
    return store<To>(x);
  } else {
    if (std::isnan(x)) return 0;
    // The upper bound may lie just outside the range, so it is excluded.
    constexpr auto kLow = static_cast<double>(std::numeric_limits<To>::min());
    constexpr auto kHigh = static_cast<double>(std::numeric_limits<To>::max());
    if (x <= kLow) return std::numeric_limits<To>::min();
    if (x >= kHigh) return std::numeric_limits<To>::max();
    return static_cast<To>(x);
  }
}

int64_t order_of(double x, bool nan_is_least) {
  using Limits = std::numeric_limits<int64_t>;
  if (std::isnan(x)) return nan_is_least ? Limits::min() : Limits::max();
  // Negative numbers are sign and magnitude; -0 becomes 0.
  const auto bits = std::bit_cast<int64_t>(x + 0.0);
  return bits < 0 ? bits ^ Limits::max() : bits;
}

Dim float64_expression(ExprPool& pool, DataType to, Dim x) {
  if (is_float(to)) return pool.make(ExprOp::kFromFloat64, x);
  if (to != DataType::kBOOL) return pool.float64(ExprOp::kTruncate, x);
  const Dim is_zero = pool.float64(ExprOp::kEqual, x, pool.constant_float64(0));
  return pool.make(ExprOp::kNot, is_zero);
}

}  // namespace

void require_float64(const Inference& c, int i) {
  require(c.type(i) == DataType::kINT64, "expected bits of float64 in int64, found {}",
          name_of(c.type(i)));
}

void ToFloat64::infer(Inference& c) const {
  require_inputs(c, 1, 1);
  require_converted(c.type(0));
  set_output_and_content(c, DataType::kINT64, c.dims(0), {0}, [&](const Shape&) {
    Content out;
    for (Dim x : *c.content(0)) out.push_back(c.pool().float64(ExprOp::kToFloat, x));
    return out;
  });
}

void ToFloat64::reference(const ReferenceCall& call) const {
  const TensorView &in = call.inputs[0], &out = call.outputs[0];
  require_output(out, in.shape);
  with_type(in.type, [&](auto zero) {
    using From = decltype(zero);
    parallel_for(in.shape.volume(), kFloat64Grain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        out.as<double>()[i] = static_cast<double>(load(in.as<From>()[i]));
    });
  });
}

void FromFloat64::visit(FieldVisitor& v) {
  v("to", to);
}

void FromFloat64::infer(Inference& c) const {
  require_inputs(c, 1, 1);
  require_float64(c, 0);
  require_converted(to);
  set_output_and_content(c, to, c.dims(0), {0}, [&](const Shape&) {
    Content out;
    for (Dim x : *c.content(0)) out.push_back(float64_expression(c.pool(), to, x));
    return out;
  });
}

void FromFloat64::reference(const ReferenceCall& call) const {
  const TensorView &in = call.inputs[0], &out = call.outputs[0];
  require_output(out, in.shape);
  with_type(out.type, [&](auto zero) {
    using To = decltype(zero);
    parallel_for(in.shape.volume(), kFloat64Grain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) out.as<To>()[i] = number_as<To>(in.as<double>()[i]);
    });
  });
}

void Float64Order::visit(FieldVisitor& v) {
  v("nan_is_least", nan_is_least);
}

void Float64Order::infer(Inference& c) const {
  require_inputs(c, 1, 1);
  require_float64(c, 0);
  c.set_output(0, DataType::kINT64, c.dims(0));
}

void Float64Order::reference(const ReferenceCall& call) const {
  const TensorView &in = call.inputs[0], &out = call.outputs[0];
  require_output(out, in.shape);
  parallel_for(in.shape.volume(), kFloat64Grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      out.as<int64_t>()[i] = order_of(in.as<double>()[i], nan_is_least);
  });
}

}  // namespace tenon
