#include "base/low_precision.h"

#include <gmock/gmock.h>

#include <cmath>
#include <vector>

namespace tenon {
namespace {

using ::testing::ElementsAre;

std::vector<float> through(DataType type, const std::vector<float>& values,
                           const LowPrecisionRules& rules = {}) {
  const auto count = static_cast<int64_t>(values.size());
  std::vector<uint8_t> bytes(bytes_of(type, count));
  write_low_precision(type, values.data(), 0, count, bytes.data(), rules);
  std::vector<float> back(values.size());
  read_low_precision(type, bytes.data(), 0, count, back.data());
  return back;
}

// Every code is a fixed point, so all numbers of a type survive.
TEST(LowPrecision, EveryCodeComesBack) {
  for (DataType type : {DataType::kFP8, DataType::kE8M0, DataType::kFP4, DataType::kINT4}) {
    std::vector<uint8_t> bytes(256);
    for (size_t i = 0; i < 256; ++i) bytes[i] = static_cast<uint8_t>(i);
    const int64_t count = 256 * 8 / bits_of(type);
    std::vector<float> values(static_cast<size_t>(count));
    read_low_precision(type, bytes.data(), 0, count, values.data());
    std::vector<uint8_t> back(256);
    write_low_precision(type, values.data(), 0, count, back.data());
    EXPECT_EQ(back, bytes) << name_of(type);
  }
}

// Values of OCP's formats as ml_dtypes gives them.
TEST(LowPrecision, Float8RoundsToEvenAndSaturates) {
  EXPECT_THAT(through(DataType::kFP8, {0.46f, 17, 19, 449, 464, 465, -1e6f, 0x1p-9f, 0x1p-10f}),
              ElementsAre(0.46875f, 16, 20, 448, 448, 448, -448, 0x1p-9f, 0));
  const auto plain = through(DataType::kFP8, {464, 465, INFINITY}, {.saturate = false});
  EXPECT_EQ(plain[0], 448);
  EXPECT_TRUE(std::isnan(plain[1]) && std::isnan(plain[2]));
  EXPECT_TRUE(std::isnan(through(DataType::kFP8, {NAN})[0]));
}

TEST(LowPrecision, FourBits) {
  EXPECT_THAT(through(DataType::kFP4, {0.25f, 0.75f, 1.25f, 2.5f, 3.5f, 5, 5.1f, 9, -INFINITY}),
              ElementsAre(0, 1, 1, 2, 4, 4, 6, 6, -6));
  EXPECT_THAT(through(DataType::kINT4, {-9, -8.7f, 7.9f, 8, NAN}), ElementsAre(7, -8, 7, -8, 0));
}

TEST(LowPrecision, PowersOfTwo) {
  const std::vector<float> x{0, 1.1f, 1.5f, 1.75f, 0x1p-127f, 0x1.8p-127f, 0x1.8p127f};
  EXPECT_THAT(through(DataType::kE8M0, x),
              ElementsAre(0x1p-127f, 2, 2, 2, 0x1p-127f, 0x1p-126f, 0x1p127f));
  EXPECT_THAT(through(DataType::kE8M0, x, {.power_rounding = PowerRounding::kDown}),
              ElementsAre(0x1p-127f, 1, 1, 1, 0x1p-127f, 0x1p-127f, 0x1p127f));
  EXPECT_THAT(through(DataType::kE8M0, x, {.power_rounding = PowerRounding::kNearest}),
              ElementsAre(0x1p-127f, 1, 2, 2, 0x1p-127f, 0x1p-126f, 0x1p127f));
  EXPECT_TRUE(std::isnan(through(DataType::kE8M0, {-1})[0]));
}

}  // namespace
}  // namespace tenon
