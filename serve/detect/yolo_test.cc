#include "tenon/serve/yolo.h"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>

#include "goldens.h"

namespace tenon::serve {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr int kYoloStrides[] = {8, 16, 32};

TEST(YoloV5, IsThePapers) {
  Golden head("yolo_v5.head");
  expect_boxes(decode_yolo_v5(head.view(), golden_options()), "yolo_v5.boxes");
}

TEST(YoloV5, MayGiveSeveralClassesOfABox) {
  Golden head("yolo_v5.head");
  DetectOptions options = golden_options();
  options.multi_label = true;
  expect_boxes(decode_yolo_v5(head.view(), options), "yolo_v5.multi_label");
}

TEST(YoloX, IsThePapers) {
  Golden head("yolox.head");
  expect_boxes(
      decode_yolox(head.view(), kYoloStrides, kGoldenInput, kGoldenInput, golden_options()),
      "yolox.boxes");
}

TEST(YoloV8, IsThePapers) {
  Golden head("yolo_v8.head");
  expect_boxes(decode_yolo_v8(head.view(), golden_options()), "yolo_v8.boxes");
}

TEST(YoloV8, TakesHalves) {
  Golden head("yolo_v8.half");
  expect_boxes(decode_yolo_v8(head.view(), golden_options()), "yolo_v8.half_boxes");
}

TEST(YoloV8, TakesBoxesFirst) {
  Golden head("yolo_v8.head");
  const auto channels = head.elements<float>();
  std::vector<float> rows(channels.size());
  for (size_t i = 0; i < rows.size(); ++i) rows[i] = channels[i % 8 * 300 + i / 8];
  DetectOptions options = golden_options();
  options.boxes_first = true;
  expect_boxes(decode_yolo_v8(view_of(rows, {300, 8}), options), "yolo_v8.boxes");
}

TEST(YoloV8, MayIgnoreClassesInNms) {
  Golden head("yolo_v8.head"), expected("yolo_v8.agnostic");
  DetectOptions options;
  options.nms.class_agnostic = true;
  const auto boxes = decode_yolo_v8(head.view(), options);
  ASSERT_TRUE(boxes) << boxes.error();
  std::vector<int32_t> indices;
  for (const Box& box : *boxes) indices.push_back(static_cast<int32_t>(box.index));
  EXPECT_THAT(indices, ::testing::ElementsAreArray(expected.elements<int32_t>()));
}

TEST(YoloV10, IsThePapers) {
  Golden head("yolo_v10.head");
  expect_boxes(decode_yolo_v10(head.view(), golden_options()), "yolo_v10.boxes");
  DetectOptions options = golden_options();
  options.nms.max_boxes = 2;
  EXPECT_THAT(*decode_yolo_v10(head.view(), options), SizeIs(2));
}

// The columns of one class: usual, NaN score, infinite box, NaN box, zero box, at the threshold.
TEST(YoloV8, DropsWhatIsNoBox) {
  constexpr float kNaN = NAN, kInfinity = INFINITY;
  const std::vector<float> head = {10,   10,   kInfinity, kNaN, 30,   50,  //
                                   10,   10,   10,        10,   30,   50,  //
                                   5,    5,    5,         5,    0,    5,   //
                                   5,    5,    5,         5,    0,    5,   //
                                   0.9F, kNaN, 0.9F,      0.9F, 0.9F, 0.25F};
  const auto boxes = decode_yolo_v8(view_of(head, {5, 6}), {});
  ASSERT_TRUE(boxes) << boxes.error();
  ASSERT_THAT(*boxes, SizeIs(2));
  EXPECT_EQ((*boxes)[0].index, 0);
  EXPECT_EQ((*boxes)[1].index, 4);
  EXPECT_EQ((*boxes)[1].left, (*boxes)[1].right);
}

// A box of the input that the matrix makes infinite.
TEST(YoloV8, DropsWhatIsNoBoxInThePicture) {
  const std::vector<float> head = {1e30F, 10, 5, 5, 0.9F};
  DetectOptions options;
  options.to_picture = {1e10F, -1e10F, 0, 0, 1, 0};
  EXPECT_THAT(*decode_yolo_v8(view_of(head, {5, 1}), options), IsEmpty());
}

TEST(Yolo, OfNoBoxesThereAreNone) {
  const std::vector<float> none;
  EXPECT_THAT(*decode_yolo_v5(view_of(none, {0, 85}), {}), IsEmpty());
  EXPECT_THAT(*decode_yolo_v8(view_of(none, {84, 0}), {}), IsEmpty());
  EXPECT_THAT(*decode_yolo_v10(view_of(none, {0, 6}), {}), IsEmpty());
}

TEST(Yolo, RefusesOtherShapes) {
  const std::vector<float> numbers(84 * 21);
  const View flat = view_of(numbers, {84 * 21}), wide = view_of(numbers, {21, 84});
  EXPECT_EQ(decode_yolo_v5(flat, {}).error(),
            "YOLOv5: expected a head of shape (boxes, 5 + classes), found float32 1764");
  EXPECT_THAT(decode_yolo_v5(view_of(numbers, {441, 4}), {}).error(), HasSubstr("441x4"));
  EXPECT_EQ(decode_yolo_v8(view_of(numbers, {4, 441}), {}).error(),
            "YOLOv8: expected a head of shape (4 + classes, boxes), found float32 4x441");
  EXPECT_THAT(decode_yolo_v8(view_of(numbers, {1, 84, 21}), {}).error(), HasSubstr("1x84x21"));
  EXPECT_EQ(decode_yolo_v5(wide, {.classes = 80}).error(), "YOLOv5: expected 80 classes, found 79");
  EXPECT_EQ(decode_yolo_v8(wide, {.classes = 80}).error(), "YOLOv8: expected 80 classes, found 17");
  EXPECT_THAT(decode_yolo_v10(wide, {}).error(), HasSubstr("(boxes, 6), found float32 21x84"));
  EXPECT_EQ(decode_yolox(wide, kYoloStrides, 64, 64, {}).error(),
            "YOLOX: expected 84 cells for that input, found float32 21x84");
  EXPECT_THAT(decode_yolox(wide, kYoloStrides, 63, 64, {}).error(), HasSubstr("63x64"));
  EXPECT_THAT(decode_yolox(wide, {}, 64, 64, {}).error(), HasSubstr("one stride or more"));
}

TEST(Yolo, RefusesOptionsThatMeanNothing) {
  const std::vector<float> numbers(5 * 10);
  const View head = view_of(numbers, {5, 10});
  const auto error = [&](const DetectOptions& options) {
    return decode_yolo_v8(head, options).error();
  };
  EXPECT_THAT(error({.score_threshold = NAN}),
              HasSubstr("expected a score threshold from 0 to 1, found nan"));
  EXPECT_THAT(error({.score_threshold = -0.1F}), HasSubstr("found -0.1"));
  EXPECT_THAT(error({.nms = {.iou_threshold = 2}}), HasSubstr("IoU threshold"));
  EXPECT_THAT(error({.to_picture = {NAN, 0, 0, 0, 1, 0}}), HasSubstr("finite numbers"));
  EXPECT_THAT(error({.width = -1}), HasSubstr("-1x0"));
  EXPECT_THAT(error({.classes = -1}), HasSubstr("0 or more classes"));
}

TEST(YoloV10, RefusesOtherClasses) {
  std::vector<float> row = {0, 0, 5, 5, 0.9F, 1.5F};
  const View head = view_of(row, {1, 6});
  EXPECT_THAT(decode_yolo_v10(head, {}).error(), HasSubstr("found 1.500000 in row 0"));
  row[5] = -1;
  EXPECT_THAT(decode_yolo_v10(head, {}).error(), HasSubstr("found -1"));
  row[5] = NAN;
  EXPECT_THAT(decode_yolo_v10(head, {}).error(), HasSubstr("found nan"));
  row[5] = 3e9F;
  EXPECT_FALSE(decode_yolo_v10(head, {}));
  row[5] = 3;
  EXPECT_TRUE(decode_yolo_v10(head, {}));
  EXPECT_THAT(decode_yolo_v10(head, {.classes = 3}).error(), HasSubstr("to below 3"));
}

}  // namespace
}  // namespace tenon::serve
