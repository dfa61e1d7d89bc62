#include "tenon/kernels/nms.h"

#include <gtest/gtest.h>

#include <numeric>
#include <random>

#include "tenon/kernels/box_tensor.h"
#include "tenon/kernels/rotated_boxes.h"

namespace tenon::kernels {
namespace {

struct Candidates {
  std::vector<Box> boxes;
  std::vector<float> scores;
};

// Every kept box is compared with every candidate.
std::vector<int64_t> kept_by_comparing_all(const Candidates& c, float threshold) {
  std::vector<int64_t> order(c.boxes.size()), kept;
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    return c.scores[static_cast<size_t>(a)] > c.scores[static_cast<size_t>(b)];
  });
  for (const int64_t i : order) {
    const Box& box = c.boxes[static_cast<size_t>(i)];
    const bool is_dropped = std::any_of(kept.begin(), kept.end(), [&](int64_t k) {
      const Box& other = c.boxes[static_cast<size_t>(k)];
      return overlap(other, other.area(), box, box.area(), threshold);
    });
    if (!is_dropped) kept.push_back(i);
  }
  return kept;
}

std::vector<int64_t> kept_by_kernel(const Candidates& c, NmsRule rule) {
  const auto count = static_cast<int64_t>(c.boxes.size());
  const NmsShape shape{1, count, 1};
  Carver size;
  Nms<BoxTensor<float>>(shape, rule, size);
  std::vector<std::max_align_t> memory(size.bytes() / sizeof(std::max_align_t) + 1);
  Carver carver(memory.data());
  Nms<BoxTensor<float>> nms(shape, rule, carver);
  const BoxTensor<float> boxes{&c.boxes.data()->x1, count, 1};
  const KeptLists& lists = nms.run(kit::Device{}, c.scores.data(), boxes);
  std::vector<int64_t> kept;
  for (int64_t i = 0; i < lists.count(0); ++i) kept.push_back(lists.box_of(lists.keys(0)[i]));
  return kept;
}

// Numbers of candidates: few of which are compared with all, and many, which lie in grids.
constexpr int64_t kFew = 600, kMany = 4000;

// Of `spread` sizes, from about 1 on, within `extent`.
Candidates random_candidates(int64_t count, float extent, float spread, uint32_t seed) {
  std::mt19937 generator(seed);
  std::uniform_real_distribution<float> unit(0, 1);
  Candidates c;
  for (int64_t i = 0; i < count; ++i) {
    const float x = (unit(generator) - 0.5f) * extent, y = (unit(generator) - 0.5f) * extent;
    const float width = std::pow(spread, unit(generator));
    const float height = std::pow(spread, unit(generator));
    c.boxes.push_back({x, y, x + width, y + height});
    c.scores.push_back(std::floor(unit(generator) * 500) / 500 - 0.5f);  // some are equal
  }
  return c;
}

TEST(NmsTest, KeepsWhatComparingAllKeeps) {
  uint32_t seed = 0;
  for (const float threshold : {0.f, 0.01f, 0.1f, 0.3f, 0.5f, 0.7f, 0.95f, 1.f})
    for (const float spread : {1.f, 4.f, 100.f})
      for (const int64_t count : {int64_t{1}, int64_t{60}, kFew, kMany}) {
        const float extent = 2 * std::sqrt(spread * static_cast<float>(count));
        const Candidates c = random_candidates(count, extent, spread, ++seed);
        EXPECT_EQ(kept_by_kernel(c, {.overlap = threshold}), kept_by_comparing_all(c, threshold))
            << threshold << " " << spread << " " << count;
      }
}

// Rows of small boxes, far from zero where floats are coarse.
TEST(NmsTest, CoarseCoordinatesAreCompared) {
  std::mt19937 generator(7);
  for (const int64_t count : {kFew, kMany}) {
    const uint32_t extent = count == kFew ? 16 : 60;
    Candidates c;
    for (int64_t i = 0; i < count; ++i) {
      const auto x = static_cast<float>(16777216 + 2 * static_cast<int>(generator() % extent));
      const auto y = static_cast<float>(-8388608 + static_cast<int>(generator() % extent));
      c.boxes.push_back({x, y, x + 2 * static_cast<float>(1 + generator() % 4),
                         y + static_cast<float>(1 + generator() % 4)});
      c.scores.push_back(static_cast<float>(generator() % 1000));
    }
    for (const float threshold : {0.2f, 0.3334f, 0.5f, 0.6f})
      EXPECT_EQ(kept_by_kernel(c, {.overlap = threshold}), kept_by_comparing_all(c, threshold))
          << threshold << " " << count;
  }
}

TEST(NmsTest, StrangeNumbersOverlapNothing) {
  const float strange[] = {NAN, INFINITY, -INFINITY, 3e38f, -3e38f, 1e-40f, 0};
  for (const int64_t count : {kFew, kMany}) {
    Candidates c = random_candidates(count, std::sqrt(static_cast<float>(2 * count)), 4, 8);
    uint32_t i = 0;
    for (const float a : strange)
      for (const float b : strange) {
        c.boxes[3 * i] = {a, 1, b, 2};
        c.boxes[3 * i + 1] = {0, a, 1, b};
        c.scores[i] = std::clamp(b, -1e38f, INFINITY);
        if (std::isnan(b)) c.scores[i] = 1;  // a NaN has no order
        ++i;
      }
    for (const float threshold : {0.f, 0.5f})
      EXPECT_EQ(kept_by_kernel(c, {.overlap = threshold}), kept_by_comparing_all(c, threshold))
          << threshold << " " << count;
  }
}

