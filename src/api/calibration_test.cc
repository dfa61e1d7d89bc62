// Flags of quantized types, and calibrators.
#include <gmock/gmock.h>

#include "api/testing.h"

namespace tenon::testing {
namespace {

using namespace nvinfer1;  // the tests speak as an application does
using ::testing::HasSubstr;

struct Calibrator final : IInt8EntropyCalibrator2 {
  int32_t getBatchSize() const noexcept override { return 1; }
  bool getBatch(void*[], const char* names[], int32_t count) noexcept override {
    EXPECT_EQ(count, 1);
    EXPECT_STREQ(names[0], "x");
    return batches++ < 3;
  }
  const void* readCalibrationCache(size_t& length) noexcept override {
    length = cache.size();
    return cache.empty() ? nullptr : cache.data();
  }
  void writeCalibrationCache(const void*, size_t) noexcept override { ++written; }

  std::string cache;
  int batches = 0, written = 0;
};

TEST(QuantizedTypes, ChangeNothingWithoutQuantizeLayers) {
  Session s;
  s.network->markOutput(*s.network->addIdentity(s.input("x", {4}))->getOutput(0));
  for (const auto flag :
       {BuilderFlag::kINT8, BuilderFlag::kFP8, BuilderFlag::kINT4, BuilderFlag::kFP4}) {
    s.config->setFlag(flag);
    EXPECT_NE(s.build(), nullptr);
    EXPECT_TRUE(s.builder->isNetworkSupported(*s.network, *s.config));
    EXPECT_THAT(s.logger.take_warnings(),
                HasSubstr("changes nothing: the network has no Quantize"));
    s.config->clearFlag(flag);
  }
}

TEST(QuantizedTypes, AreThoseOfQuantizeLayers) {
  Session s;
  s.config->setFlag(BuilderFlag::kINT8);
  ITensor& scale = constant(s, {}, {0.5f});
  ITensor& q = *s.network->addQuantize(s.input("x", {4}), scale, DataType::kINT8)->getOutput(0);
  ITensor& y = *s.network->addDequantize(q, scale, DataType::kFLOAT)->getOutput(0);
  EXPECT_EQ(run_floats(s, y, {{0.3f, 1, -70, 70}}, 4), (Floats{0.5f, 1, -64, 63.5f}));
  EXPECT_EQ(s.logger.take_warnings(), "");
}

TEST(Calibrators, AreAskedForTheirCacheAndThenForBatches) {
  Session s;
  s.network->markOutput(*s.network->addIdentity(s.input("x", {4}))->getOutput(0));
  Calibrator calibrator;
  s.config->setInt8Calibrator(&calibrator);
  EXPECT_NE(s.build(), nullptr);
  EXPECT_EQ(calibrator.batches, 0);  // without kINT8
  s.config->setFlag(BuilderFlag::kINT8);
  EXPECT_NE(s.build(), nullptr);
  EXPECT_EQ(calibrator.batches, 4);
  EXPECT_THAT(s.logger.take_warnings(), HasSubstr("the INT8 calibrator gave 3 batches"));
  calibrator.cache = "ranges";
  EXPECT_NE(s.build(), nullptr);
  EXPECT_EQ(calibrator.batches, 4);
  EXPECT_THAT(s.logger.take_warnings(), HasSubstr("gave a cache of 6 bytes"));
  EXPECT_EQ(calibrator.written, 0);
}

}  // namespace
}  // namespace tenon::testing
