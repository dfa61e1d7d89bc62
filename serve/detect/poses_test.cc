#include "tenon/serve/poses.h"

#include <gmock/gmock.h>

#include "goldens.h"

namespace tenon::serve {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

TEST(Poses, AreThePapers) {
  Golden head("poses.head"), boxes("poses.boxes"), keypoints("poses.keypoints");
  const auto poses = decode_poses(head.view(), golden_options(), 5);
  ASSERT_TRUE(poses) << poses.error();
  ASSERT_EQ(static_cast<int64_t>(poses->size()), boxes.rows());
  for (int64_t i = 0; i < boxes.rows(); ++i) {
    const Pose& pose = (*poses)[static_cast<size_t>(i)];
    expect_box(pose.box, boxes, i);
    ASSERT_THAT(pose.keypoints, SizeIs(5));
    for (int64_t k = 0; k < 5; ++k) {
      const Keypoint& keypoint = pose.keypoints[static_cast<size_t>(k)];
      EXPECT_NEAR(keypoint.x, keypoints.at(i, k, 0), 1e-3F);
      EXPECT_NEAR(keypoint.y, keypoints.at(i, k, 1), 1e-3F);
      EXPECT_EQ(keypoint.score, keypoints.at(i, k, 2));
    }
  }
}

TEST(Poses, MayHaveKeypointsWithoutAScore) {
  const std::vector<float> head = {5, 5, 4, 4, 0.9F, 1, 2, 3, 4};
  const auto poses = decode_poses(view_of(head, {9, 1}), {}, 2, 2);
  ASSERT_TRUE(poses) << poses.error();
  ASSERT_THAT(poses->front().keypoints, SizeIs(2));
  EXPECT_EQ(poses->front().keypoints[1].x, 3);
  EXPECT_EQ(poses->front().keypoints[1].y, 4);
  EXPECT_EQ(poses->front().keypoints[1].score, 1);
}

TEST(Poses, AreRefusedWhereTheyDoNotFit) {
  const std::vector<float> numbers(55 * 2);
  const View head = view_of(numbers, {55, 2});
  EXPECT_EQ(decode_poses(head, {}).error(),
            "YOLOv8-pose: expected a head of shape (4 + classes + 51, boxes), found float32 55x2");
  EXPECT_THAT(decode_poses(head, {.classes = 2}, 16).error(), HasSubstr("expected 2 classes"));
  EXPECT_THAT(decode_poses(head, {}, 0).error(), HasSubstr("keypoints, found 0"));
  EXPECT_THAT(decode_poses(head, {}, INT64_MAX).error(), HasSubstr("keypoints, found"));
  EXPECT_THAT(decode_poses(head, {}, 17, 4).error(), HasSubstr("2 or 3 numbers"));
}

}  // namespace
}  // namespace tenon::serve
