// Flags of quantized types, and calibrators.
#include <gmock/gmock.h>
#include <tenon/build.h>

#include <cmath>

#include "api/testing.h"

namespace tenon::testing {
namespace {

using namespace nvinfer1;  // the tests speak as an application does
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string header(const char* kind) {
  return "TRT-" + std::to_string(getInferLibVersion()) + "-" + kind + "\n";
}

// Gives batches of inputs, by their order, and keeps the cache.
template <class Base> struct CalibratorOf : Base {
  int32_t getBatchSize() const noexcept override { return batch_size; }
  bool getBatch(void* bindings[], const char* names[], int32_t count) noexcept override {
    EXPECT_EQ(count, 1);
    EXPECT_STREQ(names[0], "x");
    if (next == batches.size()) return false;
    bindings[0] = batches[next++].data();
    return true;
  }
  const void* readCalibrationCache(size_t& length) noexcept override {
    length = cache.size();
    return cache.empty() ? nullptr : cache.data();
  }
  void writeCalibrationCache(const void* data, size_t length) noexcept override {
    written.emplace_back(static_cast<const char*>(data), length);
  }

  int32_t batch_size = 1;
  std::vector<Floats> batches;
  size_t next = 0;
  std::string cache;
  std::vector<std::string> written;
};
using Calibrator = CalibratorOf<IInt8EntropyCalibrator2>;
using MinMaxCalibrator = CalibratorOf<IInt8MinMaxCalibrator>;

struct LegacyCalibrator : CalibratorOf<IInt8LegacyCalibrator> {
  double getQuantile() const noexcept override { return quantile; }
  double getRegressionCutoff() const noexcept override { return 1; }
  const void* readHistogramCache(size_t&) noexcept override { return nullptr; }
  void writeHistogramCache(const void*, size_t) noexcept override {}
  double quantile = 1;
};

// Four numbers pass through a convolution by one, whose weight is exact in int8: what comes out is
// what the range of x makes of them.
struct Rounded : Session {
  IConvolutionLayer* layer = nullptr;
  Rounded() {
    ITensor& x = input("x", {1, 1, 2, 2});
    layer = network->addConvolutionNd(x, 1, dims({1, 1}), weights(one_), kNone);
    layer->setName("conv");
    config->setFlag(BuilderFlag::kINT8);
    EXPECT_TRUE(set_target(*config, "cpu"));
  }
  ITensor& x() { return *network->getInput(0); }
  Floats result() { return run_floats(*this, *layer->getOutput(0), {{0.3f, 1.6f, -70, 300}}, 4); }
  std::string error() {
    network->markOutput(*layer->getOutput(0));
    EXPECT_EQ(build(), nullptr);
    return logger.take_errors();
  }

