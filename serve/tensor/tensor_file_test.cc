#include "tenon/serve/tensor_file.h"

#include <gmock/gmock.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>

#include "tenon_source_dir.h"

namespace tenon::serve {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

// float32 of shape (1, 2) with 1 and -2, byte by byte as the format is defined.
constexpr unsigned char kFile[] = {0xE2, 0xE2, 0xCF, 0xFC, 2, 0, 0, 0, 0,    0,    0, 0, 1, 0,
                                   0,    0,    2,    0,    0, 0, 0, 0, 0x80, 0x3F, 0, 0, 0, 0xC0};

std::vector<std::byte> bytes() {
  const auto* const begin = reinterpret_cast<const std::byte*>(kFile);
  return {begin, begin + sizeof kFile};
}

class TensorFile : public ::testing::Test {
 protected:
  fs::path folder_ =
      fs::path(::testing::TempDir()) / ("tenon_tensor_file." + std::to_string(getpid()));
  void SetUp() override { fs::create_directories(folder_); }
  void TearDown() override { fs::remove_all(folder_); }
  std::string path(const char* name) const { return (folder_ / name).string(); }
};

TEST_F(TensorFile, IsReadAsItIsDefined) {
  auto tensor = tensor_of_bytes(bytes());
  ASSERT_TRUE(tensor) << tensor.error();
  EXPECT_EQ(tensor->shape(), (Shape{1, 2}));
  EXPECT_EQ(*tensor->at<float>({0, 0}), 1.0F);
  EXPECT_EQ(*tensor->at<float>({0, 1}), -2.0F);
  ASSERT_TRUE(save_to_file(*tensor, path("a.tensor")));
  EXPECT_EQ(fs::file_size(path("a.tensor")), sizeof kFile);
  auto again = load_from_file(path("a.tensor"));
  ASSERT_TRUE(again) << again.error();
  EXPECT_EQ(*again->at<float>({0, 1}), -2.0F);
}

TEST_F(TensorFile, HasEveryTypeOfWholeBytes) {
  for (const DataType type : {DataType::kHALF, DataType::kINT32, DataType::kUINT8, DataType::kINT8,
                              DataType::kINT64, DataType::kBOOL, DataType::kBF16}) {
    Tensor tensor(Shape{3}, type);
    ASSERT_TRUE(tensor.set_to(1));
    ASSERT_TRUE(save_to_file(tensor, path("t")));
    auto again = load_from_file(path("t"));
    ASSERT_TRUE(again) << again.error();
    EXPECT_EQ(again->type(), type);
    EXPECT_EQ(again->to_array()->bytes, tensor.to_array()->bytes);
  }
  Tensor half_bytes(Shape{3}, DataType::kINT4);
  EXPECT_THAT(save_to_file(half_bytes, path("t")).error(), HasSubstr("has no file format"));
}

// The files are NumPy's: see make_goldens.py.
TEST_F(TensorFile, OfNumPyAreReadAndWrittenAgain) {
  const auto content = [](const fs::path& file) {
    std::ifstream stream(file, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(stream), {});
  };
  const fs::path goldens = TENON_SOURCE_DIR "/serve/tensor/goldens";
  const std::map<std::string, DataType> types{
      {"bfloat16", DataType::kBF16},     {"bool", DataType::kBOOL},
      {"float16", DataType::kHALF},      {"float32", DataType::kFLOAT},
      {"float8_e4m3fn", DataType::kFP8}, {"float8_e8m0fnu", DataType::kE8M0},
      {"int32", DataType::kINT32},       {"int64", DataType::kINT64},
      {"int8", DataType::kINT8},         {"uint8", DataType::kUINT8}};
  for (const auto& [name, type] : types) {
    const fs::path golden = goldens / (name + ".tensor");
    auto tensor = load_from_file(golden.string());
    ASSERT_TRUE(tensor) << tensor.error();
    EXPECT_EQ(tensor->type(), type) << name;
    EXPECT_EQ(tensor->shape(), (Shape{2, 3})) << name;
    ASSERT_TRUE(save_to_file(*tensor, path("again")));
    EXPECT_EQ(content(path("again")), content(golden)) << name;
    if (type == DataType::kFP8 || type == DataType::kE8M0) continue;  // which none here converts
    ASSERT_TRUE(tensor->to_float()) << name;
    for (int i = 0; i < 6; ++i)
      EXPECT_EQ(*tensor->at<float>({i / 3, i % 3}), type == DataType::kBOOL ? i > 0 : i) << name;
  }
}

TEST_F(TensorFile, WhatIsNoneIsAnError) {
  EXPECT_THAT(load_from_file(path("nowhere")).error(), HasSubstr("nowhere: cannot be read"));
  EXPECT_THAT(load_from_file(folder_.string()).error(), HasSubstr("cannot be read"));
  Tensor tensor(Shape{1});
  EXPECT_THAT(save_to_file(tensor, path("no/such/folder")).error(), HasSubstr("no/such/folder"));
  for (size_t length = 0; length < sizeof kFile; ++length) {
    auto part = bytes();
    part.resize(length);
    EXPECT_FALSE(tensor_of_bytes(part)) << length;
  }
  const auto changed = [](size_t at, unsigned char value) {
    auto file = bytes();
    file[at] = std::byte{value};
    return tensor_of_bytes(file).error();
  };
  EXPECT_THAT(changed(0, 0), HasSubstr("no tensor"));
  EXPECT_THAT(changed(4, 9), HasSubstr("9 dimensions"));
  EXPECT_THAT(changed(8, 4), HasSubstr("there is no type 4"));
  EXPECT_THAT(changed(15, 0x80), HasSubstr("negative"));
  EXPECT_THAT(changed(12, 2), HasSubstr("takes 16 bytes, and 8 are there"));
  EXPECT_EQ(changed(9, 1), "");  // float32 by TensorRT's number
}

}  // namespace
}  // namespace tenon::serve
