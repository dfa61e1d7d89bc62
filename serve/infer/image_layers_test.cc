#include <gtest/gtest.h>

#include <random>

#include "tenon/serve/engine_instances.h"
#include "tenon/serve/image_layers.h"
#include "tenon/serve/infer.h"
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

TEST(ImageLayers, TakesFramesOfNv12) {
  ImageLayerOptions options;
  options.format = PixelFormat::kNV12;
  options.fit = ImageLayerOptions::Fit::kStretch;
  options.width = 64;
  options.height = 36;
  const auto infer = built([&](INetworkDefinition& network) {
    copy_input(network);
    ASSERT_TRUE(prepend_images(network, options));
  });
  ASSERT_NE(infer, nullptr);
  const auto bytes = random_bytes(64 * 54, 2);
  ASSERT_TRUE(infer->input()->resize({1, 54, 64}));
  ASSERT_TRUE(infer->input()->copy_from_cpu(0, bytes.data(), infer->input()->numel()));
  const auto done = infer->forward();
  ASSERT_TRUE(done) << done.error();
  Tensor expected({1, 3, kSide, kSide});
  ASSERT_TRUE(
      resize_bilinear_and_normalize(Image::nv12(bytes.data(), 64, 36), {expected}, options.norm));
  expect_equal(*infer->output(), expected, 1e-5F);
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

TEST(ImageLayers, AnEngineGivesBoxesOfThePicture) {
  constexpr int64_t kWidth = 90, kHeight = 40;
  const auto infer = built([&](INetworkDefinition& network) {
    network.addInput("x", DataType::kFLOAT, nvinfer1::Dims4(-1, 3, kSide, kSide));
    auto* head =
        network.addInput("head_in", DataType::kFLOAT, nvinfer1::Dims3(-1, 4 + kClasses, kBoxes));
    session::add_output(network, *network.addIdentity(*head)->getOutput(0), "head");
    ImageLayerOptions images;
    images.input = "x";
    const auto to_image = prepend_images(network, images);
    ASSERT_TRUE(to_image) << to_image.error();
    YoloLayerOptions yolo;
    yolo.max_boxes = 20;
    const auto done = append_yolo(network, yolo, *to_image);
    ASSERT_TRUE(done) << done.error();
  });
  ASSERT_NE(infer, nullptr);
  ASSERT_EQ(infer->num_output(), 4);
  Tensor& head = *infer->tensor("head_in");
  ASSERT_TRUE(head.resize({1, 4 + kClasses, kBoxes}));
  fill_head(head, 3);
  ASSERT_TRUE(infer->tensor("images")->resize({1, kHeight, kWidth, 3}));
  ASSERT_TRUE(infer->tensor("images")->set_to(9));
  const auto ran = infer->forward();
  ASSERT_TRUE(ran) << ran.error();
  Tensors outputs;
  for (int i = 0; i < 4; ++i) outputs.push_back(*infer->output(i)->clone());
  const auto boxes = detections_of(outputs);
  ASSERT_TRUE(boxes) << boxes.error();

  DetectOptions options;
  options.to_picture = Letterbox::ultralytics(kWidth, kHeight, kSide, kSide)->d2i;
  options.width = kWidth;
  options.height = kHeight;
  options.nms.max_boxes = 20;
  const auto expected = decode_yolo_v8(*View::of_item(head, 0), options);
  ASSERT_TRUE(expected) << expected.error();
  ASSERT_GT(expected->size(), 3U);
  ASSERT_EQ(boxes->size(), expected->size());
  for (size_t i = 0; i < boxes->size(); ++i) {
    const Box &a = (*boxes)[i], &b = (*expected)[i];
    EXPECT_NEAR(a.left, b.left, 1e-3F);
    EXPECT_NEAR(a.top, b.top, 1e-3F);
    EXPECT_NEAR(a.right, b.right, 1e-3F);
    EXPECT_NEAR(a.bottom, b.bottom, 1e-3F);
    EXPECT_EQ(a.score, b.score);
    EXPECT_EQ(a.class_label, b.class_label);
  }
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
  has(prepend([](auto& o) { o.format = PixelFormat::kYUYV; }), "YUYV");
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
      "DecodeYolo");
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