 private:
  std::vector<float> one_{1};
};
const Floats kInFloat{0.3f, 1.6f, -70, 300};
const Floats kRounded{0, 2, -70, 127};

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

TEST(DynamicRanges, MakeLayersRunInInt8) {
  Rounded s;
  EXPECT_TRUE(s.x().setDynamicRange(-127, 10));
  EXPECT_EQ(s.result(), kRounded);
  EXPECT_EQ(s.logger.take_warnings(), "");
}

TEST(DynamicRanges, ChangeNothingWithoutTheFlag) {
  Rounded s;
  s.config->clearFlag(BuilderFlag::kINT8);
  EXPECT_TRUE(s.x().setDynamicRange(-127, 127));
  EXPECT_EQ(s.result(), kInFloat);
}

TEST(DynamicRanges, MayNotBeEmpty) {
  Rounded s;
  EXPECT_TRUE(s.x().setDynamicRange(0, 0));
  EXPECT_THAT(s.error(), HasSubstr("tensor 'x': its dynamic range [0, 0] is empty"));
}

TEST(Int8, PrecisionsOfLayersAreFollowed) {
  {
    Rounded s;
    EXPECT_TRUE(s.x().setDynamicRange(-127, 127));
    s.layer->setPrecision(DataType::kFLOAT);
    EXPECT_EQ(s.result(), kInFloat);
  }
  Rounded s;
  EXPECT_TRUE(s.x().setDynamicRange(-127, 127));
  s.config->setFlag(BuilderFlag::kOBEY_PRECISION_CONSTRAINTS);
  s.layer->setPrecision(DataType::kINT8);
  s.layer->setOutputType(0, DataType::kINT8);
  EXPECT_EQ(s.result(), kRounded);
}

TEST(Int8, WhatMustBeAndCannotIsAnError) {
  Rounded s;
  EXPECT_TRUE(s.layer->getOutput(0)->setDynamicRange(-127, 127));
  s.layer->setPrecision(DataType::kINT8);
  s.config->setFlag(BuilderFlag::kOBEY_PRECISION_CONSTRAINTS);
  EXPECT_THAT(s.error(), AllOf(HasSubstr("conv"), HasSubstr("must run in int8"),
                               HasSubstr("its input 'x' has no range")));
  s.config->clearFlag(BuilderFlag::kOBEY_PRECISION_CONSTRAINTS);
  s.config->setFlag(BuilderFlag::kPREFER_PRECISION_CONSTRAINTS);
  EXPECT_NE(s.build(), nullptr);
  EXPECT_THAT(s.logger.take_warnings(), HasSubstr("was to run in int8 and stays in float"));
}

TEST(Calibrators, FindRangesFromBatches) {
  Rounded s;
  MinMaxCalibrator calibrator;
  calibrator.batches = {{1, 2, 3, 4}, {-127, 0, 0, 0}, {5, 5, 5, 5}};
  s.config->setInt8Calibrator(&calibrator);
  EXPECT_EQ(s.result(), kRounded);
  EXPECT_EQ(s.logger.take_warnings(), "");
  EXPECT_EQ(calibrator.next, 3);
  EXPECT_THAT(calibrator.written,
              ElementsAre(header("MinMaxCalibration") + "result: 3f800000\nx: 3f800000\n"));
}

TEST(Calibrators, WithACacheAreNotAskedForBatches) {
  Rounded s;
  Calibrator calibrator;
  calibrator.cache = "TRT-8601-EntropyCalibration2\nx: 3f800000\nother: 3f800000\n";
  s.config->setInt8Calibrator(&calibrator);
  EXPECT_EQ(s.result(), kRounded);
  EXPECT_EQ(s.logger.take_warnings(), "");
  EXPECT_EQ(calibrator.next, 0);
  EXPECT_TRUE(calibrator.written.empty());
}

TEST(Calibrators, ThatLackTensorsOrAreOfAnotherKindWarn) {
  Rounded s;
  MinMaxCalibrator calibrator;
  calibrator.batches = {{1, 2, 3, 4}};
  calibrator.cache = "TRT-8601-EntropyCalibration2\nother: 3f800000\n";
  s.config->setInt8Calibrator(&calibrator);
  EXPECT_EQ(s.result(), kInFloat);
  EXPECT_THAT(s.logger.take_warnings(),
              AllOf(HasSubstr("is of EntropyCalibration2, and the calibrator of MinMaxCalibration"),
                    HasSubstr("1 tensors have no range, and layers that read them stay in float: "
                              "'x'")));
  EXPECT_EQ(calibrator.next, 0);
}

TEST(Calibrators, GiveWayToDynamicRanges) {
  Rounded s;
  Calibrator calibrator;
  calibrator.cache = "TRT-8601-EntropyCalibration2\nx: 41200000\n";
  s.config->setInt8Calibrator(&calibrator);
  EXPECT_TRUE(s.x().setDynamicRange(-127, 127));
  EXPECT_EQ(s.result(), kRounded);
}

TEST(Calibrators, OfTheLegacyKindHaveAQuantile) {
  Rounded s;
  LegacyCalibrator calibrator;
  calibrator.quantile = 0.75;
  calibrator.batches = {{127, -127, 127, 1000}};
  s.config->setInt8Calibrator(&calibrator);
  s.network->markOutput(*s.layer->getOutput(0));
  EXPECT_NE(s.build(), nullptr);
  ASSERT_EQ(calibrator.written.size(), 1);
  EXPECT_THAT(calibrator.written[0], HasSubstr("-LegacyCalibration\n"));
  calibrator.quantile = 1.5;
  calibrator.next = 0;
  EXPECT_EQ(s.build(), nullptr);
  EXPECT_THAT(s.logger.take_errors(), HasSubstr("must lie between 0 and 1"));
}

TEST(Calibrators, SearchAsTheConfigurationSays) {
  const auto found = [](CalibrationSearch search, double share) {
    Rounded s;
    Calibrator calibrator;
    calibrator.batches = {{127, -127, 127, 1000}};
    s.config->setInt8Calibrator(&calibrator);
    EXPECT_TRUE(set_calibration_search(*s.config, search, share));
    s.network->markOutput(*s.layer->getOutput(0));
    EXPECT_NE(s.build(), nullptr);
    EXPECT_EQ(calibrator.written.size(), 1);
    return calibrator.written.empty() ? "" : calibrator.written[0];
  };
  // 1000 / 127, and about 127.
  EXPECT_THAT(found(CalibrationSearch::kPercentile, 1), HasSubstr("x: 40fbf7f0"));
  EXPECT_THAT(found(CalibrationSearch::kPercentile, 0.75), HasSubstr("x: 3f8"));
  EXPECT_THAT(found(CalibrationSearch::kMeanSquaredError, 1), HasSubstr("x: 40"));
  Rounded s;
  EXPECT_FALSE(set_calibration_search(*s.config, CalibrationSearch::kPercentile, 0));
  EXPECT_THAT(s.logger.take_errors(), HasSubstr("the share 0 of values"));
  EXPECT_FALSE(set_calibration_search(*s.config, static_cast<CalibrationSearch>(7), 1));
  EXPECT_THAT(s.logger.take_errors(), HasSubstr("there is no calibration search 7"));
}

TEST(Calibrators, ThatAreWrongAreErrors) {
  const auto error_with = [](const auto& change) {
    Rounded s;
    Calibrator calibrator;
    calibrator.batches = {{1, 2, 3, 4}};
    change(calibrator);
    s.config->setInt8Calibrator(&calibrator);
    const std::string error = s.error();
    EXPECT_TRUE(calibrator.written.empty());
    return error;
  };
  EXPECT_THAT(error_with([](auto& c) { c.batches.clear(); }), HasSubstr("gave no batch"));
  EXPECT_THAT(error_with([](auto& c) { c.batch_size = 0; }), HasSubstr("getBatchSize() gave 0"));
  EXPECT_THAT(error_with([](auto& c) { c.batches[0] = Floats(); }),
              HasSubstr("gave no address for input 'x' in batch 0"));
  EXPECT_THAT(error_with([](auto& c) { c.batches[0][2] = NAN; }),
              HasSubstr("tensor 'x' holds NaN or infinity in batch 0"));
  EXPECT_THAT(error_with([](auto& c) { c.cache = "ranges"; }),
              HasSubstr("does not begin with a line like"));
}

TEST(Calibrators, UseTheCalibrationProfile) {
  Session s;
  ITensor& x = s.input("x", {-1, 1, 2, 2});
  const std::vector<float> one{1};
  auto* layer = s.network->addConvolutionNd(x, 1, dims({1, 1}), weights(one), kNone);
  s.network->markOutput(*layer->getOutput(0));
  s.config->setFlag(BuilderFlag::kINT8);
  for (const int batch : {3, 2}) {
    IOptimizationProfile* profile = s.builder->createOptimizationProfile();
    for (const auto selector :
         {OptProfileSelector::kMIN, OptProfileSelector::kOPT, OptProfileSelector::kMAX})
      profile->setDimensions("x", selector, dims({batch, 1, 2, 2}));
    if (batch == 3)
      s.config->addOptimizationProfile(profile);
    else
      s.config->setCalibrationProfile(profile);
  }
  MinMaxCalibrator calibrator;
  calibrator.batches = {{1, 2, 3, 4, 5, 6, 7, 127}};
  s.config->setInt8Calibrator(&calibrator);
  EXPECT_NE(s.build(), nullptr);
  EXPECT_EQ(s.logger.take_errors(), "");
  ASSERT_EQ(calibrator.written.size(), 1);
  EXPECT_THAT(calibrator.written[0], HasSubstr("x: 3f800000\n"));
}

TEST(Calibrators, AreNotAskedWhereTheNetworkHasScales) {
  Session s;
  s.config->setFlag(BuilderFlag::kINT8);
  Calibrator calibrator;
  s.config->setInt8Calibrator(&calibrator);
  ITensor& scale = constant(s, {}, {0.5f});
  ITensor& q = *s.network->addQuantize(s.input("x", {4}), scale, DataType::kINT8)->getOutput(0);
  s.network->markOutput(*s.network->addDequantize(q, scale, DataType::kFLOAT)->getOutput(0));
  EXPECT_NE(s.build(), nullptr);
  EXPECT_THAT(s.logger.take_warnings(), HasSubstr("the INT8 calibrator is not used"));
}

TEST(Calibrators, ReportProgressAndCanBeCancelled) {
  struct Monitor final : IProgressMonitor {
    void phaseStart(const char* phase, const char*, int32_t) noexcept override {
      phases.emplace_back(phase);
    }
    bool stepComplete(const char* phase, int32_t) noexcept override { return phase != cancelled; }
    void phaseFinish(const char*) noexcept override {}
    std::vector<std::string> phases;
    std::string cancelled;
  } monitor;
  Rounded s;
  Calibrator calibrator;
  calibrator.batches = {{1, 2, 3, 4}};
  s.config->setInt8Calibrator(&calibrator);
  s.config->setProgressMonitor(&monitor);
  monitor.cancelled = "Calibrating";
  EXPECT_THAT(s.error(), HasSubstr("cancelled"));
  EXPECT_THAT(monitor.phases, ElementsAre("Calibrating"));
  EXPECT_TRUE(calibrator.written.empty());
}

}  // namespace
}  // namespace tenon::testing
