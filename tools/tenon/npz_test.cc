#include "npz.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "error.h"
#include "tenon_source_dir.h"

namespace tenon::tool {
namespace {

using nvinfer1::DataType;

Array zeros(DataType type, const session::Shape& shape) {
  return value_or_fail(session::make_array(type, shape));
}

TEST(Npz, RoundTripsEveryType) {
  const std::string path = ::testing::TempDir() + "/types.npz";
  Arrays arrays;
  for (DataType type : {DataType::kFLOAT, DataType::kHALF, DataType::kINT8, DataType::kINT32,
                        DataType::kBOOL, DataType::kUINT8, DataType::kINT64}) {
    Array a = zeros(type, {2, 3});
    for (size_t i = 0; i < a.bytes.size(); ++i) a.bytes[i] = static_cast<std::byte>(i % 2);
    arrays["in:" + session::type_name(type)] = a;
  }
  arrays["scalar"] = zeros(DataType::kFLOAT, {});
  arrays["empty"] = zeros(DataType::kFLOAT, {0, 4});
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
  arrays["a"] = zeros(DataType::kFLOAT, {4});
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
