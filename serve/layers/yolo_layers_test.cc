#include "tenon/serve/yolo_layers.h"

#include <gtest/gtest.h>

#include <random>

#include "tenon/serve/image_layers.h"
#include "tenon/serve/letterbox.h"
#include "tenon/serve/oriented_boxes.h"
#include "tenon/serve/yolo.h"
#include "test_layers.h"

namespace tenon::serve {
namespace {

using nvinfer1::INetworkDefinition;

// Boxes in groups that overlap; half of them have no class above 0.25.
void fill_head(Tensor& head, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> unit;
  float* const x = *head.cpu<float>();
  for (int64_t box = 0; box < kBoxes; ++box) {
    const auto channel = [&](int64_t c) -> float& { return x[c * kBoxes + box]; };
    channel(0) = 10.F + static_cast<float>(box % 7) * 4 + unit(random);
    channel(1) = 12.F + static_cast<float>(box % 5) * 5 + unit(random);
    channel(2) = 9 + 4 * unit(random);
    channel(3) = 8 + 4 * unit(random);
    for (int64_t c = 0; c < kClasses; ++c)
      channel(4 + c) = unit(random) * (box % 2 == 0 ? 1.F : 0.2F);
  }
}

constexpr int64_t kWidth = 90, kHeight = 40;  // of the picture

DetectOptions picture_options() {
  DetectOptions options;
  options.to_picture = Letterbox::ultralytics(kWidth, kHeight, kSide, kSide)->d2i;
  options.width = kWidth;
  options.height = kHeight;
  options.nms.max_boxes = 20;
  return options;
}

// What an engine makes of a head, in pixels of a picture: the layers are around an input of heads.
Tensors decoded(Tensor& head, YoloLayerOptions yolo) {
  const auto infer = built([&](INetworkDefinition& network) {
    network.addInput("x", DataType::kFLOAT, nvinfer1::Dims4(-1, 3, kSide, kSide));
    auto* in = network.addInput("head_in", DataType::kFLOAT,
                                nvinfer1::Dims3(-1, head.size(1), head.size(2)));
    session::add_output(network, *network.addIdentity(*in)->getOutput(0), "head");
    ImageLayerOptions images;
    images.input = "x";
    const auto to_image = prepend_images(network, images);
    ASSERT_TRUE(to_image) << to_image.error();
    yolo.max_boxes = 20;
    const auto done = append_yolo(network, yolo, *to_image);
    ASSERT_TRUE(done) << done.error();
  });
  if (infer == nullptr) return {};
  Tensor& input = *infer->tensor("head_in");
  EXPECT_TRUE(input.resize(head.shape()));
  EXPECT_TRUE(input.copy_from_cpu(0, *head.cpu<float>(), head.numel()));
  EXPECT_TRUE(infer->tensor("images")->resize({1, kHeight, kWidth, 3}));
  EXPECT_TRUE(infer->tensor("images")->set_to(9));
  return outputs_of_run(*infer);
}

void expect_box(const Box& a, const Box& b) {
  EXPECT_NEAR(a.left, b.left, 1e-3F);
  EXPECT_NEAR(a.top, b.top, 1e-3F);
  EXPECT_NEAR(a.right, b.right, 1e-3F);
  EXPECT_NEAR(a.bottom, b.bottom, 1e-3F);
  EXPECT_EQ(a.score, b.score);
  EXPECT_EQ(a.class_label, b.class_label);
}

TEST(YoloLayers, AnEngineGivesBoxesOfThePicture) {
  Tensor head({1, 4 + kClasses, kBoxes});
  fill_head(head, 3);
  Tensors outputs = decoded(head, {});
  ASSERT_EQ(outputs.size(), 4U);
  const auto boxes = detections_of(outputs);
  ASSERT_TRUE(boxes) << boxes.error();
  const auto expected = decode_yolo_v8(*View::of_item(head, 0), picture_options());
  ASSERT_TRUE(expected) << expected.error();
  ASSERT_GT(expected->size(), 3U);
  ASSERT_EQ(boxes->size(), expected->size());
  for (size_t i = 0; i < boxes->size(); ++i) expect_box((*boxes)[i], (*expected)[i]);
  EXPECT_NE(poses_of(outputs).error().find("detection_keypoints"), std::string::npos);
  EXPECT_NE(oriented_boxes_of(outputs).error().find("(1, rows, 5)"), std::string::npos);
}

TEST(YoloLayers, AnEngineGivesPosesOfThePicture) {
  constexpr int64_t kKeypoints = 4;
  Tensor head({1, 4 + kClasses + 3 * kKeypoints, kBoxes});
  std::mt19937 random(4);
  for (int64_t i = 0; i < head.numel(); ++i)
    (*head.cpu<float>())[i] = std::uniform_real_distribution<float>(0, kSide)(random);
  fill_head(head, 4);
  YoloLayerOptions options;
  options.keypoints = kKeypoints;
  Tensors outputs = decoded(head, options);
  const auto poses = poses_of(outputs);
  ASSERT_TRUE(poses) << poses.error();
  const auto expected = decode_poses(*View::of_item(head, 0), picture_options(), kKeypoints, 3);
  ASSERT_TRUE(expected) << expected.error();
  ASSERT_GT(expected->size(), 3U);
  ASSERT_EQ(poses->size(), expected->size());
  for (size_t i = 0; i < poses->size(); ++i) {
    expect_box((*poses)[i].box, (*expected)[i].box);
    ASSERT_EQ((*poses)[i].keypoints.size(), size_t{kKeypoints});
    for (size_t k = 0; k < kKeypoints; ++k) {
      EXPECT_NEAR((*poses)[i].keypoints[k].x, (*expected)[i].keypoints[k].x, 1e-3F);
      EXPECT_NEAR((*poses)[i].keypoints[k].y, (*expected)[i].keypoints[k].y, 1e-3F);
      EXPECT_EQ((*poses)[i].keypoints[k].score, (*expected)[i].keypoints[k].score);
    }
  }
}

TEST(YoloLayers, AnEngineGivesOrientedBoxesOfThePicture) {
  Tensor head({1, 4 + kClasses + 1, kBoxes});
  for (int64_t i = 0; i < kBoxes; ++i)
    (*head.cpu<float>())[(4 + kClasses) * kBoxes + i] = 0.1F * static_cast<float>(i) - 0.7F;
  fill_head(head, 5);
  YoloLayerOptions options;
  options.is_oriented = true;
  Tensors outputs = decoded(head, options);
  const auto boxes = oriented_boxes_of(outputs);
  ASSERT_TRUE(boxes) << boxes.error();
  const auto expected = decode_oriented_boxes(*View::of_item(head, 0), picture_options());
  ASSERT_TRUE(expected) << expected.error();
  ASSERT_GT(expected->size(), 3U);
  ASSERT_EQ(boxes->size(), expected->size());
  for (size_t i = 0; i < boxes->size(); ++i) {
    const RotatedBox &a = (*boxes)[i], &b = (*expected)[i];
    EXPECT_NEAR(a.x, b.x, 1e-3F);
    EXPECT_NEAR(a.y, b.y, 1e-3F);
    EXPECT_NEAR(a.width, b.width, 1e-3F);
    EXPECT_NEAR(a.height, b.height, 1e-3F);
    EXPECT_NEAR(a.angle, b.angle, 1e-3F);
    EXPECT_EQ(a.score, b.score);
    EXPECT_EQ(a.class_label, b.class_label);
  }
}

TEST(YoloLayers, AnEngineGivesCoefficientsOfMasks) {
  constexpr int64_t kCoefficients = 6;
  Tensor head({1, 4 + kClasses + kCoefficients, kBoxes});
  float* const x = *head.cpu<float>();
  for (int64_t i = 0; i < head.numel(); ++i) x[i] = static_cast<float>(i);
  fill_head(head, 6);
  YoloLayerOptions options;
  options.coefficients = kCoefficients;
  Tensors outputs = decoded(head, options);
  ASSERT_EQ(outputs.size(), 5U);
  ASSERT_EQ(outputs[4].shape(), (Shape{1, 20, kCoefficients}));
  const std::span<const float> boxes_and_classes(x, (4 + kClasses) * kBoxes);
  const auto expected =
      decode_yolo_v8(*View::of(boxes_and_classes, {4 + kClasses, kBoxes}), picture_options());
  ASSERT_TRUE(expected) << expected.error();
  const auto boxes = detections_of(outputs);
  ASSERT_TRUE(boxes) << boxes.error();
  ASSERT_EQ(boxes->size(), expected->size());
  const float* got = *outputs[4].cpu<float>();
  for (const Box& box : *expected)
    for (int64_t k = 0; k < kCoefficients; ++k)
      EXPECT_EQ(*got++, x[(4 + kClasses + k) * kBoxes + box.index]);
}

TEST(YoloLayers, SaysWhatDoesNotFit) {
  expect_has(network_error([](INetworkDefinition& network) {
               copy_input(network);
               return append_yolo(network, {}).error();
             }),
             "DecodeYolo takes (N, 4 + classes, boxes)");
  expect_has(network_error([](INetworkDefinition& network) {
               auto* x = network.addInput("x", DataType::kFLOAT, nvinfer1::Dims3(-1, 8, 10));
               session::add_output(network, *network.addIdentity(*x)->getOutput(0), "y");
               YoloLayerOptions options;
               options.keypoints = 5;
               return append_yolo(network, options).error();
             }),
             "(N, 4 + classes + 15, boxes)");
  Tensors none;
  expect_has(detections_of(none).error(), "found 0 other tensors");
}

}  // namespace
}  // namespace tenon::serve
