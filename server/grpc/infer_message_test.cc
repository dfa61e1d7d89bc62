#include "infer_message.h"

#include <google/protobuf/util/message_differencer.h>
#include <gtest/gtest.h>

#include <random>
#include <string>

namespace tenon::server {
namespace {

using google::protobuf::util::MessageDifferencer;
using inference::ModelInferRequest;
constexpr size_t kMany = 256;

// In slices of up to so many bytes, as they come from a network.
grpc::ByteBuffer buffer_of(const std::string& bytes, size_t most, std::mt19937& random) {
  std::vector<grpc::Slice> slices;
  for (size_t at = 0; at < bytes.size();) {
    const size_t part = std::min(bytes.size() - at, random() % most + 1);
    slices.emplace_back(bytes.data() + at, part);
    at += part;
  }
  return {slices.data(), slices.size()};
}

ModelInferRequest request_with_raw(const std::vector<size_t>& sizes) {
  ModelInferRequest request;
  request.set_model_name("a model");
  request.set_id(std::string(300, 'i'));
  (*request.mutable_parameters())["priority"].set_int64_param(-3);
  (*request.mutable_parameters())["scale"].set_double_param(0.25);
  for (const size_t size : sizes) {
    auto& input = *request.add_inputs();
    input.set_name("x");
    input.add_shape(static_cast<int64_t>(size));
    std::string& raw = *request.add_raw_input_contents();
    for (size_t i = 0; i < size; ++i) raw += static_cast<char>(i * 7 + size);
  }
  request.add_outputs()->set_name("y");
  return request;
}

TEST(InferMessage, SaysWhatProtobufSaysHoweverItIsCut) {
  std::mt19937 random(3);
  for (const size_t most : {1UL, 3UL, 100UL, 1'000'000UL}) {
    ModelInferRequest request = request_with_raw({0, 1, 4097, 65});
    grpc::ByteBuffer bytes = buffer_of(request.SerializeAsString(), most, random);
    const auto read = read_infer_message(bytes, kMany);
    ASSERT_TRUE(read);
    ASSERT_EQ(read->raw.size(), 4U);
    for (int i = 0; i < 4; ++i) {
      const RawContents& raw = read->raw[static_cast<size_t>(i)];
      EXPECT_EQ(std::string_view(reinterpret_cast<const char*>(raw.data.get()), raw.bytes),
                request.raw_input_contents(i));
      EXPECT_EQ(reinterpret_cast<uintptr_t>(raw.data.get()) % 64, 0U);
    }
    request.clear_raw_input_contents();
    EXPECT_TRUE(MessageDifferencer::Equals(*read->message, request));
  }
}

TEST(InferMessage, FieldsMayComeInAnyOrder) {
  ModelInferRequest first, second;
  first.add_raw_input_contents("late");
  second.set_model_name("m");
  const std::string unknown("\x9d\x06\1\2\3\4", 6);  // field 99, of 32 bits
  std::mt19937 random(4);
  grpc::ByteBuffer bytes =
      buffer_of(first.SerializeAsString() + unknown + second.SerializeAsString(), 2, random);
  const auto read = read_infer_message(bytes, kMany);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->message->model_name(), "m");
  EXPECT_EQ(read->raw.at(0).bytes, 4U);
}

TEST(InferMessage, WhatIsTooManyIsCountedAndNotKept) {
  std::mt19937 random(6);
  ModelInferRequest request = request_with_raw({1, 2, 3, 0, 0});
  for (int i = 0; i < 7; ++i) request.add_outputs();
  grpc::ByteBuffer bytes = buffer_of(request.SerializeAsString(), 5, random);
  const auto read = read_infer_message(bytes, 3);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->inputs, 5U);
  EXPECT_EQ(read->outputs, 8U);
  EXPECT_EQ(read->raw_contents, 5U);
  EXPECT_EQ(read->message->inputs_size(), 3);
  EXPECT_EQ(read->message->outputs_size(), 3);
  EXPECT_EQ(read->raw.size(), 3U);
  EXPECT_EQ(read->message->id(), request.id());
}

TEST(InferMessage, TakesOfDamagedBytesWhatProtobufTakes) {
  std::mt19937 random(5);
  const std::string good = request_with_raw({5, 40}).SerializeAsString();
  int taken = 0;
  for (int i = 0; i < 20'000; ++i) {
    std::string bytes = good;
    if (random() % 4 == 0) bytes.resize(random() % (good.size() + 1));
    for (size_t k = random() % 3; k > 0 && !bytes.empty(); --k)
      bytes[random() % bytes.size()] = static_cast<char>(random());
    grpc::ByteBuffer buffer = buffer_of(bytes, 50, random);
    ModelInferRequest expected;
    const bool is_good = expected.ParseFromString(bytes);
    const auto read = read_infer_message(buffer, kMany);
    // Groups, which proto3 does not have, are skipped by protobuf.
    EXPECT_TRUE(is_good || !read);
    if (!read || !is_good) continue;
    ++taken;
    EXPECT_EQ(static_cast<int>(read->raw.size()), expected.raw_input_contents_size());
    expected.clear_raw_input_contents();
    EXPECT_TRUE(MessageDifferencer::Equals(*read->message, expected));
  }
  EXPECT_GT(taken, 1000);
}

}  // namespace
}  // namespace tenon::server
