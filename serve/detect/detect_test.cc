// Heads of any numbers at all: what all decoders promise of them.
#include <gmock/gmock.h>

#include <bit>
#include <cmath>
#include <random>

#include "goldens.h"
#include "property_seed.h"
#include "tenon/serve/blaze.h"
#include "tenon/serve/center_net.h"
#include "tenon/serve/classification.h"
#include "tenon/serve/faces.h"
#include "tenon/serve/instances.h"
#include "tenon/serve/oriented_boxes.h"
#include "tenon/serve/poses.h"
#include "tenon/serve/raw_yolo.h"
#include "tenon/serve/segmentation.h"
#include "tenon/serve/text.h"
#include "tenon/serve/text_boxes.h"
#include "tenon/serve/yolo.h"

namespace tenon::serve {
namespace {

class AnyNumbers : public ::testing::Test {
 protected:
  // Bits of any kind, usual numbers, and what is special; as halves in every other round.
  View any(Shape shape) {
    size_t count = 1;
    for (const int64_t extent : shape) count *= static_cast<size_t>(extent);
    std::vector<float>& floats = floats_.emplace_back(count);
    constexpr float kSpecial[] = {0, -0.0F, 1, NAN, INFINITY, -INFINITY, 1e30F, -1e30F, 1e-40F};
    for (float& number : floats) {
      const uint32_t kind = random_() % 8;
      number = kind == 0   ? std::bit_cast<float>(static_cast<uint32_t>(random_()))
               : kind == 1 ? kSpecial[random_() % std::size(kSpecial)]
                           : std::uniform_real_distribution<float>(0, kind == 2 ? 200 : 1)(random_);
    }
    if (round_ % 2 == 0) return view_of(floats, std::move(shape));
    const auto& halves = halves_.emplace_back(floats.begin(), floats.end());
    return *View::of(std::span<const _Float16>(halves), std::move(shape));
  }
  float any_number(float low, float high) {
    return std::uniform_real_distribution<float>(low, high)(random_);
  }
  DetectOptions any_options() {
    DetectOptions options;
    options.score_threshold = round_ % 3 == 0 ? 0 : any_number(0, 1);
    options.nms.iou_threshold = any_number(0, 1);
    options.nms.max_boxes = static_cast<int64_t>(any_number(0, 40));
    options.nms.max_candidates = static_cast<int64_t>(any_number(1, 60));
    options.nms.class_agnostic = round_ % 5 == 0;
    options.nms.method = round_ % 7 == 0 ? NmsMethod::kFast : NmsMethod::kGreedy;
    options.multi_label = round_ % 4 == 0;
    options.boxes_first = false;
    options.width = 50;
    options.height = 40;
    const float large = round_ % 6 == 0 ? 1e19F : 3;
    do {
      for (float& number : options.to_picture) number = any_number(-large, large);
    } while (!inverted(options.to_picture));
    return options;
  }

  // The boxes of any of the results.
  static const Box& box_of(const Box& box) { return box; }
  static const Box& box_of(const auto& one) { return one.box; }

  void expect_sound(const auto& found, const DetectOptions& options) {
    ASSERT_TRUE(found) << found.error();
    EXPECT_LE(static_cast<int64_t>(found->size()), options.nms.max_boxes);
    float last = INFINITY;
    for (const auto& one : *found) {
      const Box& box = box_of(one);
      EXPECT_TRUE(box.left >= 0 && box.right <= 50 && box.top >= 0 && box.bottom <= 40);
      EXPECT_GT(box.score, options.score_threshold);
      EXPECT_LE(box.score, last);
      EXPECT_GE(box.class_label, 0);
      last = box.score;
    }
    if (!found->empty()) ++results_;
  }

