#include "request_message.h"

#include <gtest/gtest.h>
#include <tenon/session/result.h>

#include <cstring>

#include "inference.pb.h"

namespace tenon::load {
namespace {

using nlohmann::json;
using nvinfer1::DataType;
using session::Error;

ModelDescription model() {
  return {"my model", "3", {}};
}

std::vector<NamedInput> inputs() {
  NamedInput x{"x", "FP32", {DataType::kFLOAT, {1, 3}, std::vector<std::byte>(12)}};
  const float values[] = {0.5F, -1, 2};
  std::memcpy(x.array.bytes.data(), values, sizeof values);
  NamedInput b{"b", "BOOL", {DataType::kBOOL, {2}, {std::byte{1}, std::byte{0}}}};
  return {x, b};
}

TEST(RequestMessage, OfHttpHasTensorsBehindTheJson) {
  MessageOptions options;
  options.parameters = {{"timeout", 5000}};
  options.headers = {{"Authorization", "Bearer t"}};
  const HttpMessage message = http_message(model(), inputs(), options, "localhost:8000");
  EXPECT_EQ(message.head.find("POST /v2/models/my%20model/versions/3/infer HTTP/1.1\r\n"), 0U);
  EXPECT_NE(message.head.find("\r\nHost: localhost:8000\r\n"), std::string::npos);
  EXPECT_NE(message.head.find("\r\nAuthorization: Bearer t\r\n"), std::string::npos);
  EXPECT_NE(
      message.head.find("\r\nContent-Length: " + std::to_string(message.body.size()) + "\r\n\r\n"),
      std::string::npos);
  const std::string length = "Inference-Header-Content-Length: ";
  const size_t at = message.head.find(length);
  ASSERT_NE(at, std::string::npos);
  const size_t json_bytes = std::stoul(message.head.substr(at + length.size()));
  EXPECT_EQ(json_bytes % 8, 0U);
  ASSERT_EQ(message.body.size(), json_bytes + 14);
  EXPECT_EQ(std::memcmp(message.body.data() + json_bytes, inputs()[0].array.bytes.data(), 12), 0);
  const json request = json::parse(message.body.substr(0, json_bytes));
  EXPECT_EQ(request["parameters"], (json{{"binary_data_output", true}, {"timeout", 5000}}));
  EXPECT_EQ(request["inputs"][0], (json{{"name", "x"},
                                        {"shape", {1, 3}},
                                        {"datatype", "FP32"},
                                        {"parameters", {{"binary_data_size", 12}}}}));
}

TEST(RequestMessage, OfHttpInJsonHasElements) {
  MessageOptions options;
  options.inputs = options.outputs = TensorFormat::kJson;
  const HttpMessage message = http_message({"m", "", {}}, inputs(), options, "h");
  EXPECT_EQ(message.head.find("POST /v2/models/m/infer "), 0U);
  EXPECT_EQ(message.head.find("Inference-Header"), std::string::npos);
  const json request = json::parse(message.body);
  EXPECT_EQ(request["parameters"], (json{{"binary_data_output", false}}));
  EXPECT_EQ(request["inputs"][0]["data"], (json{0.5, -1.0, 2.0}));
  EXPECT_EQ(request["inputs"][1]["data"], (json{true, false}));
  NamedInput half{"h", "FP16", {DataType::kHALF, {1}, std::vector<std::byte>(2)}};
  EXPECT_THROW(http_message({"m", "", {}}, {half}, options, "h"), Error);
}

TEST(RequestMessage, OfGrpcHasRawContents) {
  MessageOptions options;
  options.parameters = {{"timeout", 5000}, {"b", true}, {"s", "t"}};
  inference::ModelInferRequest request;
  ASSERT_TRUE(request.ParseFromString(grpc_message(model(), inputs(), options)));
  EXPECT_EQ(request.model_name(), "my model");
  EXPECT_EQ(request.model_version(), "3");
  EXPECT_EQ(request.parameters().at("timeout").int64_param(), 5000);
  EXPECT_TRUE(request.parameters().at("b").bool_param());
  EXPECT_EQ(request.parameters().at("s").string_param(), "t");
  EXPECT_EQ(request.inputs(0).datatype(), "FP32");
  EXPECT_EQ(request.inputs(0).shape(1), 3);
  ASSERT_EQ(request.raw_input_contents_size(), 2);
  EXPECT_EQ(request.raw_input_contents(1), std::string("\1\0", 2));
}

TEST(RequestMessage, ParametersHaveATypeAndATextThatFitsIt) {
  EXPECT_EQ(parse_parameter("timeout:5000:int"), (std::pair<std::string, json>("timeout", 5000)));
  EXPECT_EQ(parse_parameter("a:b:true:bool"), (std::pair<std::string, json>("a:b", true)));
  EXPECT_EQ(parse_parameter("s::string"), (std::pair<std::string, json>("s", "")));
  for (const char* text :
       {"", "a", "a:1", ":1:int", "a:1:float", "a:x:int", "a:1:bool", "a:1x:int"})
    EXPECT_THROW(parse_parameter(text), Error) << text;
}

}  // namespace
}  // namespace tenon::load
