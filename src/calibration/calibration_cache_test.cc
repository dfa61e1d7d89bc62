#include "calibration/calibration_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>

#include "base/error.h"

namespace tenon {
namespace {

using nvinfer1::CalibrationAlgoType;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

std::string error_of(std::string_view text) {
  try {
    read_calibration_cache(text);
    return "";
  } catch (const Error& e) {
    return e.what();
  }
}

TEST(CalibrationCache, IsReadAsTensorRTWritesIt) {
  const auto cache = read_calibration_cache(
      "TRT-8601-EntropyCalibration2\n"
      "images: 3c010204\n"
      "(Unnamed Layer* 0) [Convolution]_output: 4000890a\r\n"
      "a: b:c: 3f800000\n"
      "dead: 0");
  EXPECT_EQ(cache.kind, CalibrationAlgoType::kENTROPY_CALIBRATION_2);
  EXPECT_EQ(cache.version, "8601");
  EXPECT_THAT(cache.scales, ElementsAre(Pair("images", 1.0f / 127),
                                        Pair("(Unnamed Layer* 0) [Convolution]_output",
                                             std::bit_cast<float>(0x4000890au)),
                                        Pair("a: b:c", 1.0f)));
  EXPECT_THAT(cache.without_scale, ElementsAre("dead"));
}

TEST(CalibrationCache, KnowsAllKindsAndAnyVersion) {
  for (const auto& [line, kind] :
       {std::pair("TRT-8601-EntropyCalibration", CalibrationAlgoType::kENTROPY_CALIBRATION),
        std::pair("TRT-10.3.0-MinMaxCalibration", CalibrationAlgoType::kMINMAX_CALIBRATION),
        std::pair("TRT-next-LegacyCalibration", CalibrationAlgoType::kLEGACY_CALIBRATION),
        std::pair("TRT-5105-EntropyCalibration2", CalibrationAlgoType::kENTROPY_CALIBRATION_2)})
    EXPECT_EQ(read_calibration_cache(line).kind, kind);
}

TEST(CalibrationCache, IsWrittenAsItIsRead) {
  const std::string text =
      "TRT-101600-MinMaxCalibration\nx y: 3c010204\n: z: 00000001\nnone: 00000000\n";
  EXPECT_EQ(write_calibration_cache(read_calibration_cache(text)), text);
}

TEST(CalibrationCache, SaysWhatIsWrong) {
  EXPECT_THAT(error_of(""), HasSubstr("does not begin with a line like"));
  EXPECT_THAT(error_of("TRT-EntropyCalibration2\n"), HasSubstr("but with \"TRT-EntropyCal"));
  EXPECT_THAT(error_of("TRT-8601-OtherCalibration\n"), HasSubstr("does not begin"));
  EXPECT_THAT(error_of(std::string(2000, '\1')), HasSubstr("????…"));
  const std::string first = "TRT-8601-EntropyCalibration2\n";
  for (const char* line : {"x", "x:3c010204", ": 3c010204", "x: ", "x: 3c01020g", "x: 0x3c010204",
                           "x: 13c010204", "x: -1", "x: 3c010204 "})
    EXPECT_THAT(error_of(first + line), HasSubstr("line 2 of the calibration cache is not"))
        << line;
  EXPECT_THAT(error_of(first + "x: 3c010204\ny: 7f800000"),
              HasSubstr("line 3 of the calibration cache gives 'y' the scale inf"));
  EXPECT_THAT(error_of(first + "y: 7fc00000"), HasSubstr("the scale nan"));
  EXPECT_THAT(error_of(first + "y: bf800000"), HasSubstr("the scale -1"));
  EXPECT_THAT(error_of(first + "y: 3f800000\nx: 1\ny: 3f800000"),
              HasSubstr("lines 2 and 4 of the calibration cache are both of tensor 'y'"));
}

}  // namespace
}  // namespace tenon
