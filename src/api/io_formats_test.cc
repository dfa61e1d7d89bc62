// Inputs and outputs in formats other than kLINEAR: what a caller's memory holds.
#include <gmock/gmock.h>

#include <cmath>
#include <numeric>
#include <string>

#include "api/format_testing.h"
#include "api/testing.h"
#include "base/half.h"

namespace tenon::testing {
namespace {

using namespace nvinfer1;  // the tests speak as an application does
using ::testing::HasSubstr;

// Runs an engine of x and y once.
void run(Session& s, IExecutionContext& context, void* x, Floats& y) {
  context.setTensorAddress("x", x);
  context.setTensorAddress("y", y.data());
  ASSERT_TRUE(context.enqueueV3(nullptr)) << s.logger.take_errors();
  ASSERT_EQ(cudaStreamSynchronize(nullptr), cudaSuccess);
}

constexpr int64_t kImages = 2, kChannels = 5, kPositions = 12;

// Of so many images; 0: without that axis.
Dims shape_of(const FormatCase& format, int64_t images) {
  Dims shape =
      format.has_depth ? dims({images, kChannels, 3, 2, 2}) : dims({images, kChannels, 3, 4});
  if (images > 0) return shape;
  std::copy(shape.d + 1, shape.d + shape.nbDims, shape.d);
  --shape.nbDims;
  return shape;
}

// y = 2x, x of type T in the format.
template <class T>
void expect_doubled(const FormatCase& format, DataType type, T padding, int64_t images) {
  SCOPED_TRACE(std::to_string(static_cast<int>(format.format)) + " of type "
               + std::to_string(static_cast<int>(type)));
  Session s;
  ITensor& x = *s.network->addInput("x", type, shape_of(format, images));
  ITensor& number = *s.network->addCast(x, DataType::kFLOAT)->getOutput(0);
  ITensor& y = *s.network->addElementWise(number, number, ElementWiseOperation::kSUM)->getOutput(0);
  y.setName("y");
  s.network->markOutput(y);
  x.setAllowedFormats(only(format.format));
  y.setAllowedFormats(only(format.format));
  const auto engine = s.engine();
  ASSERT_NE(engine, nullptr) << s.logger.take_errors();
  EXPECT_EQ(engine->getTensorFormat("x"), format.format);
  EXPECT_EQ(engine->getTensorFormat("y"), format.format);

  images = std::max<int64_t>(images, 1);
  const auto count = static_cast<size_t>(images * kChannels * kPositions);
  std::vector<T> linear(count);
  std::vector<float> doubled(count);
  for (size_t i = 0; i < count; ++i) {
    linear[i] = static_cast<T>(static_cast<float>(i));
    doubled[i] = 2.0f * static_cast<float>(i);
  }
  auto in = packed(linear, images, kChannels, kPositions, format, padding);
  const auto expected = packed(doubled, images, kChannels, kPositions, format, 0.0f);
  std::vector<float> out(expected.size(), 0);
  const std::unique_ptr<IExecutionContext> context(engine->createExecutionContext());
  EXPECT_EQ(context->getMaxOutputSize("y"), static_cast<int64_t>(out.size() * sizeof(float)));
  ASSERT_NO_FATAL_FAILURE(run(s, *context, in.data(), out));
  EXPECT_EQ(out, expected);
}

TEST(IoFormats, EachLiesAsItIsDefined) {
  for (const FormatCase& format : kFormatCases)
    for (const int64_t images : {int64_t{0}, kImages}) {
      SCOPED_TRACE(images);
      expect_doubled<float>(format, DataType::kFLOAT, std::nanf(""), images);
      expect_doubled<int8_t>(format, DataType::kINT8, -1, images);
      expect_doubled<uint8_t>(format, DataType::kUINT8, 255, images);
      expect_doubled<int64_t>(format, DataType::kINT64, -1, images);
      expect_doubled<Half>(format, DataType::kHALF, Half(std::nanf("")), images);
    }
}

// What pads the channels of an input may be anything, also where a convolution reads it.
TEST(IoFormats, PaddingIsNotRead) {
  for (const FormatCase& format : kFormatCases) {
    if (format.has_depth) continue;
    Session s;
    ITensor& x = s.input("x", {kImages, kChannels, 3, 4});
    const Floats ones(kChannels, 1.0f);
    ITensor& y =
        *s.network->addConvolutionNd(x, 1, Dims2(1, 1), weights(ones), kNone)->getOutput(0);
    y.setName("y");
    s.network->markOutput(y);
    x.setAllowedFormats(only(format.format));
    const auto engine = s.engine();
    ASSERT_NE(engine, nullptr) << s.logger.take_errors();
    Floats linear(kImages * kChannels * kPositions);
    std::iota(linear.begin(), linear.end(), 0.0f);
    auto in = packed(linear, kImages, kChannels, kPositions, format, std::nanf(""));
    Floats out(kImages * kPositions), expected;
    for (int64_t i = 0; i < kImages; ++i)
      for (int64_t p = 0; p < kPositions; ++p) {
        float sum = 0;
        for (int64_t c = 0; c < kChannels; ++c)
          sum += linear[static_cast<size_t>((i * kChannels + c) * kPositions + p)];
        expected.push_back(sum);
      }
    const std::unique_ptr<IExecutionContext> context(engine->createExecutionContext());
    ASSERT_NO_FATAL_FAILURE(run(s, *context, in.data(), out));
    EXPECT_EQ(out, expected);
  }
}

// Layers that take data in any layout are behind an input, each by itself.
TEST(IoFormats, EveryLayerReadsThem) {
  constexpr int64_t kWide = 32;
  const auto add_layer = [](Session& s, ITensor& x, int kind) -> ITensor& {
    INetworkDefinition& n = *s.network;
    switch (kind) {
      case 0:
        return *n.addReduce(x, ReduceOperation::kAVG, 1u << 1, true)->getOutput(0);
      case 1:
        return *n.addReduce(x, ReduceOperation::kMAX, 1u << 3, false)->getOutput(0);
      case 2:
        return *n.addSlice(x, dims({0, 3, 1, 0}), dims({2, 20, 2, 3}), dims({1, 1, 1, 1}))
                    ->getOutput(0);
      case 3:
        return *n.addLRN(x, 5, 1e-2f, 0.75f, 1.0f)->getOutput(0);
      case 4: {
        auto* layer = n.addSlice(x, dims({0, 0, -1, -1}), dims({2, 32, 5, 6}), dims({1, 1, 1, 1}));
        layer->setMode(SampleMode::kFILL);
        return *layer->getOutput(0);
      }
      case 5:
        return *n.addPoolingNd(x, PoolingType::kMAX, Dims2(2, 2))->getOutput(0);
      case 6:
        return *n.addSoftMax(x)->getOutput(0);
      case 7: {
        auto* layer = n.addResize(x);
        layer->setOutputDimensions(dims({2, 32, 6, 8}));
        return *layer->getOutput(0);
      }
      case 8: {
        ITensor* both[] = {&x, &x};
        auto* layer = n.addConcatenation(both, 2);
        layer->setAxis(1);
        return *layer->getOutput(0);
      }
      default: {
        auto* layer = n.addShuffle(x);
        layer->setFirstTranspose({0, 2, 3, 1});
        return *layer->getOutput(0);
      }
    }
  };
  Floats linear(2 * kWide * kPositions);
  for (size_t i = 0; i < linear.size(); ++i)
    linear[i] = static_cast<float>((i * 37) % 101) / 101.0f - 0.5f;
  for (int kind = 0; kind < 10; ++kind) {
    Floats expected;
    for (const FormatCase& format : {kFormatCases[10], kFormatCases[0], kFormatCases[2],
                                     kFormatCases[3], kFormatCases[4], kFormatCases[5]}) {
      SCOPED_TRACE(std::to_string(kind) + " of format "
                   + std::to_string(static_cast<int>(format.format)));
      Session s;
      ITensor& x = s.input("x", {2, kWide, 3, 4});
      ITensor& y = add_layer(s, x, kind);
      y.setName("y");
      s.network->markOutput(y);
      x.setAllowedFormats(only(format.format));
      const auto engine = s.engine();
      ASSERT_NE(engine, nullptr) << s.logger.take_errors();
      auto in = packed(linear, 2, kWide, kPositions, format, 0.0f);
      const std::unique_ptr<IExecutionContext> context(engine->createExecutionContext());
      Floats out(static_cast<size_t>(context->getMaxOutputSize("y")) / sizeof(float));
      ASSERT_NO_FATAL_FAILURE(run(s, *context, in.data(), out));
      if (expected.empty()) expected = out;  // of the linear format, which is first
      ASSERT_EQ(out.size(), expected.size());
      for (size_t i = 0; i < out.size(); ++i) EXPECT_NEAR(out[i], expected[i], 1e-5) << i;
    }
  }
}

TEST(IoFormats, AnEngineSaysWhatAnElementIs) {
  Session s;
  ITensor& x = s.input("x", {1, 20, 3, 4}, DataType::kHALF);
  ITensor& y = *s.network->addIdentity(x)->getOutput(0);
  y.setName("y");
  s.network->markOutput(y);
  x.setAllowedFormats(only(TensorFormat::kHWC8));
  y.setAllowedFormats(only(TensorFormat::kCHW32) | only(TensorFormat::kCHW4));
  const auto engine = s.engine();
  ASSERT_NE(engine, nullptr) << s.logger.take_errors();
  EXPECT_EQ(engine->getTensorComponentsPerElement("x"), 8);
  EXPECT_EQ(engine->getTensorBytesPerComponent("x"), 2);
  EXPECT_EQ(engine->getTensorVectorizedDim("x"), 1);
  EXPECT_STREQ(engine->getTensorFormatDesc("x"),
               "Channel major FP16 format where channel % 8 == 0 (kHWC8)");
  EXPECT_EQ(engine->getTensorFormat("y"), TensorFormat::kCHW4);  // of two, the first
  EXPECT_STREQ(engine->getTensorFormatDesc("y"),
               "Four wide channel vectorized row major FP16 format (kCHW4)");
  const std::unique_ptr<IExecutionContext> context(engine->createExecutionContext());
  EXPECT_EQ(list(context->getTensorStrides("x")), (List{36, 1, 12, 3}));  // in vectors
  EXPECT_EQ(list(context->getTensorStrides("y")), (List{60, 12, 4, 1}));
}

// Channels are the third dimension from the end, as NvInferRuntime.h says: of three, the first.
TEST(IoFormats, AnEngineSaysWhereTheChannelsOfUnbatchedTensorsAre) {
  Session s;
  ITensor& x = s.input("x", {20, 3, 4});
  ITensor& y = *s.network->addIdentity(x)->getOutput(0);
  y.setName("y");
  s.network->markOutput(y);
  x.setAllowedFormats(only(TensorFormat::kCHW32));
  y.setAllowedFormats(only(TensorFormat::kHWC));
  const auto engine = s.engine();
  ASSERT_NE(engine, nullptr) << s.logger.take_errors();
  EXPECT_EQ(list(engine->getTensorShape("x")), (List{20, 3, 4}));
  EXPECT_EQ(engine->getTensorVectorizedDim("x"), 0);
  EXPECT_EQ(engine->getTensorVectorizedDim("y"), -1);
  EXPECT_EQ(engine->getTensorComponentsPerElement("x"), 32);
  EXPECT_STREQ(engine->getTensorFormatDesc("x"),
               "Thirty-two wide channel vectorized row major FP32 format (kCHW32)");
  EXPECT_STREQ(engine->getTensorFormatDesc("y"), "Channel major FP32 format (kHWC)");
  const std::unique_ptr<IExecutionContext> context(engine->createExecutionContext());
  EXPECT_EQ(list(context->getTensorStrides("x")), (List{12, 4, 1}));
  EXPECT_EQ(list(context->getTensorStrides("y")), (List{1, 80, 20}));
}

TEST(IoFormats, WhatATensorCannotHaveIsRefusedByName) {
  Session s;
  ITensor& x = s.input("x", {3, 4});
  ITensor& y = *s.network->addIdentity(x)->getOutput(0);
  y.setName("y");
  s.network->markOutput(y);
  x.setAllowedFormats(only(TensorFormat::kHWC));
  EXPECT_EQ(s.build(), nullptr);
  EXPECT_THAT(s.logger.take_errors(),
              HasSubstr("kHWC is for tensors of rank 3 or 4, found rank 2"));
  x.setAllowedFormats(only(TensorFormat::kDLA_LINEAR));
  EXPECT_EQ(s.build(), nullptr);
  EXPECT_THAT(s.logger.take_errors(), HasSubstr("kDLA_LINEAR is a format of DLA"));
  x.setAllowedFormats(only(TensorFormat::kHWC) | only(TensorFormat::kLINEAR));
  EXPECT_NE(s.build(), nullptr);
}

// The layout of an input is not lost where shapes are known only at run time.
TEST(IoFormats, ShapesMayVary) {
  Session s;
  ITensor& x = s.input("x", {-1, -1, 3, -1});
  ITensor& y = *s.network->addUnary(x, UnaryOperation::kNEG)->getOutput(0);
  y.setName("y");
  s.network->markOutput(y);
  x.setAllowedFormats(only(TensorFormat::kCHW16));
  y.setAllowedFormats(only(TensorFormat::kHWC8));
  auto* profile = s.builder->createOptimizationProfile();
  profile->setDimensions("x", OptProfileSelector::kMIN, dims({1, 1, 3, 1}));
  profile->setDimensions("x", OptProfileSelector::kOPT, dims({1, 16, 3, 4}));
  profile->setDimensions("x", OptProfileSelector::kMAX, dims({4, 40, 3, 8}));
  s.config->addOptimizationProfile(profile);
  const auto engine = s.engine();
  ASSERT_NE(engine, nullptr) << s.logger.take_errors();
  const std::unique_ptr<IExecutionContext> context(engine->createExecutionContext());
  for (const int64_t channels : {16, 5, 40, 1}) {
    SCOPED_TRACE(channels);
    const int64_t count = 2 * channels * 6;
    Floats linear(static_cast<size_t>(count));
    std::iota(linear.begin(), linear.end(), 1.0f);
    Floats negative;
    for (const float v : linear) negative.push_back(-v);
    auto in = packed(linear, 2, channels, 6, {TensorFormat::kCHW16, 16, 16}, std::nanf(""));
    const auto expected = packed(negative, 2, channels, 6, {TensorFormat::kHWC8, 0, 8}, 0.0f);
    Floats out(expected.size());
    ASSERT_TRUE(context->setInputShape("x", dims({2, channels, 3, 2})));
    ASSERT_NO_FATAL_FAILURE(run(s, *context, in.data(), out));
    EXPECT_EQ(out, expected);
  }
}

}  // namespace
}  // namespace tenon::testing
