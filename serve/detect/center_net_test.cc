#include "tenon/serve/center_net.h"

#include <gmock/gmock.h>

#include "goldens.h"

namespace tenon::serve {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

TEST(CenterNet, IsThePapers) {
  Golden extents("center_net.extents"), offsets("center_net.offsets");
  for (const bool is_logit : {false, true}) {
    Golden heat(is_logit ? "center_net.logits" : "center_net.heat");
    expect_boxes(decode_center_net(heat.view(), extents.view(), offsets.view(), golden_options(), 4,
                                   is_logit),
                 "center_net.boxes");
  }
}

TEST(CenterNet, GivesTheBest) {
  Golden heat("center_net.heat"), extents("center_net.extents"), offsets("center_net.offsets");
  DetectOptions options = golden_options();
  options.nms.max_boxes = 3;
  const auto boxes = decode_center_net(heat.view(), extents.view(), offsets.view(), options);
  ASSERT_TRUE(boxes) << boxes.error();
  ASSERT_THAT(*boxes, SizeIs(3));
  Golden expected("center_net.boxes");
  for (int64_t i = 0; i < 3; ++i) expect_box((*boxes)[static_cast<size_t>(i)], expected, i);
  options.nms.max_boxes = 0;
  EXPECT_THAT(*decode_center_net(heat.view(), extents.view(), offsets.view(), options), SizeIs(0));
}

// A NaN is no peak, and does not keep its neighbour from being one.
TEST(CenterNet, LeavesNaNsOut) {
  const std::vector<float> heat = {NAN, 0.9F, 0.5F}, ones(6, 1.0F);
  const View two = view_of(ones, {2, 1, 3});
  const auto boxes = decode_center_net(view_of(heat, {1, 1, 3}), two, two, {});
  ASSERT_TRUE(boxes) << boxes.error();
  ASSERT_THAT(*boxes, SizeIs(1));
  EXPECT_EQ(boxes->front().index, 1);
}

TEST(CenterNet, IsRefusedWhereItDoesNotFit) {
  const std::vector<float> numbers(24);
  const View heat = view_of(numbers, {6, 2, 2});
  const std::vector<float> eight(8);
  const View two = view_of(eight, {2, 2, 2});
  EXPECT_THAT(decode_center_net(two, two, heat, {}).error(),
              HasSubstr("CenterNet: expected offsets of shape 2x2x2, found float32 6x2x2"));
  EXPECT_THAT(decode_center_net(two, heat, two, {}).error(), HasSubstr("extents of shape 2x2x2"));
  EXPECT_THAT(decode_center_net(view_of(numbers, {6, 4}), two, two, {}).error(),
              HasSubstr("heat of shape (classes, height, width)"));
  EXPECT_THAT(decode_center_net(heat, two, two, {.classes = 80}).error(), HasSubstr("found 6"));
  EXPECT_THAT(decode_center_net(heat, two, two, {}, 0).error(), HasSubstr("stride"));
}

}  // namespace
}  // namespace tenon::serve
