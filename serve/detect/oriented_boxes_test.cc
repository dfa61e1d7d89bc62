#include "tenon/serve/oriented_boxes.h"

#include <gmock/gmock.h>

#include "goldens.h"

namespace tenon::serve {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

void expect_oriented(const NmsMethod method, const std::string& name) {
  Golden head("oriented_boxes.head"), expected(name);
  DetectOptions options = golden_options();
  options.nms.method = method;
  const auto boxes = decode_oriented_boxes(head.view(), options);
  ASSERT_TRUE(boxes) << boxes.error();
  ASSERT_EQ(static_cast<int64_t>(boxes->size()), expected.rows());
  for (int64_t i = 0; i < expected.rows(); ++i) {
    SCOPED_TRACE("box " + std::to_string(i));
    const RotatedBox& box = (*boxes)[static_cast<size_t>(i)];
    EXPECT_NEAR(box.x, expected.at(i, 0), 1e-3F);
    EXPECT_NEAR(box.y, expected.at(i, 1), 1e-3F);
    EXPECT_NEAR(box.width, expected.at(i, 2), 1e-3F);
    EXPECT_NEAR(box.height, expected.at(i, 3), 1e-3F);
    EXPECT_NEAR(box.angle, expected.at(i, 4), 1e-5F);
    EXPECT_EQ(box.score, expected.at(i, 5));
    EXPECT_EQ(static_cast<float>(box.class_label), expected.at(i, 6));
    EXPECT_EQ(static_cast<float>(box.index), expected.at(i, 7));
  }
}

TEST(OrientedBoxes, AreThePapers) {
  expect_oriented(NmsMethod::kGreedy, "oriented_boxes.greedy");
}

TEST(OrientedBoxes, OfFastNmsAreUltralytics) {
  expect_oriented(NmsMethod::kFast, "oriented_boxes.fast");
}

TEST(OrientedBoxes, DropsWhatIsNoBox) {
  std::vector<float> head = {5, 5, 4, 4, 0.9F, 0};
  const View view = view_of(head, {6, 1});
  EXPECT_EQ(decode_oriented_boxes(view, {})->size(), 1u);
  for (const size_t i : {0, 1, 2, 3, 5})
    for (const float number : {NAN, INFINITY}) {
      const float before = std::exchange(head[i], number);
      EXPECT_THAT(*decode_oriented_boxes(view, {}), IsEmpty()) << i;
      head[i] = before;
    }
  EXPECT_THAT(decode_oriented_boxes(view_of(head, {3, 2}), {}).error(),
              HasSubstr("(4 + classes + 1, boxes), found float32 3x2"));
}

}  // namespace
}  // namespace tenon::serve
