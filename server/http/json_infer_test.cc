#include "json_infer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "model/datatype.h"

namespace tenon::server {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::shared_ptr<Body> body_of(const std::string& text) {
  return std::make_shared<Body>(text.begin(), text.end());
}

Result<JsonInferRequest> parse(const std::string& text, const std::string& json_length = "") {
  return parse_infer_request(body_of(text), json_length);
}

template <class T> std::vector<T> values(Tensor& tensor) {
  const auto* const data = static_cast<const T*>(*tensor.cpu());
  return std::vector<T>(data, data + tensor.numel());
}

std::string input_of(const std::string& datatype, const std::string& shape,
                     const std::string& data) {
  return R"({"inputs":[{"name":"x","datatype":")" + datatype + R"(","shape":)" + shape
         + R"(,"data":)" + data + "}]}";
}

TEST(JsonInfer, ReadsTheExampleOfTheProtocol) {
  auto parsed = parse(R"({
    "id": "42",
    "inputs": [
      {"name": "input0", "shape": [2, 2], "datatype": "INT32", "data": [1, 2, 3, 4]},
      {"name": "input1", "shape": [3], "datatype": "BOOL", "data": [true, 0, 1]}],
    "outputs": [{"name": "output0", "parameters": {"binary_data": true}}, {"name": "output1"}],
    "parameters": {"timeout": 5000, "priority": 3}})");
  ASSERT_TRUE(parsed) << parsed.error();
  InferRequest& request = parsed->request;
  EXPECT_EQ(request.id, "42");
  ASSERT_EQ(request.inputs.size(), 2u);
  EXPECT_EQ(request.inputs[0].tensor.shape(), (Shape{2, 2}));
  EXPECT_THAT(values<int32_t>(request.inputs[0].tensor), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(values<bool>(request.inputs[1].tensor), ElementsAre(true, false, true));
  EXPECT_THAT(request.outputs, ElementsAre("output0", "output1"));
  EXPECT_TRUE(parsed->format.wants_binary("output0"));
  EXPECT_FALSE(parsed->format.wants_binary("output1"));
  EXPECT_EQ(request.priority, -3);
  EXPECT_TRUE(request.deadline);
}

TEST(JsonInfer, DataMayBeNestedAsTheShape) {
  auto parsed = parse(input_of("FP32", "[2,1,2]", "[[[1.5, -2]], [[3e3, 4]]]"));
  ASSERT_TRUE(parsed) << parsed.error();
  EXPECT_THAT(values<float>(parsed->request.inputs[0].tensor), ElementsAre(1.5f, -2, 3000, 4));
}

TEST(JsonInfer, BinaryTensorsStayInTheBody) {
  const std::string json =
      R"({"inputs":[{"name":"a","shape":[2],"datatype":"FP32","parameters":{"binary_data_size":8}},)"
      R"({"name":"b","shape":[3],"datatype":"INT8","parameters":{"binary_data_size":3}},)"
      R"({"name":"c","shape":[1],"datatype":"FP16","parameters":{"binary_data_size":2}}],)"
      R"("parameters":{"binary_data_output":true}})";
  // The JSON is filled up so that the first tensor is aligned, and the last one is not.
  const std::string head = json + std::string(16 - json.size() % 16, ' ');
  const float floats[] = {0.5F, -7};
  const auto body = body_of(head + std::string(reinterpret_cast<const char*>(floats), 8)
                            + "\x01\xff\x7f" + std::string("\x00\x3c", 2));
  auto parsed = parse_infer_request(body, std::to_string(head.size()));
  ASSERT_TRUE(parsed) << parsed.error();
  auto& inputs = parsed->request.inputs;
  EXPECT_THAT(values<float>(inputs[0].tensor), ElementsAre(0.5F, -7.F));
  EXPECT_EQ(*inputs[0].tensor.cpu(), body->data() + head.size());
  EXPECT_THAT(values<int8_t>(inputs[1].tensor), ElementsAre(1, -1, 127));
  EXPECT_EQ(*inputs[2].tensor.at<_Float16>({0}), static_cast<_Float16>(1));
  EXPECT_TRUE(parsed->format.wants_binary("any"));
  EXPECT_EQ(body.use_count(), 3);  // of a, of b, and of this test
}

TEST(JsonInfer, WhatIsWrongIsNamed) {
  const auto error = [](const std::string& text, const std::string& length = "") {
    return parse(text, length).error();
  };
  EXPECT_THAT(error(""), HasSubstr("not the JSON of a request"));
  EXPECT_THAT(error("[1]"), HasSubstr("no object"));
  EXPECT_THAT(error(std::string(100000, '[')), HasSubstr("not the JSON"));
  EXPECT_THAT(error(R"({"inputs":7})"), HasSubstr("inputs: expected an array"));
  EXPECT_THAT(error(R"({"inputs":[7]})"), HasSubstr("inputs[0]: expected an object"));
  EXPECT_THAT(error(R"({"inputs":[{}]})"), HasSubstr("inputs[0]: has no name"));
  EXPECT_THAT(error(input_of("BYTES", "[1]", R"(["a"])")), HasSubstr("'BYTES'"));
  EXPECT_THAT(error(input_of("FP16", "[1]", "[1]")), HasSubstr("only sent as binary data"));
  EXPECT_THAT(error(input_of("FP32", "[2]", "[1]")), HasSubstr("1 elements too few"));
  EXPECT_THAT(error(input_of("FP32", "[1]", "[1,2]")), HasSubstr("more elements than the shape"));
  EXPECT_THAT(error(input_of("INT8", "[1]", "[128]")), HasSubstr("element 128"));
  EXPECT_THAT(error(input_of("UINT8", "[1]", "[-1]")), HasSubstr("element -1"));
  EXPECT_THAT(error(input_of("INT32", "[1]", "[1.5]")), HasSubstr("element 1.5"));
  EXPECT_THAT(error(input_of("FP32", "[1]", "[1e39]")), HasSubstr("element 1e"));
  EXPECT_THAT(error(input_of("FP32", "[1]", R"(["1"])")), HasSubstr(R"(element "1")"));
  EXPECT_THAT(error(input_of("FP32", "[-1]", "[]")), HasSubstr("expected 0 or more"));
  EXPECT_THAT(error(input_of("FP32", "[4611686018427387904,4]", "[]")),
              HasSubstr("do not fit 63 bits"));
  EXPECT_THAT(error(input_of("FP32", "[1000000000]", "[]")), HasSubstr("fewer elements"));
  EXPECT_THAT(error(input_of("FP32", "[1,1,1,1,1,1,1,1,1]", "[1]")), HasSubstr("at most 8"));
  EXPECT_THAT(error(R"({"parameters":{"timeout":-1}})"), HasSubstr("timeout"));
  EXPECT_THAT(error(R"({"parameters":{"sequence_id":-1}})"), HasSubstr("expected a string"));
  EXPECT_THAT(error(R"({"parameters":{"sequence_start":1}})"), HasSubstr("true or false"));
  EXPECT_THAT(error("{}", "3"), HasSubstr("expected at most the 2 bytes"));
  EXPECT_THAT(error("{}", "1x"), HasSubstr("'1x'"));
  EXPECT_THAT(error("{}abc", "2"), HasSubstr("3 bytes follow"));
  const std::string binary =
      R"({"inputs":[{"name":"x","shape":[2],"datatype":"FP32","parameters":{"binary_data_size":8}}]})";
  EXPECT_THAT(error(binary + "1234567", std::to_string(binary.size())),
              HasSubstr("7 bytes are left"));
}

TEST(JsonInfer, WhatIsWantedOfOutputsIsRead) {
  const auto parsed = parse(R"({"outputs":[
    {"name":"a","parameters":{"classification":3,"binary_data":true}},
    {"name":"b","parameters":{"shared_memory_region":"r","shared_memory_offset":8,
                              "shared_memory_byte_size":16}},
    {"name":"c","parameters":{"classification":0}}]})");
  ASSERT_TRUE(parsed) << parsed.error();
  EXPECT_THAT(parsed->request.outputs, ElementsAre("a", "b", "c"));
  ASSERT_EQ(parsed->wanted.outputs.size(), 2u);
  EXPECT_EQ(parsed->wanted.outputs.at("a").classes, 3u);
  EXPECT_FALSE(parsed->wanted.outputs.at("a").part);
  EXPECT_EQ(parsed->wanted.outputs.at("b").part->region, "r");
  EXPECT_EQ(parsed->wanted.outputs.at("b").part->offset, 8u);
  EXPECT_EQ(parsed->wanted.outputs.at("b").part->bytes, 16u);
}

