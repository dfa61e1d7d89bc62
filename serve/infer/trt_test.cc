#include "tenon/serve/trt.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <tenon/session/npz.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "test_models.h"

namespace tenon::serve {
namespace {

using ::testing::HasSubstr;

class TrtTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const std::string name = ::testing::TempDir() + "trt_test." + std::to_string(getpid());
    onnx_ = name + ".onnx";
    plan_ = name + ".plan";
    const std::string model = relu_model(false);
    std::FILE* const file = std::fopen(onnx_.c_str(), "wb");
    ASSERT_NE(file, nullptr);
    std::fwrite(model.data(), 1, model.size(), file);
    std::fclose(file);
  }
  void TearDown() override {
    std::filesystem::remove(onnx_);
    std::filesystem::remove(plan_);
  }

  std::string onnx_, plan_;
};

TEST_F(TrtTest, BuildsLoadsAndRuns) {
  Trt built;
  built.AddDynamicShapeProfile("x", {1, 2, 4}, {2, 2, 4}, {4, 2, 4});
  const auto done = built.BuildEngine(onnx_, plan_);
  ASSERT_TRUE(done) << done.error();
  Trt trt;
  ASSERT_TRUE(trt.DeserializeEngine(plan_));
  EXPECT_EQ(trt.GetNbInputBindings(), 1);
  EXPECT_EQ(trt.GetNbOutputBindings(), 1);
  EXPECT_EQ(trt.GetBindingName(1), "y");
  ASSERT_TRUE(trt.SetBindingDimensions({1, 2, 4}, 0));
  ASSERT_TRUE(trt.CopyFromHostToDevice({-1, 2, -3, 4, 5, 6, 7, -8}, 0));
  ASSERT_TRUE(trt.Forward());
  std::vector<float> y;
  ASSERT_TRUE(trt.CopyFromDeviceToHost(y, 1));
  EXPECT_EQ(y, (std::vector<float>{0, 2, 0, 4, 5, 6, 7, 0}));
  EXPECT_EQ(trt.GetBindingDims(1).nbDims, 3);
  EXPECT_EQ(trt.GetBindingSize(1), 32u);
  EXPECT_NE(trt.GetBindingPtr(1), nullptr);
}

TEST_F(TrtTest, MisuseIsAnError) {
  Trt trt;
  EXPECT_EQ(trt.Forward().error(), "there is no engine: call BuildEngine or DeserializeEngine");
  EXPECT_EQ(trt.GetBindingName(0), "");
  trt.SetCustomOutput({"z"});
  EXPECT_EQ(trt.BuildEngine(onnx_, "").error(), "the network has no tensor 'z' to be an output");
  trt.SetCustomOutput({"y"});
  ASSERT_TRUE(trt.BuildEngine(onnx_, ""));
  EXPECT_EQ(trt.CopyFromHostToDevice({1, 2}, 0).error(), "2 values for binding 'x' of shape 1x2x4");
  EXPECT_EQ(trt.CopyFromHostToDevice({1, 2}, 2).error(), "there is no binding 2 of 2");
  EXPECT_EQ(trt.SetBindingDimensions({1}, 1).error(),
            "binding 1 is an output, whose shape follows");
}

class CalibratedTrt : public TrtTest {
 protected:
  void SetUp() override {
    TrtTest::SetUp();
    std::filesystem::create_directory(folder_);
    trt_.EnableINT8();
    trt_.AddDynamicShapeProfile("x", {1, 2, 4}, {2, 2, 4}, {4, 2, 4});
  }
  void TearDown() override {
    std::filesystem::remove_all(folder_);
    TrtTest::TearDown();
  }

  void add_sample(const std::string& file, const std::string& input, session::Shape shape,
                  float first) const {
    session::Array array = *session::make_array(nvinfer1::DataType::kFLOAT, shape);
    array.as<float>()[0] = first;
    ASSERT_TRUE(session::write_npz(folder_ + "/" + file, {{input, array}}));
  }
  std::string cache() const {
    std::ostringstream text;
    text << std::ifstream(cache_).rdbuf();
    return text.str();
  }
  std::string error_of_build() { return trt_.BuildEngine(onnx_, plan_).error(); }

  const std::string folder_ = ::testing::TempDir() + "trt_samples." + std::to_string(getpid());
  const std::string cache_ = folder_ + "/ranges.cache";
  Trt trt_;
};

TEST_F(CalibratedTrt, SamplesOfAFolderMakeTheCache) {
  add_sample("0.npz", "x", {1, 2, 4}, 0.25f);
  add_sample("1.npz", "x", {2, 4}, 1);    // without the batch's axis
  add_sample("2.npz", "x", {2, 4}, 100);  // no whole batch is left for it
  ASSERT_TRUE(trt_.SetInt8Calibrator("MinMaxCalibrator", 2, folder_, cache_));
  const auto built = trt_.BuildEngine(onnx_, plan_);
  ASSERT_TRUE(built) << built.error();
  EXPECT_THAT(cache(), HasSubstr("-MinMaxCalibration\n"));
  EXPECT_THAT(cache(), HasSubstr("y: 3c010204\n"));  // as TensorRT writes 1/127
  ASSERT_TRUE(trt_.SetBindingDimensions({1, 2, 4}, 0));
  ASSERT_TRUE(trt_.CopyFromHostToDevice({-1, 2, -3, 4, 5, 6, 7, -8}, 0));
  ASSERT_TRUE(trt_.Forward());

  // The cache stands in for the samples.
  for (const char* file : {"0.npz", "1.npz", "2.npz"})
    std::filesystem::remove(folder_ + "/" + file);
  const std::string before = cache();
  EXPECT_EQ(error_of_build(), "");
  EXPECT_EQ(cache(), before);
}

TEST_F(CalibratedTrt, WhatDoesNotFitIsNamedAndLeavesNoFile) {
  EXPECT_THAT(trt_.SetInt8Calibrator("Percentile", 2, folder_, cache_).error(),
              HasSubstr("'Percentile'"));
  ASSERT_TRUE(trt_.SetInt8Calibrator("EntropyCalibratorV2", 2, folder_, cache_));
  EXPECT_THAT(error_of_build(), HasSubstr("holds no .npz file"));
  add_sample("0.npz", "z", {1, 2, 4}, 1);
  EXPECT_THAT(error_of_build(), HasSubstr("0.npz: array 'x', which is an input, is missing"));
  add_sample("0.npz", "x", {3, 2, 4}, 1);
  EXPECT_THAT(error_of_build(), HasSubstr("0.npz: array 'x' has the shape 3x2x4, and a batch"));
  std::ofstream(folder_ + "/0.npz") << "damaged";
  EXPECT_THAT(error_of_build(), HasSubstr("0.npz: is not an .npz file"));
  ASSERT_TRUE(trt_.SetInt8Calibrator("EntropyCalibratorV2", 2, "/no/such/folder", ""));
  EXPECT_THAT(error_of_build(), HasSubstr("/no/such/folder: cannot be read"));
  EXPECT_FALSE(std::filesystem::exists(plan_));
  EXPECT_FALSE(std::filesystem::exists(cache_));
}

}  // namespace
}  // namespace tenon::serve