  uint32_t seed_ = property_seed();
  std::mt19937 random_{seed_};
  int round_ = 0, results_ = 0;
  std::vector<std::vector<float>> floats_;
  std::vector<std::vector<_Float16>> halves_;
};

TEST_F(AnyNumbers, GiveBoxesInThePicture) {
  SCOPED_TRACE("seed " + std::to_string(seed_));
  for (; round_ < 60; ++round_) {
    const DetectOptions o = any_options();
    expect_sound(decode_yolo_v5(any({80, 8}), o), o);
    constexpr int kStrides[] = {8, 16};
    expect_sound(decode_yolox(any({20, 8}), kStrides, 32, 32, o), o);
    expect_sound(decode_yolo_v8(any({7, 80}), o), o);
    expect_sound(decode_poses(any({4 + 2 + 9, 60}), o, 3), o);
    const std::vector<AnchorLevel> anchors = {{any({16, 4, 4}), 8, {{10, 20}, {30, 40}}},
                                              {any({2, 2, 2, 8}), 16, {{10, 20}, {30, 40}}}};
    for (const AnchorCoding coding : {AnchorCoding::kV3, AnchorCoding::kV5})
      expect_sound(decode_anchors(anchors, coding, o), o);
    const std::vector<DistributionLevel> levels = {{any({19, 5, 5}), 8}, {any({19, 3, 2}), 16}};
    expect_sound(decode_distributions(levels, o, 4), o);
    const auto instances = decode_instances(any({10, 60}), any({3, 5, 6}), 32, 32, o);
    expect_sound(instances, o);
    for (const InstanceMask& instance : *instances)
      EXPECT_TRUE(instance.mask.left >= 0 && instance.mask.top >= 0
                  && instance.mask.left + instance.mask.width <= 50
                  && instance.mask.top + instance.mask.height <= 40);
    expect_sound(decode_retina_face(any({40, 4}), any({40, 2}), any({40, 10}), 32, 32,
                                    std::vector<PriorLevel>{{8, {16, 32}}, {16, {64, 128}}}, o),
                 o);
    const ScrfdLevel level{any({32, 1}), any({32, 4}), any({32, 10}), 8};
    expect_sound(decode_scrfd(std::span(&level, 1), 32, 32, o), o);
    expect_sound(
        decode_center_net(any({3, 6, 7}), any({2, 6, 7}), any({2, 6, 7}), o, 4, round_ % 2 == 0),
        o);
    expect_sound(
        decode_center_face(any({1, 6, 7}), any({2, 6, 7}), any({2, 6, 7}), any({10, 6, 7}), o), o);
    expect_sound(decode_blaze(any({56, 10}), any({56, 1}), 32, 32, blaze_face_levels(), o), o);
  }
  EXPECT_GT(results_, 100);
}

TEST_F(AnyNumbers, GiveOtherResults) {
  SCOPED_TRACE("seed " + std::to_string(seed_));
  const auto alphabet = *characters_of("abcdefg");
  for (; round_ < 60; ++round_) {
    const DetectOptions o = any_options();
    const auto oriented = decode_oriented_boxes(any({8, 60}), o);
    ASSERT_TRUE(oriented) << oriented.error();
    for (const RotatedBox& box : *oriented)
      EXPECT_TRUE(std::isfinite(box.x) && std::isfinite(box.y) && box.angle >= 0
                  && box.angle < 1.5708F);
    TextBoxOptions text_options{.to_picture = o.to_picture, .width = 50, .height = 40};
    text_options.threshold = any_number(0, 1);
    text_options.score_threshold = any_number(0, 0.5F);
    const auto boxes = decode_text_boxes(any({30, 20}), text_options);
    ASSERT_TRUE(boxes) << boxes.error();
    for (const TextBox& box : *boxes)
      for (const Point& corner : box.corners)
        EXPECT_TRUE(corner.x >= 0 && corner.x <= 50 && corner.y >= 0 && corner.y <= 40);
    EXPECT_TRUE(decode_text(any({20, 8}), alphabet, {.is_logit = round_ % 2 == 0}));
    EXPECT_TRUE(decode_blaze_pose(any({15}), any({4, 5, 3}), 32, 24, o.to_picture));
    const auto classes = decode_classes(any({30}), 5);
    ASSERT_TRUE(classes) << classes.error();
    for (const ClassScore& one : *classes) EXPECT_TRUE(one.score >= 0 && one.score <= 1);
    const auto map = decode_segmentation(
        any({3, 5, 6}),
        {.input_width = 20,
         .input_height = 24,
         .width = 50,
         .height = 40,
         .to_picture = o.to_picture,
         .resize = round_ % 3 == 0 ? ScoreResize::kNearest : ScoreResize::kBilinear});
    ASSERT_TRUE(map) << map.error();
    for (const uint16_t label : map->labels) EXPECT_TRUE(label < 3 || label == ClassMap::kNone);
  }
}

}  // namespace
}  // namespace tenon::serve
