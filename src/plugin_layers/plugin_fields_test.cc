#include "plugin_layers/plugin_fields.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace tenon {
namespace {

TEST(PluginFields, DamagedBytesAreAnError) {
  const int64_t numbers[] = {1, 2};
  const nvinfer1::PluginField field("numbers", numbers, nvinfer1::PluginFieldType::kINT64, 2);
  const nvinfer1::PluginFieldCollection all{1, &field};
  const std::string bytes = flatten_fields(&all);
  const StoredFields back(bytes);
  ASSERT_EQ(back.collection().nbFields, 1);
  EXPECT_STREQ(back.collection().fields[0].name, "numbers");
  EXPECT_EQ(static_cast<const int64_t*>(back.collection().fields[0].data)[1], 2);
  for (size_t length = 0; length < bytes.size(); ++length)
    EXPECT_THROW(StoredFields(bytes.substr(0, length)), Error) << length;
  for (size_t i = 0; i < bytes.size(); ++i) {  // any byte: an error or other values, never a crash
    std::string damaged = bytes;
    damaged[i] = static_cast<char>(damaged[i] ^ 0x80);
    try {
      const StoredFields survivor(damaged);
    } catch (const Error&) {}
  }
  EXPECT_THROW(StoredFields(bytes + "x"), Error);
  const nvinfer1::PluginField bad("bad", nullptr, nvinfer1::PluginFieldType::kINT32, 3);
  const nvinfer1::PluginFieldCollection bad_list{1, &bad};
  EXPECT_THROW(flatten_fields(&bad_list), Error);
}

}  // namespace
}  // namespace tenon
