#include "tenon/serve/nms.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>

#include "property_seed.h"

namespace tenon::serve {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

bool overlaps_more(const Box& a, const Box& b, float threshold) {
  const float width = std::min(a.right, b.right) - std::max(a.left, b.left);
  const float height = std::min(a.bottom, b.bottom) - std::max(a.top, b.top);
  if (!(width > 0 && height > 0)) return false;
  const float common = width * height;
  const float area_a = (a.right - a.left) * (a.bottom - a.top);
  const float area_b = (b.right - b.left) * (b.bottom - b.top);
  return common / (area_a + area_b - common) > threshold;
}

// By the definition: every pair is compared.
std::vector<int64_t> plain_nms(const std::vector<Box>& boxes, const NmsOptions& options) {
  std::vector<int64_t> order;
  for (size_t i = 0; i < boxes.size(); ++i)
    if (!std::isnan(boxes[i].score)) order.push_back(static_cast<int64_t>(i));
  const auto at = [&](int64_t i) -> const Box& { return boxes[static_cast<size_t>(i)]; };
  std::stable_sort(order.begin(), order.end(),
                   [&](int64_t a, int64_t b) { return at(a).score > at(b).score; });
  order.resize(std::min(order.size(), static_cast<size_t>(options.max_candidates)));
  std::vector<int64_t> stay, suppressing;
  for (const int64_t i : order) {
    const bool is_free = std::none_of(suppressing.begin(), suppressing.end(), [&](int64_t k) {
      return (options.class_agnostic || at(i).class_label == at(k).class_label)
             && overlaps_more(at(i), at(k), options.iou_threshold);
    });
    if (is_free) stay.push_back(i);
    if (is_free || options.method == NmsMethod::kFast) suppressing.push_back(i);
  }
  stay.resize(std::min(stay.size(), static_cast<size_t>(options.max_boxes)));
  return stay;
}

TEST(Nms, KeepsTheBestOfThoseThatOverlap) {
  const std::vector<Box> boxes = {{0, 0, 10, 10, 0.8F, 0},
                                  {1, 1, 11, 11, 0.9F, 0},
                                  {1, 1, 11, 11, 0.7F, 1},
                                  {50, 50, 60, 60, 0.1F, 0}};
  EXPECT_THAT(*nms(boxes, {}), ElementsAre(1, 2, 3));
  EXPECT_THAT(*nms(boxes, {.class_agnostic = true}), ElementsAre(1, 3));
  EXPECT_THAT(*nms(boxes, {.max_boxes = 1}), ElementsAre(1));
  EXPECT_THAT(*nms(boxes, {.max_boxes = 0}), IsEmpty());
  EXPECT_THAT(*nms(boxes, {.max_candidates = 2}), ElementsAre(1));
  EXPECT_THAT(*nms({}, {}), IsEmpty());
}

// The first of equal scores stays, whichever comes first in the list.
TEST(Nms, OfEqualScoresTheLowerIndexIsTheBetter) {
  const std::vector<Box> boxes(500, Box{0, 0, 10, 10, 0.5F, 0});
  EXPECT_THAT(*nms(boxes, {}), ElementsAre(0));
  EXPECT_THAT(*nms(boxes, {.iou_threshold = 1, .max_boxes = 3}), ElementsAre(0, 1, 2));
  EXPECT_THAT(*nms(boxes, {.iou_threshold = 1, .max_candidates = 2}), ElementsAre(0, 1));
  const std::vector<Box> zeros = {{0, 0, 10, 10, -0.0F, 0}, {0, 0, 10, 10, 0.0F, 0}};
  EXPECT_THAT(*nms(zeros, {}), ElementsAre(0));
}

// The middle one overlaps both, and they not each other.
TEST(Nms, FastSuppressesByDroppedBoxesToo) {
  const std::vector<Box> boxes = {
      {0, 0, 10, 10, 0.9F, 0}, {3, 0, 13, 10, 0.8F, 0}, {6, 0, 16, 10, 0.7F, 0}};
  EXPECT_THAT(*nms(boxes, {}), ElementsAre(0, 2));
  EXPECT_THAT(*nms(boxes, {.method = NmsMethod::kFast}), ElementsAre(0));
}

TEST(Nms, DropsNaNScoresAndLeavesBoxesWithoutExtents) {
  constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const std::vector<Box> boxes = {{0, 0, 10, 10, kNaN, 0},
                                  {0, 0, 10, 10, 0.5F, 0},
                                  {-kInfinity, -kInfinity, kInfinity, kInfinity, 0.9F, 0},
                                  {kNaN, 0, 10, 10, 0.8F, 0},
                                  {5, 5, 5, 5, 0.7F, 0},
                                  {10, 10, 0, 0, 0.6F, 0},
                                  {0, 0, 10, 10, 0.4F, 0}};
  EXPECT_THAT(*nms(boxes, {}), ElementsAre(2, 3, 4, 5, 1));
}

TEST(Nms, RefusesOptionsThatMeanNothing) {
  EXPECT_THAT(nms({}, {.iou_threshold = 1.5F}).error(),
              HasSubstr("expected an IoU threshold from 0 to 1, found 1.5"));
  EXPECT_THAT(nms({}, {.iou_threshold = NAN}).error(), HasSubstr("found nan"));
  EXPECT_THAT(nms({}, {.max_candidates = 0}).error(), HasSubstr("1 or more candidates"));
  EXPECT_THAT(nms({}, {.max_boxes = -1}).error(), HasSubstr("0 or more boxes"));
}

TEST(Nms, IsThatOfAllPairs) {
  const uint32_t seed = property_seed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  const auto number = [&](float low, float high) {
    return std::uniform_real_distribution<float>(low, high)(random);
  };
  for (int round = 0; round < 60; ++round) {
    const auto count = static_cast<size_t>(number(0, round % 10 == 0 ? 3000 : 200));
    const float extent = number(20, 400);
    std::vector<Box> boxes(count);
    for (Box& box : boxes) {
      box.left = number(0, extent);
      box.top = number(0, extent);
      box.right = box.left + number(-2, 60);
      box.bottom = box.top + number(-2, 60);
      box.score = std::round(number(0, 50)) / 50;  // many are equal
      box.class_label = static_cast<int32_t>(number(0, 4));
      if (number(0, 1) < 0.02F) box.score = NAN;
      if (number(0, 1) < 0.02F) box.right = INFINITY;
      if (number(0, 1) < 0.02F) box.top = NAN;
    }
    const NmsOptions options{
        .iou_threshold = round % 7 == 0 ? 0.0F : number(0, 1),
        .class_agnostic = round % 2 == 0,
        .max_candidates = round % 3 == 0 ? static_cast<int64_t>(number(1, 300)) : 30000,
        .max_boxes = round % 5 == 0 ? static_cast<int64_t>(number(0, 50)) : 30000,
        .method = round % 4 == 0 ? NmsMethod::kFast : NmsMethod::kGreedy};
    const auto kept = nms(boxes, options);
    ASSERT_TRUE(kept) << kept.error();
    ASSERT_EQ(*kept, plain_nms(boxes, options)) << "round " << round;
  }
}

}  // namespace
}  // namespace tenon::serve
