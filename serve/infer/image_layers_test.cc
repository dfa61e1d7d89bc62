#include "tenon/serve/image_layers.h"

#include <gtest/gtest.h>

#include <random>

#include "tenon/serve/engine_instances.h"
#include "tenon/serve/infer.h"
#include "tenon/serve/oriented_boxes.h"
#include "tenon/serve/preprocess.h"
#include "tenon/serve/yolo.h"
#include "test_networks.h"

namespace tenon::serve {
namespace {

using nvinfer1::INetworkDefinition;
using nvinfer1::ITensor;

constexpr int64_t kSide = 48, kClasses = 3, kBoxes = 60;

// What a network is before layers are put around it: `x` of images, and a head that is an input.
std::shared_ptr<Infer> built(const std::function<void(INetworkDefinition&)>& define) {
  session::ErrorLog log;
  const session::Engine engine =
      session::build_engine(log, [&](auto& builder, auto& network, auto& config) {
        define(network);
        auto* profile = builder.createOptimizationProfile();
        for (int32_t i = 0; i < network.getNbInputs(); ++i) {
          const ITensor& input = *network.getInput(i);
          const auto shape = [&](int64_t batch, int64_t extent) {
            nvinfer1::Dims dims = input.getDimensions();
            for (int32_t k = 0; k < dims.nbDims; ++k)
              if (dims.d[k] < 0) dims.d[k] = k == 0 ? batch : extent;
            return dims;
          };
          using Selector = nvinfer1::OptProfileSelector;
          profile->setDimensions(input.getName(), Selector::kMIN, shape(1, 6));
          profile->setDimensions(input.getName(), Selector::kOPT, shape(2, 60));
          profile->setDimensions(input.getName(), Selector::kMAX, shape(4, 300));
        }
        config.addOptimizationProfile(profile);
      });
  if (engine.engine == nullptr) return nullptr;
  const std::unique_ptr<nvinfer1::IHostMemory> plan(engine.engine->serialize());
  auto infer = load_infer_from_memory(plan->data(), plan->size());
  EXPECT_TRUE(infer) << infer.error();
  return infer ? *infer : nullptr;
}

void copy_input(INetworkDefinition& network) {
  auto* x = network.addInput("x", DataType::kFLOAT, nvinfer1::Dims4(-1, 3, kSide, kSide));
  session::add_output(network, *network.addIdentity(*x)->getOutput(0), "y");
}

std::vector<uint8_t> random_bytes(size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<uint8_t> bytes(count);
  for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random());
  return bytes;
}

void expect_equal(Tensor& a, Tensor& b, float tolerance) {
  ASSERT_EQ(a.shape(), b.shape());
  const float *x = *a.cpu<float>(), *y = *b.cpu<float>();
  for (int64_t i = 0; i < a.numel(); ++i) ASSERT_NEAR(x[i], y[i], tolerance) << "element " << i;
}

TEST(ImageLayers, AnEngineTakesBytesOfImages) {
  ImageLayerOptions options;
  options.norm = Norm::mean_std({0.485F, 0.456F, 0.406F}, {0.229F, 0.224F, 0.225F}, 1 / 255.F,
                                ChannelType::Invert);
  options.border = 7;
  const auto infer = built([&](INetworkDefinition& network) {
    copy_input(network);
    const auto done = prepend_images(network, options);
    ASSERT_TRUE(done) << done.error();
  });
  ASSERT_NE(infer, nullptr);
  EXPECT_EQ(infer->get_input_name(), "images");
  ASSERT_EQ(infer->input()->type(), DataType::kUINT8);
  constexpr int64_t kWidth = 70, kHeight = 33;
  const auto bytes = random_bytes(2 * kWidth * kHeight * 3, 1);
  ASSERT_TRUE(infer->input()->resize({2, kHeight, kWidth, 3}));
  ASSERT_TRUE(infer->input()->copy_from_cpu(0, bytes.data(), infer->input()->numel()));
  const auto done = infer->forward();
  ASSERT_TRUE(done) << done.error();

  Tensor expected({2, 3, kSide, kSide});
  ASSERT_TRUE(expected.set_to(0));
  const auto box = Letterbox::ultralytics(kWidth, kHeight, kSide, kSide);
  for (int64_t i = 0; i < 2; ++i)
    ASSERT_TRUE(letterbox(
        Image::packed(PixelFormat::kRGB, bytes.data() + i * kWidth * kHeight * 3, kWidth, kHeight),
        *box, {expected, i}, options.norm, 7));
  expect_equal(*infer->output(), expected, 1e-5F);
}

// Ultralytics' exports have an input of that name themselves.
TEST(ImageLayers, TakesThePlaceOfAnInputOfItsName) {
  const auto infer = built([&](INetworkDefinition& network) {
    auto* images =
        network.addInput("images", DataType::kFLOAT, nvinfer1::Dims4(-1, 3, kSide, kSide));
    session::add_output(network, *network.addIdentity(*images)->getOutput(0), "y");
    const auto done = prepend_images(network, {});
    ASSERT_TRUE(done) << done.error();
  });
  ASSERT_NE(infer, nullptr);
  EXPECT_EQ(infer->num_input(), 1);
  EXPECT_EQ(infer->get_input_name(), "images");
  EXPECT_EQ(infer->input()->type(), DataType::kUINT8);
}

TEST(ImageLayers, TakesFramesOfYuv) {
  constexpr int64_t kWidth = 64, kHeight = 36;
  const auto bytes = random_bytes(kWidth * kHeight * 2, 2);
  const std::pair<Image, Shape> frames[] = {
      {Image::nv12(bytes.data(), kWidth, kHeight), {1, kHeight / 2 * 3, kWidth}},
      {Image::i420(bytes.data(), kWidth, kHeight), {1, kHeight / 2 * 3, kWidth}},
      {Image::packed(PixelFormat::kYUYV, bytes.data(), kWidth, kHeight), {1, kHeight, kWidth, 2}}};
  for (const auto& [frame, shape] : frames) {
    SCOPED_TRACE(format_name(frame.format));
    ImageLayerOptions options;
    options.format = frame.format;
    options.fit = ImageLayerOptions::Fit::kStretch;
    options.width = kWidth;
    options.height = kHeight;
    const auto infer = built([&](INetworkDefinition& network) {
      copy_input(network);
      ASSERT_TRUE(prepend_images(network, options));
    });
    ASSERT_NE(infer, nullptr);
    ASSERT_TRUE(infer->input()->resize(shape));
    ASSERT_TRUE(infer->input()->copy_from_cpu(0, bytes.data(), infer->input()->numel()));
    const auto done = infer->forward();
    ASSERT_TRUE(done) << done.error();
    Tensor expected({1, 3, kSide, kSide});
    ASSERT_TRUE(resize_bilinear_and_normalize(frame, {expected}, options.norm));
    expect_equal(*infer->output(), expected, 1e-5F);
  }
}

TEST(ImageLayers, FillAnInputOfHalves) {
  const auto infer = built([&](INetworkDefinition& network) {
    auto* x = network.addInput("x", DataType::kHALF, nvinfer1::Dims4(-1, 3, kSide, kSide));
    auto* const y = network.addIdentity(*x)->getOutput(0);
    session::add_output(network, *y, "y");
    y->setType(DataType::kHALF);
    const auto done = prepend_images(network, {});
    ASSERT_TRUE(done) << done.error();
  });
  ASSERT_NE(infer, nullptr);
  const auto bytes = random_bytes(40 * 30 * 3, 5);
  ASSERT_TRUE(infer->input()->resize({1, 30, 40, 3}));
  ASSERT_TRUE(infer->input()->copy_from_cpu(0, bytes.data(), infer->input()->numel()));
  const auto done = infer->forward();
  ASSERT_TRUE(done) << done.error();
  ASSERT_EQ(infer->output()->type(), DataType::kHALF);
  Tensor expected({1, 3, kSide, kSide}, DataType::kHALF);
  ASSERT_TRUE(letterbox(Image::packed(PixelFormat::kRGB, bytes.data(), 40, 30),
                        *Letterbox::ultralytics(40, 30, kSide, kSide), {expected},
                        Norm::alpha_beta(1 / 255.F)));
  const auto *a = *infer->output()->cpu<_Float16>(), *b = *expected.cpu<_Float16>();
  for (int64_t i = 0; i < expected.numel(); ++i)
    ASSERT_NEAR(static_cast<float>(a[i]), static_cast<float>(b[i]), 1e-3F) << i;
}

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
  const auto ran = infer->forward();
  EXPECT_TRUE(ran) << ran.error();
  Tensors outputs;
  for (int i = 0; i < infer->num_output(); ++i) outputs.push_back(*infer->output(i)->clone());
  return outputs;
}

