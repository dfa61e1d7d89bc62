#include "tenon/session/array.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

namespace tenon::session {
namespace {

using nvinfer1::DataType;

template <class T> Array array_of(DataType type, const std::vector<T>& values) {
  Array array = *make_array(type, {static_cast<int64_t>(values.size())});
  std::memcpy(array.bytes.data(), values.data(), array.bytes.size());
  return array;
}

TEST(Array, IsMadeOfZeros) {
  const auto array = make_array(DataType::kINT32, {2, 3});
  ASSERT_TRUE(array);
  EXPECT_EQ(array->bytes, std::vector<std::byte>(24));
  EXPECT_EQ(make_array(DataType::kFLOAT, {0, 4})->count(), 0);
  EXPECT_EQ(make_array(DataType::kFLOAT, {int64_t{1} << 31, int64_t{1} << 31, 0})->count(), 0);
  EXPECT_EQ(make_array(DataType::kFLOAT, {})->count(), 1);
}

TEST(Array, OfNoSensibleSizeIsAnError) {
  EXPECT_THAT(make_array(DataType::kFLOAT, {2, -1}).error(), ::testing::HasSubstr("negative"));
  EXPECT_THAT(make_array(DataType::kFLOAT, {INT64_MAX, 2}).error(),
              ::testing::HasSubstr("too large"));
  EXPECT_THAT(make_array(DataType::kINT4, {2}).error(), ::testing::HasSubstr("cannot be read"));
}

// A double would round all of these.
TEST(Array, LargeIntegersStayWhatTheyAre) {
  const std::vector<int64_t> values{INT64_MAX, INT64_MAX - 1, INT64_MIN, INT64_MIN + 1,
                                    (int64_t{1} << 53) + 1};
  const Array array = array_of(DataType::kINT64, values);
  EXPECT_EQ(*integers(array), values);
  EXPECT_EQ(*integers(*convert(array, DataType::kINT64)), values);
  EXPECT_EQ(convert(array, DataType::kINT32, "input 'x'").error(),
            "input 'x': element [0] is 9223372036854775807, which int32 cannot hold");
}

TEST(Array, IntegersGoToEveryTypeThatHoldsThem) {
  const Array small = array_of<int64_t>(DataType::kINT64, {0, 1});
  for (const DataType type : {DataType::kFLOAT, DataType::kHALF, DataType::kBF16, DataType::kINT8,
                              DataType::kUINT8, DataType::kBOOL, DataType::kINT32}) {
    const auto converted = convert(small, type);
    ASSERT_TRUE(converted) << converted.error();
    EXPECT_EQ(*numbers(*converted), (std::vector<double>{0, 1})) << type_name(type);
    EXPECT_EQ(*numbers(*convert(*converted, DataType::kINT64)), (std::vector<double>{0, 1}));
  }
  EXPECT_FALSE(convert(array_of<int8_t>(DataType::kINT8, {-1}), DataType::kUINT8));
  EXPECT_FALSE(convert(array_of<int32_t>(DataType::kINT32, {2}), DataType::kBOOL));
  EXPECT_FALSE(convert(array_of<int32_t>(DataType::kINT32, {1 << 20}), DataType::kHALF));
}

TEST(Array, FloatsAreIntegersOnlyWhereTheyAreWhole) {
  const auto as = [](double value, DataType type) {
    return convert(array_of<float>(DataType::kFLOAT, {static_cast<float>(value)}), type, "x");
  };
  EXPECT_EQ(*integers(*as(-0x1p63, DataType::kINT64)), std::vector<int64_t>{INT64_MIN});
  EXPECT_FALSE(as(0x1p63, DataType::kINT64));
  EXPECT_EQ(as(0.5, DataType::kINT32).error(), "x: element [0] is 0.5, which int32 cannot hold");
  EXPECT_FALSE(as(std::numeric_limits<double>::quiet_NaN(), DataType::kINT8));
  EXPECT_EQ(as(1e6, DataType::kHALF).error(),
            "x: element [0] is 1000000, which float16 cannot hold");
  EXPECT_TRUE(as(std::numeric_limits<double>::infinity(), DataType::kHALF));
  EXPECT_FALSE(integers(array_of<float>(DataType::kFLOAT, {1})));
}

TEST(Array, FloatsGoToTheNearestOfASmallerType) {
  Array array = *make_array(DataType::kFLOAT, {2, 2});
  float& last = array.as<float>()[3];
  last = 1.f + 0x1p-9f;  // halfway between two bfloat16 is 2^-8, so this rounds down
  EXPECT_EQ(convert(array, DataType::kBF16)->as<uint16_t>()[3], 0x3f80);
  last = std::bit_cast<float>(0x7fffffff);  // a NaN whose rounding overflows
  EXPECT_TRUE(std::isnan((*numbers(*convert(array, DataType::kBF16)))[3]));
  for (const auto& [value, type] : {std::pair(0x1p31f, DataType::kINT32),
                                    {128.f, DataType::kINT8},
                                    {0x1.ffffp127f, DataType::kBF16},
                                    {65520.f, DataType::kHALF}}) {
    last = value;
    EXPECT_THAT(convert(array, type, "input 'x'").error(),
                ::testing::HasSubstr("input 'x': element [1, 1] is "));
  }
  last = -0x1p31f;
  EXPECT_TRUE(convert(array, DataType::kINT32));
}

TEST(Array, ValuesThatWereRoundedAreNoIntegers) {
  Array array = array_of<float>(DataType::kFLOAT, {1});
  array.was_rounded = true;
  EXPECT_TRUE(convert(array, DataType::kHALF));
  EXPECT_THAT(convert(array, DataType::kINT64).error(), ::testing::HasSubstr("save them as int64"));
}

}  // namespace
}  // namespace tenon::session
