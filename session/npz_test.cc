#include "tenon/session/npz.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "guard.h"
#include "read_file.h"
#include "tenon_source_dir.h"

namespace tenon::session {
namespace {

using nvinfer1::DataType;

Array zeros(DataType type, const Shape& shape) {
  return value_of(make_array(type, shape));
}

TEST(Npz, RoundTripsEveryType) {
  const std::string path = ::testing::TempDir() + "/types.npz";
  Arrays arrays;
  for (DataType type : {DataType::kFLOAT, DataType::kHALF, DataType::kINT8, DataType::kINT32,
                        DataType::kBOOL, DataType::kUINT8, DataType::kINT64}) {
    Array a = zeros(type, {2, 3});
    for (size_t i = 0; i < a.bytes.size(); ++i) a.bytes[i] = static_cast<std::byte>(i % 2);
    arrays["in:" + type_name(type)] = a;
  }
  arrays["scalar"] = zeros(DataType::kFLOAT, {});
  arrays["empty"] = zeros(DataType::kFLOAT, {0, 4});
  value_of(write_npz(path, arrays));
  const Arrays again = value_of(read_npz(path));
  ASSERT_EQ(again.size(), arrays.size());
  for (const auto& [name, a] : arrays) {
    EXPECT_EQ(again.at(name).type, a.type) << name;
    EXPECT_EQ(again.at(name).shape, a.shape) << name;
    EXPECT_EQ(again.at(name).bytes, a.bytes) << name;
  }
}

TEST(Npz, ReadsWhatNumPyWrote) {
  const Arrays arrays =
      value_of(read_npz(TENON_SOURCE_DIR "/test/golden/srcnn/case_320x200_to_961x599.npz"));
  EXPECT_EQ(arrays.at("in:input").shape, (std::vector<int64_t>{1, 3, 320, 200}));
  EXPECT_EQ(arrays.at("shape:output").type, DataType::kINT64);
}

TEST(Npz, RefusesWhatIsNotOne) {
  const std::string path = ::testing::TempDir() + "/bad.npz";
  const auto error_of = [&](const std::string& content) -> std::string {
    std::ofstream(path, std::ios::binary) << content;
    return read_npz(path).error();
  };
  EXPECT_THAT(error_of(""), ::testing::HasSubstr("bad.npz"));
  EXPECT_THAT(error_of("not a zip file at all"), ::testing::HasSubstr("is not an .npz file"));
  EXPECT_FALSE(read_npz(::testing::TempDir()));
  EXPECT_THAT(read_npz(path + ".absent").error(), ::testing::HasSubstr("bad.npz.absent"));
}

TEST(Npz, SurvivesEveryDamagedByte) {
  const std::string path = ::testing::TempDir() + "/damage.npz";
  Arrays arrays;
  arrays["a"] = zeros(DataType::kFLOAT, {4});
  value_of(write_npz(path, arrays));
  const auto good = read_file(path);
  for (size_t i = 0; i < good.size(); ++i) {
    auto bad = good;
    bad[i] ^= std::byte{0x21};
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(bad.data()), static_cast<std::streamsize>(bad.size()));
    (void)read_npz(path);  // may succeed where the byte does not matter
  }
}

}  // namespace
}  // namespace tenon::session