void expect_box(const Box& a, const Box& b) {
  EXPECT_NEAR(a.left, b.left, 1e-3F);
  EXPECT_NEAR(a.top, b.top, 1e-3F);
  EXPECT_NEAR(a.right, b.right, 1e-3F);
  EXPECT_NEAR(a.bottom, b.bottom, 1e-3F);
  EXPECT_EQ(a.score, b.score);
  EXPECT_EQ(a.class_label, b.class_label);
}

TEST(ImageLayers, AnEngineGivesBoxesOfThePicture) {
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

TEST(ImageLayers, AnEngineGivesPosesOfThePicture) {
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

TEST(ImageLayers, AnEngineGivesOrientedBoxesOfThePicture) {
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

TEST(ImageLayers, AnEngineGivesCoefficientsOfMasks) {
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

std::string error_of(const std::function<std::string(INetworkDefinition&)>& call) {
  session::ErrorLog log;
  const std::unique_ptr<nvinfer1::IBuilder> builder(nvinfer1::createInferBuilder(log));
  const std::unique_ptr<INetworkDefinition> network(builder->createNetworkV2(0));
  return call(*network);
}

TEST(ImageLayers, SaysWhatDoesNotFit) {
  using Change = std::function<void(ImageLayerOptions&)>;
  const auto prepend = [](const Change& change) {
    return error_of([&](INetworkDefinition& network) {
      copy_input(network);
      ImageLayerOptions options;
      change(options);
      return prepend_images(network, options).error();
    });
  };
  const auto has = [](const std::string& text, const char* part) {
    EXPECT_NE(text.find(part), std::string::npos) << part << " is not in: " << text;
  };
  has(prepend([](auto& o) { o.input = "z"; }), "no input 'z': expected one of 'x'");
  has(prepend([](auto& o) { o.format = PixelFormat::kGrey; }), "(N, 1, height, width)");
  has(prepend([](auto& o) {
        o.format = PixelFormat::kYUYV;
        o.width = 7;
      }),
      "7x-1 pixels of YUYV: expected even extents");
  has(prepend([](auto& o) { o.width = 0; }), "0x-1 pixels");
  has(error_of([](INetworkDefinition& network) {
        copy_input(network);
        network.addInput("images", DataType::kFLOAT, nvinfer1::Dims2(1, 1));
        ImageLayerOptions options;
        options.input = "x";
        return prepend_images(network, options).error();
      }),
      "cannot have the input 'images'");
  has(prepend([](auto& o) { o.norm.scale[1] = 0; }), "refuses its attributes");
  has(error_of([](INetworkDefinition& network) {
        copy_input(network);
        return append_yolo(network, {}).error();
      }),
      "DecodeYolo takes (N, 4 + classes, boxes)");
  has(error_of([](INetworkDefinition& network) {
        auto* x = network.addInput("x", DataType::kFLOAT, nvinfer1::Dims3(-1, 8, 10));
        session::add_output(network, *network.addIdentity(*x)->getOutput(0), "y");
        YoloLayerOptions options;
        options.keypoints = 5;
        return append_yolo(network, options).error();
      }),
      "(N, 4 + classes + 15, boxes)");
  Tensors none;
  has(detections_of(none).error(), "found 0 other tensors");
}

// A network of "images" and of "mask", which both layers' failures leave so.
TEST(ImageLayers, AnErrorLeavesTheNetworkAsItWas) {
  session::ErrorLog log;
  const std::unique_ptr<nvinfer1::IBuilder> builder(nvinfer1::createInferBuilder(log));
  const std::unique_ptr<INetworkDefinition> network(builder->createNetworkV2(0));
  auto* const input =
      network->addInput("images", DataType::kFLOAT, nvinfer1::Dims4(-1, 3, kSide, kSide));
  auto* const copy = network->addIdentity(*input);
  session::add_output(*network, *copy->getOutput(0), "y");
  network->addInput("mask", DataType::kFLOAT, nvinfer1::Dims2(1, 1));
  const auto expect_error = [&](const ImageLayerOptions& options) {
    EXPECT_FALSE(prepend_images(*network, options));
    ASSERT_EQ(network->getNbInputs(), 2);
    EXPECT_EQ(network->getInput(0), input);
    EXPECT_STREQ(input->getName(), "images");
    EXPECT_STREQ(network->getInput(1)->getName(), "mask");
    EXPECT_EQ(network->getNbLayers(), 1);
    EXPECT_EQ(copy->getInput(0), input);
  };
  ImageLayerOptions options;
  options.input = "images";
  options.name = "mask";
  expect_error(options);
  options.name = "images";
  options.norm.scale[1] = 0;  // which the plugin refuses
  expect_error(options);
  options.norm.scale[1] = 1;
  options.width = 0;
  expect_error(options);
  options.width = -1;
  EXPECT_TRUE(prepend_images(*network, options));
  EXPECT_EQ(network->getNbInputs(), 2);
}

}  // namespace
}  // namespace tenon::serve
