#include "candidates.h"

#include <gmock/gmock.h>

#include <numeric>
#include <random>

#include "property_seed.h"

namespace tenon::serve {
namespace {

using ::testing::ElementsAre;

std::vector<int64_t> taken(Candidates candidates) {
  std::vector<int64_t> indices;
  for (const Candidate& candidate : candidates.take()) indices.push_back(candidate.index);
  return indices;
}

TEST(Candidates, HoldTheBestInTheirOrder) {
  DetectOptions options{.score_threshold = 0.5F};
  options.nms.max_candidates = 3;
  Candidates candidates(options);
  const float scores[] = {0.6F, 0.5F, 0.9F, NAN, 0.7F, 0.7F, 0.7F, 0.2F, 0.95F, 0.6F};
  for (int64_t i = 0; i < 10; ++i) candidates.add(scores[i], 0, i);
  EXPECT_THAT(taken(std::move(candidates)), ElementsAre(2, 4, 8));
}

// They never hold more than twice as many as are looked at, and what is cut on the way is not
// missed.
TEST(Candidates, AreTheBestOfMany) {
  const uint32_t seed = property_seed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  std::uniform_int_distribution<int> number(0, 100);
  for (int round = 0; round < 50; ++round) {
    DetectOptions options{.score_threshold = 0.3F};
    options.nms.max_candidates = 1 + number(random);
    Candidates candidates(options);
    std::vector<std::pair<float, int64_t>> all;
    for (int64_t i = 0; i < 1000; ++i) {
      const auto score = static_cast<float>(number(random)) / 100;
      candidates.add(score, 0, i);
      if (score > 0.3F) all.emplace_back(-score, i);
    }
    std::sort(all.begin(), all.end());
    all.resize(std::min(all.size(), static_cast<size_t>(options.nms.max_candidates)));
    std::vector<int64_t> best;
    for (const auto& [score, index] : all) best.push_back(index);
    std::sort(best.begin(), best.end());
    ASSERT_EQ(taken(std::move(candidates)), best) << "round " << round;
  }
}

TEST(BestClass, IsTheFirstOfTheHighest) {
  const float scores[] = {0.1F, NAN, 0.7F, 0.7F, 0.2F};
  EXPECT_EQ(best_class(scores, 5, 1), 2);
  EXPECT_EQ(best_class(scores, 2, 2), 1);
  const float none[] = {NAN, NAN};
  EXPECT_EQ(best_class(none, 2, 1), -1);
  const float lowest[] = {NAN, -INFINITY, -INFINITY};
  EXPECT_EQ(best_class(lowest, 3, 1), 1);
}

TEST(ScanClasses, FindsTheBestClassesAboveTheThreshold) {
  const uint32_t seed = property_seed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  std::uniform_int_distribution<int> number(0, 99);  // many are equal
  constexpr int64_t kBegin = 7, kClasses = 5;
  for (const int64_t boxes : {0, 1, 15, 63, 64, 65, 511, 512, 513, 1700})
    for (const float threshold : {-1.0F, 0.7F, 0.97F}) {
      std::vector<_Float16> halves(static_cast<size_t>(kBegin + kClasses * boxes));
      for (auto& score : halves) {
        const int n = number(random);
        score = static_cast<_Float16>(n < 5 ? NAN : static_cast<float>(n) / 100);
      }
      const std::vector<float> floats(halves.begin(), halves.end());
      std::vector<std::pair<int64_t, int64_t>> wanted;
      for (int64_t box = 0; box < boxes; ++box) {
        const float* const scores = floats.data() + kBegin + box;
        const int64_t best = best_class(scores, kClasses, boxes);
        if (best >= 0 && scores[best * boxes] > threshold) wanted.emplace_back(box, best);
      }
      const Shape shape = {static_cast<int64_t>(floats.size())};
      for (const View& view : {*View::of(std::span(floats), shape),
                               *View::of(std::span<const _Float16>(halves), shape)}) {
        std::vector<std::pair<int64_t, int64_t>> found;
        scan_classes(view, kBegin, kClasses, boxes, threshold,
                     [&](int64_t box, int64_t kind) { found.emplace_back(box, kind); });
        EXPECT_EQ(found, wanted) << view.text() << " above " << threshold;
      }
    }
}

// No logit of a score above the threshold is missed, and few others are found.
TEST(LogitBelow, IsJustBelow) {
  for (const float threshold : {1e-6F, 0.001F, 0.1F, 0.25F, 0.5F, 0.7F, 0.99F, 0.9999F}) {
    const float limit = logit_below(threshold);
    EXPECT_LE(sigmoid(limit), threshold) << threshold;
    EXPECT_GT(sigmoid(limit), threshold - 0.01F * threshold) << threshold;
  }
  EXPECT_EQ(logit_below(0), -INFINITY);
  EXPECT_EQ(logit_below(1), INFINITY);
}

}  // namespace
}  // namespace tenon::serve
