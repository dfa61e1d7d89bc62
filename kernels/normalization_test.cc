// What cases of plugins are too short for: rows of several blocks, against double precision.
#include <gtest/gtest.h>
#include <tenon/kernels/normalization.h>

#include <vector>

namespace tenon::kernels {
namespace {

using kit::Half;

// Deviations of 1, far from 0: where sums of squares in float are noise.
std::vector<float> numbers(int64_t count, float mean) {
  std::vector<float> x(static_cast<size_t>(count));
  uint32_t state = 1;
  for (float& v : x) {
    state = state * 1664525u + 1013904223u;
    v = mean + static_cast<float>(state >> 24) / 64.f - 2.f;
  }
  return x;
}

template <class E> std::vector<double> normalized(const std::vector<E>& x, size_t length) {
  std::vector<double> y;
  for (size_t row = 0; row < x.size(); row += length) {
    double mean = 0, variance = 0;
    for (size_t i = 0; i < length; ++i) mean += static_cast<double>(x[row + i]);
    mean /= static_cast<double>(length);
    for (size_t i = 0; i < length; ++i) {
      const double d = static_cast<double>(x[row + i]) - mean;
      variance += d * d;
    }
    variance /= static_cast<double>(length);
    for (size_t i = 0; i < length; ++i)
      y.push_back((static_cast<double>(x[row + i]) - mean) / std::sqrt(variance + 1e-5));
  }
  return y;
}

template <class E>
double max_error(const std::vector<E>& got, const std::vector<double>& expected) {
  double max = 0;
  for (size_t i = 0; i < expected.size(); ++i)
    max = std::max(max, std::fabs(static_cast<double>(got[i]) - expected[i]));
  return max;
}

constexpr int64_t kLength = 10007;  // some blocks and a remainder

TEST(NormalizationTest, LongRowsWithLargeMeansAreExact) {
  for (const float mean : {0.f, 1000.f, -100000.f}) {
    std::vector<float> x = numbers(3 * kLength, mean), y(x.size());
    for (int64_t i = 0; i < kLength; i += 3) x[i] += 50;  // the second block is elsewhere
    const float* none = nullptr;
    normalize(kit::Device{}, Elements<float>{x.data()}, y.data(), none, none, {3, 1, kLength, 1},
              {});
    EXPECT_LT(max_error(y, normalized(x, kLength)), 2e-6) << mean;
  }
}

TEST(NormalizationTest, LongRowsWithParametersByElement) {
  const std::vector<float> x = numbers(2 * kLength, 0);
  std::vector<float> y(x.size()), scale(kLength), bias(kLength);
  for (int64_t i = 0; i < kLength; ++i) {
    scale[i] = static_cast<float>(i % 7) - 3;
    bias[i] = static_cast<float>(i % 5);
  }
  normalize(kit::Device{}, Elements<float>{x.data()}, y.data(), scale.data(), bias.data(),
            {2, kLength, 1, 1}, {});
  std::vector<double> expected = normalized(x, kLength);
  for (size_t i = 0; i < expected.size(); ++i)
    expected[i] = expected[i] * static_cast<double>(scale[i % kLength])
                  + static_cast<double>(bias[i % kLength]);
  EXPECT_LT(max_error(y, expected), 1e-5);
}

TEST(NormalizationTest, LongRowsOfHalvesAndTheirSum) {
  const std::vector<float> numbers_a = numbers(kLength, 0), numbers_b = numbers(kLength + 1, 1);
  std::vector<Half> a(kLength), b(kLength), y(kLength), sum(kLength);
  std::vector<float> exact(kLength);
  for (int64_t i = 0; i < kLength; ++i) {
    a[i] = static_cast<Half>(numbers_a[i]);
    b[i] = static_cast<Half>(numbers_b[i + 1]);
    exact[i] = static_cast<float>(a[i]) + static_cast<float>(b[i]);
  }
  const float* none = nullptr;
  normalize(kit::Device{}, SumOfElements<Half>{a.data(), b.data(), sum.data()}, y.data(), none,
            none, {1, 1, kLength, 1}, {});
  EXPECT_LT(max_error(y, normalized(exact, kLength)), 2e-3);
  for (int64_t i = 0; i < kLength; ++i) ASSERT_EQ(sum[i], static_cast<Half>(exact[i])) << i;
}

}  // namespace
}  // namespace tenon::kernels
