#include "candidates.h"

#include <gmock/gmock.h>

#include <numeric>
#include <random>

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
  const uint32_t seed = std::random_device()();
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

TEST(ScanClasses, FindsTheBoxesOfWhichAClassIsAbove) {
  const uint32_t seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> number(0, 1);
  for (const int64_t boxes : {0, 1, 15, 511, 512, 513, 1700}) {
    std::vector<float> scores(static_cast<size_t>(3 * boxes));
    for (float& score : scores) score = number(random) < 0.05F ? NAN : number(random);
    std::vector<int64_t> found, wanted;
    scan_classes(scores.data(), 3, boxes, 0.7F, [&](int64_t box) { found.push_back(box); });
    for (int64_t box = 0; box < boxes; ++box)
      if (scores[static_cast<size_t>(box)] > 0.7F || scores[static_cast<size_t>(boxes + box)] > 0.7F
          || scores[static_cast<size_t>(2 * boxes + box)] > 0.7F)
        wanted.push_back(box);
    EXPECT_EQ(found, wanted) << boxes;
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
