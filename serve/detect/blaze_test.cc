#include "tenon/serve/blaze.h"

#include <gmock/gmock.h>

#include "goldens.h"

namespace tenon::serve {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

TEST(Blaze, IsWhatMediaPipeComputes) {
  Golden boxes("blaze.boxes"), scores("blaze.scores"), expected("blaze.found");
  const auto found = decode_blaze(boxes.view(), scores.view(), kGoldenInput, kGoldenInput,
                                  blaze_face_levels(), golden_options());
  ASSERT_TRUE(found) << found.error();
  ASSERT_EQ(static_cast<int64_t>(found->size()), expected.rows());
  ASSERT_GT(expected.rows(), 3);
  for (int64_t i = 0; i < expected.rows(); ++i) {
    const Pose& pose = (*found)[static_cast<size_t>(i)];
    expect_box(pose.box, expected, i);
    ASSERT_THAT(pose.keypoints, SizeIs(3));
    for (int64_t k = 0; k < 3; ++k) {
      EXPECT_NEAR(pose.keypoints[static_cast<size_t>(k)].x, expected.at(i, 7 + 2 * k), 2e-3F);
      EXPECT_NEAR(pose.keypoints[static_cast<size_t>(k)].y, expected.at(i, 8 + 2 * k), 2e-3F);
    }
  }
}

TEST(Blaze, HasTheAnchorsOfMediaPipesModels) {
  const std::vector<float> numbers(2254 * 4), scores(2254, -9.0F);
  const auto found = [&](int64_t count, int64_t side, const std::vector<BlazeLevel>& levels) {
    return decode_blaze(view_of({numbers.begin(), numbers.begin() + count * 4}, {count, 4}),
                        view_of({scores.begin(), scores.begin() + count}, {count}), side, side,
                        levels, {})
        .error();
  };
  EXPECT_EQ(found(896, 128, blaze_face_levels()), "");
  EXPECT_EQ(found(2254, 224, blaze_pose_levels()), "");
}

// A box without extents, one that is not finite, and no more than are wanted.
TEST(Blaze, TakesAnyNumbers) {
  const std::vector<float> scores = {3, 2, 4};
  const std::vector<float> boxes = {0, 0, 0, 0, 0, 0, 4, 4, 0, 0, INFINITY, 1};
  const std::vector<BlazeLevel> levels = {{8, 1}};
  const View b = view_of(boxes, {3, 4}), s = view_of(scores, {3, 1});
  const auto found = decode_blaze(b, s, 24, 8, levels, {});
  ASSERT_TRUE(found) << found.error();
  ASSERT_THAT(*found, SizeIs(2));
  EXPECT_EQ((*found)[0].box.left, 4);
  EXPECT_EQ((*found)[1].box.left, 10);
  DetectOptions options;
  options.nms.max_boxes = 1;
  EXPECT_THAT(*decode_blaze(b, s, 24, 8, levels, options), SizeIs(1));
}

TEST(Blaze, IsRefusedWhereItDoesNotFit) {
  const std::vector<float> scores(2), boxes(12);
  const View s = view_of(scores, {2, 1}), b = view_of(boxes, {2, 6});
  const auto error = [](const View& boxes, const View& scores, int64_t width = 8,
                        const std::vector<BlazeLevel>& levels = {{8, 2}},
                        const DetectOptions& options = {}) {
    return decode_blaze(boxes, scores, width, 8, levels, options).error();
  };
  EXPECT_EQ(error(b, s), "");
  EXPECT_EQ(error(b, s, 16),
            "BlazeFace: expected boxes of shape (4, 4 + 2 keypoints), found float32 2x6");
  EXPECT_THAT(error(view_of({boxes.begin(), boxes.begin() + 10}, {2, 5}), s), HasSubstr("2x5"));
  EXPECT_THAT(error(b, b), HasSubstr("scores of shape 2x1, found float32 2x6"));
  EXPECT_THAT(error(b, s, 0), HasSubstr("0x8"));
  EXPECT_THAT(error(b, s, 8, {}), HasSubstr("1 to 64 levels, found 0"));
  EXPECT_THAT(error(b, s, 8, {{0, 2}}), HasSubstr("a stride of 1 or more"));
  EXPECT_THAT(error(b, s, 8, {{8, 0}}), HasSubstr("anchors of a cell, found 0"));
  EXPECT_THAT(error(b, s, 8, {{8, 2}}, {.classes = 2}), HasSubstr("2 classes"));
  // 2^64 anchors, which 64 bits would take for none.
  const int64_t side = 1 << 24;
  EXPECT_THAT(decode_blaze(view_of({}, {0, 4}), view_of({}, {0}), side, side,
                           std::vector<BlazeLevel>(64, {1, 1024}), {})
                  .error(),
              HasSubstr("fewer than 2^58 anchors"));
}

TEST(BlazePose, IsWhatMediaPipeComputes) {
  Golden landmarks("blaze_pose.landmarks"), heat("blaze_pose.heat");
  Golden expected("blaze_pose.keypoints");
  const auto found = decode_blaze_pose(landmarks.view(), heat.view(), kGoldenInput, kGoldenInput,
                                       golden_options().to_picture);
  ASSERT_TRUE(found) << found.error();
  ASSERT_EQ(static_cast<int64_t>(found->size()), expected.rows());
  for (int64_t i = 0; i < expected.rows(); ++i) {
    SCOPED_TRACE("landmark " + std::to_string(i));
    const Keypoint& keypoint = (*found)[static_cast<size_t>(i)];
    EXPECT_NEAR(keypoint.x, expected.at(i, 0), 2e-3F);
    EXPECT_NEAR(keypoint.y, expected.at(i, 1), 2e-3F);
    EXPECT_NEAR(keypoint.score, expected.at(i, 2), 1e-6F);
  }
}

TEST(BlazePose, TakesAnyNumbers) {
  const std::vector<float> landmarks = {NAN, 1, 0, 0, 0, 1e30F, 1, 0, NAN, 0, 1, 1, 0, 0, 0};
  const std::vector<float> heat(3, NAN);
  const auto found = decode_blaze_pose(view_of(landmarks, {15}), view_of(heat, {1, 1, 3}), 4, 4);
  ASSERT_TRUE(found) << found.error();
  EXPECT_EQ((*found)[2].x, 1);
}

TEST(BlazePose, IsRefusedWhereItDoesNotFit) {
  const std::vector<float> ten(10), eight(8);
  const View l = view_of(ten, {10}), h = view_of(eight, {2, 2, 2});
  const auto error = [](const View& landmarks, const View& heat, int64_t width = 8,
                        const Matrix23& to_picture = kIdentityMatrix) {
    return decode_blaze_pose(landmarks, heat, width, 8, to_picture).error();
  };
  EXPECT_EQ(error(l, h), "");
  EXPECT_EQ(error(h, h), "BlazePose: expected landmarks of shape (5 count), found float32 2x2x2");
  EXPECT_THAT(error(view_of(eight, {8}), h), HasSubstr("(5 count), found float32 8"));
  EXPECT_THAT(error(l, l), HasSubstr("heat of shape (height, width, 2), found float32 10"));
  EXPECT_THAT(error(l, h, 0), HasSubstr("0x8"));
  EXPECT_THAT(error(l, h, 8, {NAN, 0, 0, 0, 1, 0}), HasSubstr("a matrix of finite numbers"));
}

}  // namespace
}  // namespace tenon::serve
