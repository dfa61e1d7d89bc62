#include "tenon/serve/instances.h"

#include <gmock/gmock.h>

#include "goldens.h"

namespace tenon::serve {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;

TEST(Instances, AreThePapers) {
  Golden head("instances.head"), prototypes("instances.prototypes");
  Golden boxes("instances.boxes"), masks("instances.masks");
  DetectOptions options = golden_options();
  options.nms.max_boxes = 5;
  const auto instances =
      decode_instances(head.view(), prototypes.view(), kGoldenInput, kGoldenInput, options);
  ASSERT_TRUE(instances) << instances.error();
  ASSERT_EQ(static_cast<int64_t>(instances->size()), boxes.rows());
  constexpr size_t kPixels = kGoldenWidth * kGoldenHeight;
  size_t inside = 0;
  for (size_t i = 0; i < instances->size(); ++i) {
    const auto& [box, mask] = (*instances)[i];
    expect_box(box, boxes, static_cast<int64_t>(i));
    std::vector<uint8_t> picture(kPixels);
    for (int64_t y = 0; y < mask.height; ++y)
      for (int64_t x = 0; x < mask.width; ++x)
        picture[static_cast<size_t>((mask.top + y) * kGoldenWidth + mask.left + x)] =
            mask.pixels[static_cast<size_t>(y * mask.width + x)];
    const auto expected = masks.elements<uint8_t>().subspan(i * kPixels, kPixels);
    size_t differ = 0;
    for (size_t k = 0; k < kPixels; ++k) {
      if (expected[k] == 255) continue;  // rounding alone decides
      differ += static_cast<size_t>((picture[k] == 255) != (expected[k] == 1));
      inside += expected[k];
    }
    EXPECT_EQ(differ, 0u) << "mask " << i;
  }
  EXPECT_GT(inside, 1000u);
}

// Coefficients (1) and a prototype of ones: all of the box, and nothing else.
TEST(Instances, AreCroppedToTheirBox) {
  const std::vector<float> head = {5, 4, 6, 4, 0.9F, 1}, ones(4, 1.0F);
  DetectOptions options;
  options.width = options.height = 6;
  const auto instances =
      decode_instances(view_of(head, {6, 1}), view_of(ones, {1, 2, 2}), 8, 8, options);
  ASSERT_TRUE(instances) << instances.error();
  const Mask& mask = instances->front().mask;
  EXPECT_EQ(mask.left, 2);
  EXPECT_EQ(mask.top, 2);
  EXPECT_EQ(mask.width, 4);  // the picture ends there
  EXPECT_EQ(mask.height, 4);
  EXPECT_EQ(mask.pixels.size(), 16u);
  EXPECT_THAT(mask.pixels, Each(255));
}

TEST(Instances, MayBeOutsideOfThePicture) {
  const std::vector<float> head = {50, 4, 6, 4, 0.9F, 1}, ones(4, 1.0F);
  DetectOptions options;
  options.width = options.height = 6;
  const auto instances =
      decode_instances(view_of(head, {6, 1}), view_of(ones, {1, 2, 2}), 8, 8, options);
  ASSERT_TRUE(instances) << instances.error();
  EXPECT_TRUE(instances->front().mask.pixels.empty());
}

TEST(Instances, AreRefusedWhereTheyDoNotFit) {
  const std::vector<float> numbers(60);
  const View head = view_of(numbers, {6, 10}), prototypes = view_of(numbers, {1, 6, 10});
  DetectOptions options{.width = 10, .height = 10};
  EXPECT_EQ(decode_instances(view_of(numbers, {5, 12}), prototypes, 8, 8, options).error(),
            "YOLOv8-seg: expected a head of shape (4 + classes + 1, boxes), found float32 5x12");
  EXPECT_THAT(decode_instances(head, head, 8, 8, options).error(),
              HasSubstr("prototypes of shape (masks, height, width), found float32 6x10"));
  EXPECT_THAT(decode_instances(head, prototypes, 0, 8, options).error(), HasSubstr("0x8"));
  EXPECT_THAT(decode_instances(head, prototypes, 8, 8, {}).error(), HasSubstr("found 0x0"));
  options.width = 1 << 20;
  EXPECT_THAT(decode_instances(head, prototypes, 8, 8, options).error(), HasSubstr("a picture of"));
  options.width = 10;
  options.to_picture = {0, 0, 0, 0, 0, 0};
  EXPECT_THAT(decode_instances(head, prototypes, 8, 8, options).error(), HasSubstr("inverse"));
}

}  // namespace
}  // namespace tenon::serve
