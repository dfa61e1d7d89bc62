// How accurate element-wise kernels are.
#pragma once

#include "backend/testing.h"

namespace tenon {

/// Numbers of both signs with zeros, infinities, NaN and numbers that are subnormal or near one.
inline Tensor numbers_with_specials() {
  Tensor t = random_tensor({1, 40, 50}, 3, -12, 12);
  const float special[] = {0.f,   -0.f,   NAN,    INFINITY, -INFINITY,   1e-30f,    -1e-30f,
                           100.f, -100.f, 1e-40f, 1.f,      0.99999994f, 1.0000001f};
  std::copy(std::begin(special), std::end(special), t.mutable_data<float>());
  return t;
}

/// Largest difference from the reference's results, in units of the last place of the type for
/// numbers of at least `floor`. Other types than floats agree exactly.
inline void expect_accurate(const Tensor& actual, const Tensor& expected, double ulps,
                            double floor) {
  ASSERT_EQ(actual.shape(), expected.shape());
  ASSERT_EQ(actual.type(), expected.type());
  const DataType type = actual.type();
  const double unit = type == DataType::kHALF ? 9.8e-4 : type == DataType::kBF16 ? 7.9e-3 : 1.2e-7;
  const bool is_float32 = type == DataType::kFLOAT;
  const auto got = actual.numbers(), wanted = expected.numbers();
  for (size_t i = 0; i < got.size(); ++i) {
    const double a = got[i], e = wanted[i];
    if (a == e || (std::isnan(a) && std::isnan(e))) continue;
    // Of 16-bit results, all but those near the middle of two numbers are the same.
    const double allowed = is_float(type) && std::isfinite(e)
                               ? (is_float32 ? ulps * tested().rounding : std::min(ulps, 1.0))
                                     * unit * std::max(std::abs(e), floor)
                               : 0;
    ASSERT_LE(std::abs(a - e), allowed) << "element " << i << " of " << actual.shape().str() << " "
                                        << name_of(type) << " is " << a << ", expected " << e;
  }
}

/// The candidate for programs of floats against the reference.
inline void expect_program(const Op& op, std::vector<TestInput> inputs, double ulps, double floor) {
  LayerTest test(op, std::move(inputs));
  ASSERT_EQ(test.offer("pointwise"), "");
  expect_accurate(test.run(), test.reference(), ulps, floor);
}

}  // namespace tenon
