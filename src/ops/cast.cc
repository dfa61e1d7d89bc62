#include "ops/cast.h"

#include <cmath>
#include <limits>

#include "network/network.h"
#include "ops/support/infer.h"
#include "ops/support/reference.h"

namespace tenon {

TENON_REGISTER_OP(Cast);

void Cast::visit(FieldVisitor& v) {
  v("to", to);
  v("saturate", saturate);
  v("power_rounding", power_rounding);
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

template <class To, class From>
void convert_all(const From* from, int64_t begin, int64_t end, To* to) {
  for (int64_t i = begin; i < end; ++i) to[i] = convert<To, From>(from[i]);
}

// Low-precision types go by floats, a chunk of even length at a time.
void convert_low_precision(const TensorView& in, const TensorView& out, int64_t begin, int64_t end,
                           const LowPrecisionRules& rules) {
  constexpr int64_t kChunk = 512;
  float buffer[kChunk];
  for (int64_t at = begin; at < end; at += kChunk) {
    const int64_t stop = std::min(at + kChunk, end);
    if (is_low_precision(in.type))
      read_low_precision(in.type, in.data, at, stop, buffer);
    else
      with_type(in.type, [&](auto zero) {
        using From = decltype(zero);
        convert_all<float, From>(in.as<From>() + at, 0, stop - at, buffer);
      });
    if (is_low_precision(out.type))
      write_low_precision(out.type, buffer, at, stop, out.data, rules);
    else
      with_type(out.type, [&](auto zero) {
        using To = decltype(zero);
        convert_all<To, float>(buffer, 0, stop - at, out.as<To>() + at);
      });
  }
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
  require(power_rounding >= PowerRounding::kUp && power_rounding <= PowerRounding::kNearest,
          "expected a rounding of powers of 0 to 2, found {}",
          static_cast<int32_t>(power_rounding));
  bits_of(to);  // throws for numbers that are no type
  set_output_and_content(c, to, c.dims(0), {0}, [&](const Shape&) {
    Content out;
    for (Dim x : *c.content(0)) out.push_back(expression(c.pool(), to, x));
    return out;
  });
}

void Cast::reference(const ReferenceCall& call) const {
  const TensorView &in = call.inputs[0], &out = call.outputs[0];
  require_output(out, in.shape);
  const int64_t count = in.shape.volume();
  if (is_low_precision(in.type) || is_low_precision(out.type)) {
    const LowPrecisionRules rules{saturate, power_rounding};
    parallel_for((count + 1) / 2, 8192, [&](int64_t begin, int64_t end) {
      convert_low_precision(in, out, 2 * begin, std::min(2 * end, count), rules);
    });
    return;
  }
  with_type(in.type, [&](auto from) {
    with_type(out.type, [&](auto zero) {
      using From = decltype(from);
      using To = decltype(zero);
      parallel_for(count, 16384, [&](int64_t begin, int64_t end) {
        convert_all<To, From>(in.as<From>(), begin, end, out.as<To>());
      });
    });
  });
}

// Counted in integers, what 16 bits would round.
Magnitude Cast::magnitude(const Node& node, DataType) const {
  const DataType from = node.inputs[0]->type;
  return from == DataType::kINT32 || from == DataType::kINT64 ? Magnitude::kLarge
                                                              : Magnitude::kOfInputs;
}

}  // namespace tenon
