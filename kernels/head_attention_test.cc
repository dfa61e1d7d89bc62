// What cases of plugins are too short for: several blocks of queries, keys and features, against
// double precision.
#include <gtest/gtest.h>
#include <tenon/kernels/head_attention.h>

#include <vector>

namespace tenon::kernels {
namespace {

std::vector<float> head_numbers(int64_t count, uint32_t state) {
  std::vector<float> x(static_cast<size_t>(count));
  for (float& v : x) {
    state = state * 1664525u + 1013904223u;
    v = static_cast<float>(state >> 24) / 64.f - 2.f;
  }
  return x;
}

// Keys behind a query are not seen.
struct Causal {
  float operator()(int64_t, int64_t, int64_t query, int64_t key) const {
    return key > query + 100 ? -HUGE_VALF : 0.f;
  }
};

// k is transposed, as attend_heads() has it.
template <class Bias> std::vector<double> attended(const HeadAttention& a, const Bias& bias) {
  std::vector<double> y;
  for (int64_t row = 0; row < a.rows(); ++row) {
    const int64_t query = row % a.queries, head = row / a.queries % a.heads;
    const int64_t batch = row / a.queries / a.heads;
    const int64_t source = a.key_head(batch, head) * a.keys * a.features;
    std::vector<double> weights;
    double sum = 0;
    for (int64_t j = 0; j < a.keys; ++j) {
      double score = 0;
      for (int64_t f = 0; f < a.features; ++f)
        score += static_cast<double>(a.q[row * a.features + f])
                 * static_cast<double>(a.k[source + f * a.keys + j]);
      weights.push_back(std::exp(score * static_cast<double>(a.scale)
                                 + static_cast<double>(bias(batch, head, query, j))));
      sum += weights.back();
    }
    for (int64_t f = 0; f < a.features; ++f) {
      double mixed = 0;
      for (int64_t j = 0; j < a.keys; ++j)
        mixed +=
            weights[static_cast<size_t>(j)] * static_cast<double>(a.v[source + j * a.features + f]);
      y.push_back(mixed / sum);
    }
  }
  return y;
}

template <class Bias> void expect_attention(HeadAttention a, const Bias& bias) {
  const int64_t keys = a.batches * a.key_heads * a.keys * a.features;
  const std::vector<float> q = head_numbers(a.rows() * a.features, 1), k = head_numbers(keys, 2),
                           v = head_numbers(keys, 3);
  std::vector<float> y(q.size());
  a.q = q.data();
  a.k = k.data();
  a.v = v.data();
  a.y = y.data();
  std::vector<char> workspace(head_attention_workspace(a.rows(), a.keys));
  kit::Device device;
  device.workspace = workspace.data();
  attend_heads(device, a, bias);
  const std::vector<double> expected = attended(a, bias);
  for (size_t i = 0; i < expected.size(); ++i) ASSERT_NEAR(y[i], expected[i], 5e-6) << i;
}

TEST(HeadAttentionTest, ManyQueriesKeysAndFeatures) {
  expect_attention({nullptr, nullptr, nullptr, nullptr, 2, 4, 2, 150, 333, 37, 0.2f}, NoBias{});
  expect_attention({nullptr, nullptr, nullptr, nullptr, 1, 1, 1, 64, 130, 130, 0.1f}, Causal{});
}

TEST(HeadAttentionTest, MoreKeysThanTheCacheHolds) {
  expect_attention({nullptr, nullptr, nullptr, nullptr, 1, 2, 2, 20, 5000, 16, 0.3f}, NoBias{});
}

// Heads as copies, from and to where tokens or features lie side by side.
TEST(HeadAttentionTest, HeadsAreCopiedFromAnyLayout) {
  constexpr int64_t kBatches = 2, kHeads = 3, kTokens = 70, kFeatures = 90;
  const int64_t size = kBatches * kHeads * kTokens * kFeatures;
  const std::vector<float> from = head_numbers(size, 4);
  const HeadLayout by_token{kTokens * kHeads * kFeatures, kHeads * kFeatures, kFeatures};
  const HeadLayout by_feature{kHeads * kFeatures * kTokens, 1, kFeatures * kTokens, kTokens};
  for (const HeadLayout& layout : {by_token, by_feature})
    for (const bool transposes : {false, true}) {
      std::vector<float> held(from.size()), back(from.size());
      const GatherHeads<float> gather{from.data(), held.data(), layout,     kHeads,
                                      kTokens,     kFeatures,   transposes, 2.f};
      move_heads(kit::Device{}, gather, kBatches);
      for (int64_t i = 0; i < size; ++i) {
        const int64_t a = i % (kTokens * kFeatures), head = i / (kTokens * kFeatures);
        const int64_t token = transposes ? a % kTokens : a / kFeatures;
        const int64_t feature = transposes ? a / kTokens : a % kFeatures;
        const int64_t at = layout.at(head / kHeads, token, head % kHeads);
        ASSERT_EQ(held[static_cast<size_t>(i)],
                  2 * from[static_cast<size_t>(at + feature * layout.feature)])
            << i;
      }
      if (transposes) continue;
      const ScatterHeads<float> scatter{held.data(), back.data(), layout, kHeads,
                                        kTokens,     kFeatures,   0.5f};
      move_heads(kit::Device{}, scatter, kBatches);
      EXPECT_EQ(back, from);
    }
}

}  // namespace
}  // namespace tenon::kernels
