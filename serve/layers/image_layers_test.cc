#include "tenon/serve/image_layers.h"

#include <gtest/gtest.h>

#include <random>

#include "tenon/serve/preprocess.h"
#include "test_layers.h"

namespace tenon::serve {
namespace {

using nvinfer1::INetworkDefinition;

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

TEST(ImageLayers, SaysWhatDoesNotFit) {
  using Change = std::function<void(ImageLayerOptions&)>;
  const auto prepend = [](const Change& change) {
    return network_error([&](INetworkDefinition& network) {
      copy_input(network);
      ImageLayerOptions options;
      change(options);
      return prepend_images(network, options).error();
    });
  };
  expect_has(prepend([](auto& o) { o.input = "z"; }), "no input 'z': expected one of 'x'");
  expect_has(prepend([](auto& o) { o.format = PixelFormat::kGrey; }), "(N, 1, height, width)");
  expect_has(prepend([](auto& o) {
               o.format = PixelFormat::kYUYV;
               o.width = 7;
             }),
             "7x-1 pixels of YUYV: expected even extents");
  expect_has(prepend([](auto& o) { o.width = 0; }), "0x-1 pixels");
  expect_has(network_error([](INetworkDefinition& network) {
               copy_input(network);
               network.addInput("images", DataType::kFLOAT, nvinfer1::Dims2(1, 1));
               ImageLayerOptions options;
               options.input = "x";
               return prepend_images(network, options).error();
             }),
             "cannot have the input 'images'");
  expect_has(prepend([](auto& o) { o.norm.scale[1] = 0; }), "refuses its attributes");
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
