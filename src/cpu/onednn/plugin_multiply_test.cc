#include <gmock/gmock.h>
#include <tenon/plugin_host.h>

#include <cmath>
#include <vector>

namespace {

// Small whole numbers, whose products are exact.
std::vector<float> onednn_plugin_multiply_numbers(int64_t count) {
  std::vector<float> list;
  for (int64_t i = 0; i < count; ++i) list.push_back(static_cast<float>(i * 37 % 17 - 8));
  return list;
}

TEST(PluginMultiplyTest, IsTheSumOfProducts) {
  struct Size {
    int64_t m, n, k;
  };
  for (const Size s : {Size{1, 1, 1}, Size{3, 5, 7}, Size{64, 33, 129}, Size{5, 1, 300}})
    for (int way = 0; way < 8; ++way) {
      const bool a_transposed = (way & 1) != 0, b_transposed = (way & 2) != 0, add = (way & 4) != 0;
      const int64_t a_stride = (a_transposed ? s.m : s.k) + 1, b_stride = b_transposed ? s.k : s.n;
      const std::vector<float> a = onednn_plugin_multiply_numbers((s.m + s.k) * (s.m + s.k + 2)),
                               b = onednn_plugin_multiply_numbers(s.k * s.n + 1);
      std::vector<float> c(static_cast<size_t>(s.m * (s.n + 2)), 1.f), expected = c;
      for (int64_t i = 0; i < s.m; ++i)
        for (int64_t j = 0; j < s.n; ++j) {
          float sum = add ? 1.f : 0.f;
          for (int64_t l = 0; l < s.k; ++l)
            sum += a[static_cast<size_t>(a_transposed ? l * a_stride + i : i * a_stride + l)]
                   * b[static_cast<size_t>(b_transposed ? j * b_stride + l : l * b_stride + j)];
          expected[static_cast<size_t>(i * (s.n + 2) + j)] = sum;
        }
      const TenonMatrixProduct product{s.m,
                                       s.n,
                                       s.k,
                                       a.data(),
                                       a_stride,
                                       b.data(),
                                       std::max<int64_t>(b_stride, 1),
                                       c.data(),
                                       s.n + 2,
                                       a_transposed,
                                       b_transposed,
                                       add};
      ASSERT_NE(tenonMultiply, nullptr);
      EXPECT_EQ(tenonMultiply(&product), 0);
      EXPECT_EQ(c, expected) << s.m << " " << s.n << " " << s.k << ", way " << way;
    }
}

TEST(PluginMultiplyTest, LeavesEmptyProductsToTheCaller) {
  float c[] = {1, 2, 3, 4, 5, 6};
  const TenonMatrixProduct product{2, 3, 0, c, 1, c, 3, c, 3, false, false, false};
  EXPECT_NE(tenonMultiply(&product), 0);
  EXPECT_THAT(c, ::testing::ElementsAre(1, 2, 3, 4, 5, 6));
}

}  // namespace
