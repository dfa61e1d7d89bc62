#include "onnx_writer.h"

#include <gtest/gtest.h>

namespace tenon::ort {
namespace {

using namespace std::string_literals;

// Examples of protobuf's own description of its encoding.
TEST(Message, WritesNumbersAsVarints) {
  Message message;
  message.number(1, 150);
  EXPECT_EQ(message.text(), "\x08\x96\x01"s);
}

TEST(Message, WritesNegativeNumbersInTenBytes) {
  Message message;
  message.number(1, static_cast<uint64_t>(int64_t{-2}));
  EXPECT_EQ(message.text(), "\x08\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01"s);
}

TEST(Message, WritesTextAndMessagesBehindTheirLength) {
  Message text;
  text.bytes(2, "testing");
  EXPECT_EQ(text.text(), "\x12\x07testing"s);
  Message inner, outer;
  inner.number(1, 150);
  outer.message(3, inner);
  EXPECT_EQ(outer.text(), "\x1a\x03\x08\x96\x01"s);
}

TEST(Message, WritesFloatsAsFourBytes) {
  Message message;
  message.real(2, 1.0f);
  EXPECT_EQ(message.text(), "\x15\x00\x00\x80\x3f"s);
}

TEST(Message, WritesTagsOfLargeFieldsInTwoBytes) {
  Message message;
  message.number(20, 1);  // AttributeProto.type
  EXPECT_EQ(message.text(), "\xa0\x01\x01"s);
}

}  // namespace
}  // namespace tenon::ort
