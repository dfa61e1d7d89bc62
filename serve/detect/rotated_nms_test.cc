#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <random>

#include "goldens.h"
#include "property_seed.h"
#include "tenon/serve/nms.h"

namespace tenon::serve {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr RotatedOverlap kProbabilistic = RotatedOverlap::kProbabilisticIou;

TEST(RotatedNms, ProbabilisticIouIsThePapers) {
  Golden ious("oriented_boxes.ious");
  Golden head("oriented_boxes.head");
  const auto box = [&](int64_t i) {
    return RotatedBox{.x = head.at(0, i),
                      .y = head.at(1, i),
                      .width = head.at(2, i),
                      .height = head.at(3, i),
                      .angle = head.at(7, i)};
  };
  for (int64_t i = 0; i < 20; ++i)
    for (int64_t k = 0; k < 20; ++k)
      EXPECT_NEAR(probabilistic_iou(box(i), box(k)), ious.at(i, k), 1e-6) << i << ", " << k;
}

TEST(RotatedNms, BoxesWithoutAnInsideOverlapNothing) {
  const RotatedBox usual{.x = 1, .y = 1, .width = 4, .height = 2};
  RotatedBox other = usual;
  EXPECT_EQ(probabilistic_iou(usual, usual), 1);
  for (const float width : {0.0F, -4.0F}) {
    other.width = width;
    EXPECT_EQ(probabilistic_iou(usual, other), 0);
    EXPECT_EQ(probabilistic_iou(other, other), 0);
  }
  other = usual;
  other.height = INFINITY;
  EXPECT_EQ(probabilistic_iou(usual, other), 0);
  other = usual;
  other.angle = NAN;
  EXPECT_EQ(probabilistic_iou(usual, other), 0);
  for (const RotatedOverlap overlap : {RotatedOverlap::kIou, kProbabilistic})
    EXPECT_THAT(*rotated_nms(std::vector{usual, other, usual}, {}, overlap), ElementsAre(0, 1));
}

// Rectangles of the same middle at an angle share less than upright ones would.
TEST(RotatedNms, TakesAnglesIntoAccount) {
  const RotatedBox wide{.width = 20, .height = 2, .score = 0.9F};
  RotatedBox other = wide;
  other.score = 0.8F;
  const auto both = [&] { return std::vector{wide, other}; };
  for (const RotatedOverlap overlap : {RotatedOverlap::kIou, kProbabilistic}) {
    other.angle = 0;
    EXPECT_THAT(*rotated_nms(both(), {}, overlap), ElementsAre(0));
    other.angle = std::numbers::pi_v<float>;
    EXPECT_THAT(*rotated_nms(both(), {}, overlap), ElementsAre(0));
    other.angle = std::numbers::pi_v<float> / 2;
    EXPECT_THAT(*rotated_nms(both(), {}, overlap), ElementsAre(0, 1));
  }
  EXPECT_THAT(rotated_nms(both(), {.iou_threshold = -1}).error(), HasSubstr("IoU threshold"));
}

class RotatedNmsProperty : public ::testing::Test {
 protected:
  float number(float low, float high) {
    return std::uniform_real_distribution<float>(low, high)(random_);
  }
  uint32_t seed_ = property_seed();
  std::mt19937 random_{seed_};
};

// At right angles they are the upright ones.
TEST_F(RotatedNmsProperty, RightAnglesAreUpright) {
  SCOPED_TRACE("seed " + std::to_string(seed_));
  for (int round = 0; round < 30; ++round) {
    std::vector<RotatedBox> rotated;
    std::vector<Box> upright;
    for (int i = 0; i < 100; ++i) {
      RotatedBox box{.x = number(0, 100),
                     .y = number(0, 100),
                     .width = number(5, 40),
                     .height = number(5, 40)};
      box.score = std::round(number(0, 20)) / 20;
      box.class_label = static_cast<int32_t>(number(0, 3));
      upright.push_back({box.x - box.width / 2, box.y - box.height / 2, box.x + box.width / 2,
                         box.y + box.height / 2, box.score, box.class_label});
      if (i % 2 == 0) {
        std::swap(box.width, box.height);
        box.angle = std::numbers::pi_v<float> / 2;
      }
      rotated.push_back(box);
    }
    const NmsOptions options{.iou_threshold = number(0.1F, 0.9F), .class_agnostic = round % 2 == 0};
    ASSERT_EQ(*rotated_nms(rotated, options), *nms(upright, options)) << "round " << round;
  }
}

// What is far apart is not compared; that changes nothing.
TEST_F(RotatedNmsProperty, ProbabilisticIsThatOfAllPairs) {
  SCOPED_TRACE("seed " + std::to_string(seed_));
  for (int round = 0; round < 40; ++round) {
    std::vector<RotatedBox> boxes(150);
    float score = 1;
    for (RotatedBox& box : boxes)
      box = {.x = number(0, 100),
             .y = number(0, 100),
             .width = number(0.1F, 60),
             .height = number(0.1F, 60),
             .angle = number(-4, 4),
             .score = score -= 0.001F};
    const NmsOptions options{.iou_threshold = round == 0   ? 0.0F
                                              : round == 1 ? 1.0F
                                                           : number(0, 1),
                             .method = round % 2 == 0 ? NmsMethod::kFast : NmsMethod::kGreedy};
    std::vector<int64_t> stay, suppressing;
    for (size_t i = 0; i < boxes.size(); ++i) {
      const bool is_free = std::none_of(suppressing.begin(), suppressing.end(), [&](int64_t k) {
        return probabilistic_iou(boxes[i], boxes[static_cast<size_t>(k)]) > options.iou_threshold;
      });
      const auto index = static_cast<int64_t>(i);
      if (is_free) stay.push_back(index);
      if (is_free || options.method == NmsMethod::kFast) suppressing.push_back(index);
    }
    ASSERT_EQ(*rotated_nms(boxes, options, kProbabilistic), stay) << "round " << round;
  }
}

}  // namespace
}  // namespace tenon::serve
