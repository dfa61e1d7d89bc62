// The verbs that kernels are written in.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <tenon/plugin.h>

#include <limits>
#include <numeric>

namespace verbs_test::TENON_TARGET {

using namespace tenon::kit;  // NOLINT: what plugin authors write
using ::testing::ElementsAre;

std::vector<float> numbers(int64_t count) {
  std::vector<float> list;
  for (int64_t i = 0; i < count; ++i) list.push_back(static_cast<float>(i * 37 % 17 - 8));
  return list;
}

TEST(VerbsTest, ATeamReducesARow) {
  for (const int64_t n : {0, 1, 15, 16, 100}) {
    const std::vector<float> x = numbers(n);
    const auto at = [&](int64_t i) { return x[static_cast<size_t>(i)]; };
    EXPECT_EQ(Team{}.sum(n, at), std::accumulate(x.begin(), x.end(), 0.f));
    const float lowest = -std::numeric_limits<float>::infinity();
    const float max = Team{}.reduce(n, lowest, [](float a, float b) { return std::max(a, b); }, at);
    EXPECT_EQ(max, n == 0 ? lowest : *std::max_element(x.begin(), x.end()));
  }
}

TEST(VerbsTest, ATeamScansARow) {
  const std::vector<float> x = numbers(100);
  std::vector<float> sums(100), expected(100);
  std::partial_sum(x.begin(), x.end(), expected.begin());
  Team{}.scan(
      100, 0.f, [](float a, float b) { return a + b; },
      [&](int64_t i) { return x[static_cast<size_t>(i)]; },
      [&](int64_t i, float v) { sums[static_cast<size_t>(i)] = v; });
  EXPECT_EQ(sums, expected);
}

TEST(VerbsTest, TheFirstOfEachRowAreStable) {
  for (const int64_t n : {1, 2, 31, 200})
    for (const int64_t k : {int64_t{1}, n / 16, n / 2, n, n + 3}) {
      const int64_t rows = 3;
      const std::vector<float> x = numbers(rows * n);
      const auto before = [&](int64_t row, int32_t a, int32_t b) {
        return x[static_cast<size_t>(row * n + a)] > x[static_cast<size_t>(row * n + b)];
      };
      std::vector<int32_t> order(static_cast<size_t>(rows * k), -1);
      std::vector<char> scratch(sort_workspace(rows, n));
      Device{}.top_k(rows, n, k, before, order.data(), scratch.data());
      for (int64_t row = 0; row < rows; ++row) {
        std::vector<int32_t> expected(static_cast<size_t>(n));
        std::iota(expected.begin(), expected.end(), 0);
        std::stable_sort(expected.begin(), expected.end(),
                         [&](int32_t a, int32_t b) { return before(row, a, b); });
        expected.resize(static_cast<size_t>(k), -1);
        EXPECT_THAT(std::vector<int32_t>(order.begin() + row * k, order.begin() + (row + 1) * k),
                    ::testing::ElementsAreArray(expected))
            << n << " " << k;
      }
    }
}

// As an engine that has a part for each thread would call it.
void in_parts(int64_t count, int64_t grain, void (*body)(void*, int64_t, int64_t),
              void* state) noexcept {
  for (int64_t at = 0; at < count; at += grain + 7)
    body(state, at, std::min(at + grain + 7, count));
}

class GridTest : public ::testing::TestWithParam<bool> {
 protected:
  GridTest() { engine().parallel_for = GetParam() ? in_parts : nullptr; }
  ~GridTest() override { engine().parallel_for = nullptr; }
};
INSTANTIATE_TEST_SUITE_P(Parts, GridTest, ::testing::Bool());

TEST_P(GridTest, EveryColumnOfEveryRowIsThereOnce) {
  for (const auto& [rows, columns] : {std::pair<int64_t, int64_t>{1, 1},
                                      {3, 5},
                                      {7, 3000},
                                      {2, 10000},
                                      {5000, 4},
                                      {0, 5},
                                      {5, 0},
                                      {1, 257}}) {
    std::vector<int> counts(static_cast<size_t>(rows * columns));
    Device{}.parallel_grid(rows, columns, [&, columns = columns](int64_t row, int64_t column) {
      ++counts[static_cast<size_t>(row * columns + column)];
    });
    Device{}.parallel_spans(
        rows, columns, [&, columns = columns](int64_t row, int64_t first, int64_t count) {
          EXPECT_TRUE(count >= 1 && count <= kSpan && first >= 0 && first + count <= columns);
          for (int64_t i = 0; i < count; ++i)
            ++counts[static_cast<size_t>(row * columns + first + i)];
        });
    EXPECT_THAT(counts, ::testing::Each(2)) << rows << " " << columns;
  }
}

template <class E> void expect_doubled(const std::vector<E>& x) {
  std::vector<E> y(x.size());
  Device{}.parallel_spans(1, static_cast<int64_t>(x.size()),
                          [&](int64_t, int64_t first, int64_t count) {
                            const InputSpan<E> from(x.data() + first, count);
                            const OutputSpan<E> to(y.data() + first);
                            for (int64_t i = 0; i < count; ++i) to[i] = 2 * from[i];
                            to.store(count);
                          });
  for (size_t i = 0; i < x.size(); ++i)
    EXPECT_EQ(static_cast<float>(y[i]), 2 * static_cast<float>(x[i])) << i;
}

TEST_P(GridTest, SpansAreFloatsOfAnyType) {
  const std::vector<float> x = numbers(1000);
  expect_doubled(x);
  expect_doubled(std::vector<Half>(x.begin(), x.end()));
  expect_doubled(std::vector<int8_t>(x.begin(), x.end()));
  std::vector<BFloat16> brain;
  for (const float value : x) brain.emplace_back(value);
  expect_doubled(brain);
}

TEST(VerbsTest, MatricesAreMultipliedWithoutAnEngine) {
  const float a[] = {1, 2, 3, 4, 5, 6}, b[] = {1, 0, 2, 1, 0, 3};
  const Device device;
  std::vector<float> c(6, 1);
  device.multiply(2, 2, 3, {a, 3}, {b, 2}, c.data(), 3);
  EXPECT_THAT(c, ElementsAre(5, 11, 1, 14, 23, 1));
  device.multiply(2, 2, 3, {a, 3}, {b, 2}, c.data(), 3, true);
  EXPECT_THAT(c, ElementsAre(10, 22, 1, 28, 46, 1));
  c.resize(9);
  device.multiply(3, 3, 2, {a, 3, true}, {b, 2, true}, c.data(), 3);
  EXPECT_THAT(c, ElementsAre(1, 6, 12, 2, 9, 15, 3, 12, 18));
}

TEST(VerbsTest, ExceptionsReachTheCaller) {
  const Device device;
  EXPECT_THROW(device.parallel_for(3,
                                   [](int64_t i) {
                                     if (i == 2) throw std::runtime_error("2");
                                   }),
               std::runtime_error);
}

}  // namespace verbs_test::TENON_TARGET
