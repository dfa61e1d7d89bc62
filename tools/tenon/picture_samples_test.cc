#include "picture_samples.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "error.h"
#include "logger.h"
#include "picture.h"

namespace tenon::tool {
namespace {

using nvinfer1::DataType;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

// Four pixels of one grey for each number, so that half the extents are these numbers exactly.
std::string doubled(const std::string& name, int width, const std::vector<uint8_t>& greys) {
  const int height = static_cast<int>(greys.size()) / width;
  Picture picture = grey_picture(2 * width, 2 * height, 0);
  for (int y = 0; y < picture.height; ++y)
    for (int x = 0; x < picture.width; ++x)
      std::fill_n(picture.at(x, y), 3, greys[static_cast<size_t>(y / 2 * width + x / 2)]);
  const std::string path = ::testing::TempDir() + name;
  save_picture(path, picture);
  return path;
}

class PictureSamples : public ::testing::Test {
 protected:
  const nvinfer1::ITensor& input(DataType type, const nvinfer1::Dims& dims) {
    network_.reset(builder_->createNetworkV2(0));
    return *network_->addInput("x", type, dims);
  }
  std::vector<float> batch(const std::vector<std::string>& files, const session::Shape& shape,
                           const PictureSampleOptions& options) {
    const auto dims = session::to_dims(shape);
    const auto array = picture_batch(files, input(DataType::kFLOAT, *dims), shape, options);
    EXPECT_EQ(array.shape[0], static_cast<int64_t>(files.size()));
    return {array.as<float>(), array.as<float>() + array.count()};
  }

  Logger logger_;
  std::unique_ptr<nvinfer1::IBuilder> builder_{nvinfer1::createInferBuilder(logger_)};
  std::unique_ptr<nvinfer1::INetworkDefinition> network_;
  PictureSampleOptions plain_{{.scale = {1}, .mean = {0}}};
};

TEST_F(PictureSamples, AreResizedOneByOne) {
  const auto a = doubled("a.png", 2, {10, 20, 30, 40}), b = doubled("b.png", 2, {1, 2, 3, 4});
  EXPECT_THAT(batch({a, b}, {1, 1, 2, 2}, plain_), ElementsAre(10, 20, 30, 40, 1, 2, 3, 4));
}

TEST_F(PictureSamples, AreScaledAndOrderedByChannel) {
  Picture red = grey_picture(4, 4, 0);
  for (int i = 0; i < 16; ++i) red.at(i % 4, i / 4)[0] = 200;
  const std::string path = ::testing::TempDir() + "red.png";
  save_picture(path, red);
  plain_.mean = {100, 0, 50};
  plain_.scale = {0.5, 1, 2};
  EXPECT_THAT(batch({path}, {1, 3, 1, 1}, plain_), ElementsAre(50, 0, -100));
  plain_.bgr = true;
  EXPECT_THAT(batch({path}, {1, 3, 1, 1}, plain_), ElementsAre(-50, 0, 300));
  plain_.channels_last = true;
  EXPECT_THAT(batch({path}, {1, 1, 2, 3}, plain_), ElementsAre(-50, 0, 300, -50, 0, 300));
}

TEST_F(PictureSamples, FitAsTheyAreTold) {
  const auto wide = doubled("wide.png", 4, {10, 20, 30, 40, 50, 60, 70, 80});
  plain_.fit = PictureFit::kLetterbox;  // border of 114 above and below
  EXPECT_THAT(batch({wide}, {1, 1, 4, 4}, plain_),
              ElementsAre(114, 114, 114, 114, 10, 20, 30, 40, 50, 60, 70, 80, 114, 114, 114, 114));
  // Of 16 x 8 pixels the middle 7 x 7, rounded: a pixel of the upper half and one of the lower.
  Picture halves = grey_picture(16, 8, 10);
  std::fill(halves.pixels.begin() + 16 * 4 * 3, halves.pixels.end(), uint8_t{90});
  for (int y = 0; y < 8; ++y)
    for (const int x : {0, 1, 2, 3, 12, 13, 14, 15}) std::fill_n(halves.at(x, y), 3, uint8_t{255});
  const std::string path = ::testing::TempDir() + "halves.png";
  save_picture(path, halves);
  plain_.fit = PictureFit::kCrop;
  for (const float value : batch({path}, {1, 1, 2, 2}, plain_)) EXPECT_LE(value, 90);
}

TEST_F(PictureSamples, WhatCannotBeIsNamed) {
  const auto a = doubled("a.png", 2, {10, 20, 30, 40});
  const auto with = [&](DataType type, const session::Shape& shape,
                        const std::vector<std::string>& files) {
    const auto dims = session::to_dims(shape);
    picture_batch(files, input(type, *dims), shape, plain_);
  };
  EXPECT_THAT([&] { with(DataType::kFLOAT, {1, 5, 4, 4}, {a}); },
              ThrowsMessage<Failure>(AllOf(HasSubstr("'x' is float32 1x5x4x4"),
                                           HasSubstr("or say --calibLayout=nhwc"))));
  EXPECT_THAT([&] { with(DataType::kINT32, {1, 3, 4, 4}, {a}); },
              ThrowsMessage<Failure>(HasSubstr("int32")));
  EXPECT_THAT([&] { with(DataType::kFLOAT, {1, 16}, {a}); },
              ThrowsMessage<Failure>(HasSubstr("4 dimensions")));
  EXPECT_THAT([&] { with(DataType::kFLOAT, {1, 3, 4, 4}, {a, "/no/such.png"}); },
              ThrowsMessage<Failure>(HasSubstr("/no/such.png")));
}

}  // namespace
}  // namespace tenon::tool
