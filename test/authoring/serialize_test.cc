// MMDeploy's serialisation: sizes, order, and bytes that end too early.
#include <gtest/gtest.h>

#include <string>

#include "trt_serialize.hpp"

namespace {

enum class Mode : int16_t { kOne = 1 };
struct Pair {
  int a;
  float b;
};

TEST(SerializeTest, GivesBackWhatItTook) {
  const std::vector<int> list{3, 4, 5};
  const Pair pair{7, 0.5f};
  const size_t size = serialized_size(true) + serialized_size(Mode::kOne) + serialized_size(list)
                      + serialized_size("text") + serialized_size(pair);
  EXPECT_EQ(size, 1 + 2 + (8 + 12) + 5 + sizeof(Pair));
  std::string bytes(size, 0);
  void* to = bytes.data();
  serialize_value(&to, true);
  serialize_value(&to, Mode::kOne);
  serialize_value(&to, list);
  serialize_value(&to, "text");
  serialize_value(&to, pair);
  EXPECT_EQ(to, bytes.data() + size);

  const void* from = bytes.data();
  size_t left = size;
  bool flag = false;
  Mode mode{};
  std::vector<int> same_list;
  const char* text = nullptr;
  Pair same_pair{};
  deserialize_value(&from, &left, &flag);
  deserialize_value(&from, &left, &mode);
  deserialize_value(&from, &left, &same_list);
  deserialize_value(&from, &left, &text);
  deserialize_value(&from, &left, &same_pair);
  EXPECT_EQ(left, 0u);
  EXPECT_TRUE(flag);
  EXPECT_EQ(mode, Mode::kOne);
  EXPECT_EQ(same_list, list);
  EXPECT_STREQ(text, "text");
  EXPECT_EQ(same_pair.a, 7);
  EXPECT_EQ(same_pair.b, 0.5f);
}

TEST(SerializeTest, RefusesBytesThatEndTooEarly) {
  const std::string bytes("\xff\xff\xff\xff\xff\xff\xff\x7f no terminator");
  const void* from = bytes.data();
  size_t left = bytes.size();
  std::vector<int> list;
  EXPECT_THROW(deserialize_value(&from, &left, &list), std::out_of_range);
  left = 3;
  int value = 0;
  EXPECT_THROW(deserialize_value(&from, &left, &value), std::out_of_range);
  const char* text = nullptr;
  EXPECT_THROW(deserialize_value(&from, &left, &text), std::out_of_range);
}

}  // namespace
