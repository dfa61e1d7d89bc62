#include "ops/support/fourier_transform.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "ops/fourier.h"
#include "ops/op_test.h"

namespace tenon {
namespace {

std::vector<Complex> sequence_of(int64_t length) {
  std::vector<Complex> x;
  for (int64_t k = 0; k < length; ++k)
    x.push_back(
        {std::sin(static_cast<double>(k * k % 17)), std::cos(static_cast<double>(3 * k % 7))});
  return x;
}

std::vector<Complex> transformed(std::vector<Complex> x, bool inverse) {
  const FourierTransform transform(static_cast<int64_t>(x.size()));
  std::vector<Complex> work(static_cast<size_t>(transform.work_size()));
  transform.transform(x.data(), work.data(), inverse);
  return x;
}

TEST(FourierTransform, IsTheSumOfItsDefinition) {
  for (int64_t length = 1; length <= 130; ++length) {
    const auto x = sequence_of(length), y = transformed(x, false);
    for (int64_t k = 0; k < length; ++k) {
      Complex sum;
      for (int64_t j = 0; j < length; ++j) {
        const double angle = -2 * std::numbers::pi * static_cast<double>(j * k % length)
                             / static_cast<double>(length);
        const Complex e = x[static_cast<size_t>(j)];
        sum.re += e.re * std::cos(angle) - e.im * std::sin(angle);
        sum.im += e.re * std::sin(angle) + e.im * std::cos(angle);
      }
      ASSERT_NEAR(y[static_cast<size_t>(k)].re, sum.re, 1e-10) << length << ", " << k;
      ASSERT_NEAR(y[static_cast<size_t>(k)].im, sum.im, 1e-10) << length << ", " << k;
    }
  }
}

TEST(FourierTransform, TheInverseLeadsBack) {
  for (const int64_t length : {1, 400, 512, 1009, 4410, 65536, 65537}) {
    const auto x = sequence_of(length), y = transformed(transformed(x, false), true);
    for (size_t k = 0; k < x.size(); ++k) {
      ASSERT_NEAR(y[k].re / static_cast<double>(length), x[k].re, 1e-11) << length << ", " << k;
      ASSERT_NEAR(y[k].im / static_cast<double>(length), x[k].im, 1e-11) << length << ", " << k;
    }
  }
}

TEST(Fourier, RefusesWhatCannotBeTransformed) {
  using namespace testing;
  using ::testing::HasSubstr;
  const auto x = [](const Shape& shape) { return input(Tensor(DataType::kFLOAT, shape)); };
  Fourier op;
  op.axis = 1;
  EXPECT_THAT(infer_error(op, {x({1, 8, 3})}),
              HasSubstr("expected a last extent of 1 (real) or 2"));
  EXPECT_THAT(infer_error(op, {x({1, 0, 1})}), HasSubstr("the length of the transform is 0"));
  EXPECT_THAT(infer_error(op, {x({1, 8, 1}), constant(make<int64_t>({}, {int64_t{1} << 40}))}),
              HasSubstr("the length of the transform is 1099511627776"));
  op.axis = 2;
  EXPECT_THAT(infer_error(op, {x({1, 8, 1})}), HasSubstr("holds real and imaginary parts"));
  op.frame_step = 2;
  op.frame_length = 16;
  EXPECT_THAT(infer_error(op, {x({1, 8, 1})}),
              HasSubstr("the signal has 8 elements; a frame has 16"));
}

}  // namespace
}  // namespace tenon
