#include "npz.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "error.h"
#include "tenon_source_dir.h"

namespace tenon::tool {
namespace {

using nvinfer1::DataType;

TEST(Npz, RoundTripsEveryType) {
  const std::string path = ::testing::TempDir() + "/types.npz";
  Arrays arrays;
  for (DataType type : {DataType::kFLOAT, DataType::kHALF, DataType::kINT8, DataType::kINT32,
                        DataType::kBOOL, DataType::kUINT8, DataType::kINT64}) {
    Array a = make_array(type, {2, 3});
    for (size_t i = 0; i < a.bytes.size(); ++i) a.bytes[i] = static_cast<std::byte>(i % 2);
    arrays[std::string("in:") + std::string(type_name(type))] = a;
  }
  arrays["scalar"] = make_array(DataType::kFLOAT, {});
  arrays["empty"] = make_array(DataType::kFLOAT, {0, 4});
  write_npz(path, arrays);
  const Arrays again = read_npz(path);
  ASSERT_EQ(again.size(), arrays.size());
  for (const auto& [name, a] : arrays) {
    EXPECT_EQ(again.at(name).type, a.type) << name;
    EXPECT_EQ(again.at(name).shape, a.shape) << name;
    EXPECT_EQ(again.at(name).bytes, a.bytes) << name;
  }
}

TEST(Npz, ReadsWhatNumPyWrote) {
  const Arrays arrays = read_npz(TENON_SOURCE_DIR "/test/golden/srcnn/case_320x200_to_961x599.npz");
  EXPECT_EQ(arrays.at("in:input").shape, (std::vector<int64_t>{1, 3, 320, 200}));
  EXPECT_EQ(arrays.at("shape:output").type, DataType::kINT64);
}

TEST(Convert, KeepsTheNearestOrRefuses) {
  Array a = make_array(DataType::kFLOAT, {2, 2});
  a.as<float>()[3] = 1.f + 0x1p-9f;  // halfway between two bfloat16 is 2^-8, so this rounds down
  EXPECT_EQ(convert(a, DataType::kBF16).as<uint16_t>()[3], 0x3f80);
  a.as<float>()[3] = std::bit_cast<float>(0x7fffffff);  // a NaN whose rounding overflows
  EXPECT_TRUE(std::isnan(numbers(convert(a, DataType::kBF16))[3]));
  const auto refused = [&](float value, DataType type) {
    a.as<float>()[3] = value;
    try {
      convert(a, type, "input 'x'");
      return false;
    } catch (const Failure& e) {
      EXPECT_THAT(e.what(), ::testing::HasSubstr("input 'x': element [1, 1] is "));
      return true;
    }
  };
  EXPECT_FALSE(refused(-0x1p31f, DataType::kINT32));
  EXPECT_TRUE(refused(0x1p31f, DataType::kINT32));
  EXPECT_FALSE(refused(-0x1p63f, DataType::kINT64));
  EXPECT_TRUE(refused(0x1p63f, DataType::kINT64));
  EXPECT_TRUE(refused(0.5f, DataType::kINT8));
  EXPECT_TRUE(refused(128, DataType::kINT8));
  EXPECT_TRUE(refused(0x1.ffffp127f, DataType::kBF16));
  EXPECT_FALSE(refused(INFINITY, DataType::kHALF));
  EXPECT_TRUE(refused(65520, DataType::kHALF));
}

TEST(Npz, RefusesWhatIsNotOne) {
  const std::string path = ::testing::TempDir() + "/bad.npz";
  const auto error_of = [&](const std::string& content) -> std::string {
    write_file(path, content.data(), content.size());
    try {
      read_npz(path);
      return "";
    } catch (const Failure& e) {
      return e.what();
    }
  };
  EXPECT_THAT(error_of(""), ::testing::HasSubstr("bad.npz"));
  EXPECT_THAT(error_of("not a zip file at all"), ::testing::HasSubstr("is not an .npz file"));
  EXPECT_THROW(read_npz(::testing::TempDir()), Failure);
  EXPECT_THROW(read_npz(path + ".absent"), Failure);
}

TEST(Npz, SurvivesEveryDamagedByte) {
  const std::string path = ::testing::TempDir() + "/damage.npz";
  Arrays arrays;
  arrays["a"] = make_array(DataType::kFLOAT, {4});
  write_npz(path, arrays);
  const auto good = read_file(path);
  for (size_t i = 0; i < good.size(); ++i) {
    auto bad = good;
    bad[i] ^= std::byte{0x21};
    write_file(path, bad.data(), bad.size());
    try {
      read_npz(path);  // may succeed where the byte does not matter
    } catch (const Failure&) {}
  }
}

TEST(WriteFile, LeavesNothingWhenItCannot) {
  EXPECT_THROW(write_file("/nonexistent/folder/x.npz", "x", 1), Failure);
  EXPECT_THROW(write_file(::testing::TempDir(), "x", 1), Failure);
}

}  // namespace
}  // namespace tenon::tool