TEST(NmsTest, TinyBoxesAreCompared) {
  for (const int64_t count : {kFew, kMany})
    for (const float size : {1e-16f, 1e-19f, 1e-22f})
      for (const float threshold : {0.f, 1e-6f, 0.5f}) {
        Candidates c = random_candidates(count, std::sqrt(static_cast<float>(2 * count)), 4, 9);
        for (Box& b : c.boxes) b = {b.x1 * size, b.y1 * size, b.x2 * size, b.y2 * size};
        EXPECT_EQ(kept_by_kernel(c, {.overlap = threshold}), kept_by_comparing_all(c, threshold))
            << count << " " << size << " " << threshold;
      }
}

TEST(NmsTest, NoScoreOfNanIsKept) {
  const Candidates c{{{0, 0, 1, 1}, {5, 5, 6, 6}}, {NAN, 1}};
  EXPECT_EQ(kept_by_kernel(c, {}), std::vector<int64_t>{1});
}

TEST(NmsTest, KeepsNoMoreThanItMay) {
  const Candidates c = random_candidates(400, 1000, 2, 10);
  std::vector<int64_t> kept = kept_by_comparing_all(c, 0.5f);
  ASSERT_GT(kept.size(), 200u);
  kept.resize(77);
  EXPECT_EQ(kept_by_kernel(c, {.overlap = 0.5f, .max_boxes = 77}), kept);
  EXPECT_EQ(kept_by_kernel(c, {.overlap = 0.5f, .max_boxes = 0}), std::vector<int64_t>{});
}

TEST(ScoreKeyTest, SortsAsScoresDo) {
  std::vector<float> scores;
  std::mt19937 generator(3);
  std::uniform_int_distribution<int> numbers(-50, 50);
  for (int i = 0; i < 1000; ++i) scores.push_back(static_cast<float>(numbers(generator)) / 8);
  for (const float x : {INFINITY, -INFINITY, -0.f, 0.f, 1e-40f, 3e38f}) scores.push_back(x);
  std::vector<ScoreKey> keys, scratch(scores.size());
  for (uint32_t i = 0; i < scores.size(); ++i) keys.push_back(ScoreKey::of(scores[i], i));
  const ScoreKey* sorted =
      sort_keys(keys.data(), scratch.data(), static_cast<int64_t>(keys.size()));
  std::vector<uint32_t> order(scores.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](uint32_t a, uint32_t b) { return scores[a] > scores[b]; });
  for (size_t i = 0; i < order.size(); ++i) {
    EXPECT_EQ(sorted[i].index(), order[i]);
    EXPECT_EQ(sorted[i].score(), scores[order[i]]);
  }
}

// Areas that are known: a square and the same rotated by 45 degrees share an octagon.
TEST(RotatedBoxTest, SharesKnownAreas) {
  const float diagonal = std::sqrt(0.5f);
  const RotatedBox square{3, -2, 2, 2, 1, 0}, diamond{3, -2, 2, 2, diagonal, diagonal};
  EXPECT_NEAR(common_area(square, diamond), 8 * (std::sqrt(2.f) - 1), 1e-5);
  EXPECT_NEAR(common_area(square, square), 4, 1e-6);
  EXPECT_NEAR(common_area(square, {4, -2, 2, 2, 0, 1}), 2, 1e-6);
  EXPECT_NEAR(common_area(diamond, {3, -2, 20, 20, 0.6f, 0.8f}), 4, 1e-5);
  EXPECT_EQ(common_area(square, {6, -2, 2, 2, diagonal, diagonal}), 0);
}

TEST(RotatedBoxTest, StrangeNumbersOverlapNothing) {
  const RotatedBox box{0, 0, 1, 1, 1, 0};
  for (const RotatedBox& other :
       {RotatedBox{NAN, 0, 1, 1, 1, 0}, RotatedBox{0, 0, -1, -1, 1, 0},
        RotatedBox{0, 0, 0, 1, 1, 0}, RotatedBox{0, 0, 1, 1, NAN, NAN},
        RotatedBox{INFINITY, 0, 1, 1, 1, 0}, RotatedBox{0, 0, INFINITY, 1, 1, 0}}) {
    std::vector<RotatedBox> memory(3);
    KeptRotatedBoxes kept({memory.data()}, 3, 0);
    kept.add(box);
    EXPECT_FALSE(kept.overlaps(other));
    kept.add(other);
    EXPECT_TRUE(kept.overlaps(box));
  }
}

TEST(NmsTest, CandidatesHaveNumbersOf32Bits) {
  EXPECT_NO_THROW(KeptLists({1, 65535, 65537}, {}));
  EXPECT_THROW(KeptLists({1, 65536, 65536}, {}), std::invalid_argument);
  EXPECT_THROW(KeptLists({0, INT64_MAX, INT32_MAX}, {}), std::invalid_argument);
}

}  // namespace
}  // namespace tenon::kernels