TEST(JsonInfer, InputsInSharedMemoryAreOnlyNamed) {
  const std::string head = R"({"inputs":[{"name":"x","datatype":"FP32","shape":[2,3],)";
  const std::string part =
      R"("parameters":{"shared_memory_region":"r","shared_memory_byte_size":24})";
  const auto parsed = parse(head + part + "}]}");
  ASSERT_TRUE(parsed) << parsed.error();
  EXPECT_EQ(parsed->request.inputs[0].tensor.shape(), (Shape{2, 3}));
  EXPECT_EQ(parsed->request.inputs[0].tensor.head(), serve::DataHead::kInit);
  const RegionPart& found = parsed->wanted.inputs.at(0);
  EXPECT_EQ(found.region, "r");
  EXPECT_EQ(found.offset, 0u);
  EXPECT_EQ(found.bytes, 24u);
  EXPECT_THAT(parse(head + part + R"(,"data":[1,2,3,4,5,6]}]})").error(),
              HasSubstr("only one of data, binary_data_size and shared_memory_region"));
  EXPECT_THAT(parse(head + R"("parameters":{"shared_memory_offset":-1}}]})").error(),
              HasSubstr("expected 0 to"));
  EXPECT_THAT(parse(head + R"("parameters":{"shared_memory_key":"r"}}]})").error(),
              HasSubstr("no such parameter"));
}

TEST(JsonInfer, TooManyTensorsAreRefused) {
  std::string text = R"({"inputs":[)";
  for (int i = 0; i < 300; ++i)
    text +=
        (i > 0 ? "," : "") + std::string(R"({"name":"x","shape":[0],"datatype":"FP32","data":[]})");
  EXPECT_THAT(parse(text + "]}").error(), HasSubstr("at most 256"));
}

TEST(Datatypes, HaveNamesBothWays) {
  for (const char* name : {"FP32", "FP16", "BF16", "INT8", "UINT8", "INT32", "INT64", "BOOL"})
    EXPECT_EQ(datatype_name(*datatype_of(name)), name);
  EXPECT_FALSE(datatype_of("BYTES"));
  EXPECT_EQ(datatype_name(DataType::kFP8), "");
}

}  // namespace
}  // namespace tenon::server
