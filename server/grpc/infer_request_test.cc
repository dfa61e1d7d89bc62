#include "infer_request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

#include "test_client.h"

namespace tenon::server {
namespace {

using inference::ModelInferRequest;
using ::testing::HasSubstr;
constexpr auto kInvalid = grpc::StatusCode::INVALID_ARGUMENT;

class InferRequestTest : public GrpcTest {
 protected:
  void SetUp() override { start(); }

  static std::variant<DecodedRequest, RequestError> decode(const ModelInferRequest& request) {
    const grpc::Slice slice(request.SerializeAsString());
    grpc::ByteBuffer bytes(&slice, 1);
    return decode_request(*read_infer_message(bytes, 4), 4);
  }

  static std::string error_of(const ModelInferRequest& request) {
    const auto decoded = decode(request);
    const auto* error = std::get_if<RequestError>(&decoded);
    return error == nullptr ? "none" : error->text;
  }

  static std::string error_after(const std::function<void(ModelInferRequest&)>& change) {
    auto request = row_of(1);
    change(request);
    return error_of(request);
  }

  /// The answer of echo_<datatype> to elements in a field of their type.
  std::string echo(const std::string& datatype, int elements,
                   const std::function<void(inference::InferTensorContents&)>& fill) {
    auto request = request_for("echo_" + datatype, datatype, {elements}, "");
    request.clear_raw_input_contents();
    fill(*request.mutable_inputs(0)->mutable_contents());
    const auto status = infer(request);
    return status.ok() ? response_.raw_output_contents(0) : status.error_message();
  }
};

TEST_F(InferRequestTest, RawElementsOfEachTypePassUnchanged) {
  for (const auto& [datatype, size] : std::map<std::string, int>{{"FP32", 4},
                                                                 {"FP16", 2},
                                                                 {"BF16", 2},
                                                                 {"INT8", 1},
                                                                 {"UINT8", 1},
                                                                 {"INT32", 4},
                                                                 {"INT64", 8},
                                                                 {"BOOL", 1}}) {
    std::string bytes(static_cast<size_t>(3 * size), '\0');
    for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i % 2);
    const auto status = infer(request_for("echo_" + datatype, datatype, {3}, bytes));
    ASSERT_TRUE(status.ok()) << datatype << ": " << status.error_message();
    EXPECT_EQ(response_.raw_output_contents(0), bytes) << datatype;
    EXPECT_EQ(response_.outputs(0).datatype(), datatype);
  }
}

TEST_F(InferRequestTest, TypedContentsBecomeTheSameElements) {
  EXPECT_EQ(echo("FP32", 2,
                 [](auto& to) {
                   to.add_fp32_contents(1.5f);
                   to.add_fp32_contents(-2);
                 }),
            bytes_of<float>({1.5f, -2}));
  EXPECT_EQ(echo("INT32", 1, [](auto& to) { to.add_int_contents(-7); }), bytes_of<int32_t>({-7}));
  EXPECT_EQ(echo("INT64", 1, [](auto& to) { to.add_int64_contents(INT64_MIN); }),
            bytes_of<int64_t>({INT64_MIN}));
  EXPECT_EQ(echo("BOOL", 2,
                 [](auto& to) {
                   to.add_bool_contents(true);
                   to.add_bool_contents(false);
                 }),
            std::string("\1\0", 2));
  EXPECT_EQ(echo("INT8", 2,
                 [](auto& to) {
                   to.add_int_contents(-128);
                   to.add_int_contents(127);
                 }),
            bytes_of<int8_t>({-128, 127}));
  EXPECT_EQ(echo("UINT8", 1, [](auto& to) { to.add_uint_contents(255); }), "\xff");
}

TEST_F(InferRequestTest, TypedContentsThatDoNotFitAreNamed) {
  EXPECT_EQ(echo("INT8", 1, [](auto& to) { to.add_int_contents(128); }),
            "input 'x': int_contents[0] is 128; expected -128 to 127 for INT8");
  EXPECT_EQ(echo("UINT8", 1, [](auto& to) { to.add_uint_contents(256); }),
            "input 'x': uint_contents[0] is 256; expected 0 to 255 for UINT8");
  EXPECT_EQ(echo("FP32", 2, [](auto& to) { to.add_fp32_contents(1); }),
            "input 'x': 2 of FP32 is 2 elements; found 1 in fp32_contents");
  EXPECT_EQ(echo("FP32", 1, [](auto& to) { to.add_int_contents(1); }),
            "input 'x': 1 of FP32 is 1 elements; found 0 in fp32_contents");
  EXPECT_EQ(echo("FP16", 1, [](auto& to) { to.add_fp32_contents(1); }),
            "input 'x': elements of FP16 are taken in raw_input_contents only");
}

TEST_F(InferRequestTest, RawBytesMustBeThoseOfTheShape) {
  EXPECT_EQ(error_after([](auto& to) { to.mutable_raw_input_contents(0)->pop_back(); }),
            "input 'x': 1x4 of FP32 is 16 bytes; found 15 in raw_input_contents[0]");
  EXPECT_EQ(error_after([](auto& to) { to.add_raw_input_contents(""); }),
            "raw_input_contents: expected 1, one for each input that is not in shared memory, "
            "found 2");
  EXPECT_EQ(error_after([](auto& to) { to.mutable_inputs(0)->mutable_contents(); }),
            "input 'x' has contents and an entry of raw_input_contents; expected one of both");
}

TEST_F(InferRequestTest, ShapesAreChecked) {
  const auto error_of_shape = [](std::initializer_list<int64_t> shape) {
    return error_of(request_for("double", "FP32", shape, ""));
  };
  EXPECT_EQ(error_of_shape({-1, 4}), "input 'x': the shape has the extent -1; expected 0 or more");
  EXPECT_EQ(error_of_shape({int64_t{1} << 32, int64_t{1} << 32}),
            "input 'x': the bytes of shape 4294967296x4294967296 do not fit 63 bits");
  EXPECT_EQ(error_of_shape({0, int64_t{1} << 40, int64_t{1} << 40}),
            "input 'x': the bytes of shape 0x1099511627776x1099511627776 do not fit 63 bits");
  EXPECT_EQ(error_of_shape({1, 1, 1, 1, 1, 1, 1, 1, 1}),
            "input 'x': the shape has 9 extents; expected at most 8");
  EXPECT_EQ(error_of_shape({0, 4}), "none");
  EXPECT_EQ(error_of(request_for("double", "FP32", {}, "abcd")), "none");
}

TEST_F(InferRequestTest, WhatIsNotSupportedIsRefusedByName) {
  EXPECT_EQ(error_after([](auto& to) { to.mutable_inputs(0)->set_datatype("BYTES"); }),
            "input 'x': datatype 'BYTES' is not supported; expected FP32, FP16, BF16, INT8, UINT8, "
            "INT32, INT64 or BOOL");
  EXPECT_THAT(
      error_after([](auto& to) { (*to.mutable_parameters())["sequence_id"].set_int64_param(-5); }),
      HasSubstr("parameter 'sequence_id': expected 0 to"));
  EXPECT_THAT(
      error_after([](auto& to) { (*to.mutable_parameters())["sequence_end"].set_int64_param(1); }),
      HasSubstr("parameter 'sequence_end': expected a bool"));
  EXPECT_THAT(error_after([](auto& to) {
                auto& output = *to.add_outputs();
                output.set_name("y\n");
                (*output.mutable_parameters())["classification"].set_string_param("3");
              }),
              HasSubstr("output 'y\\n': parameter 'classification': expected 0 to"));
}

TEST_F(InferRequestTest, PartsOfSharedMemoryAndClassesAreRead) {
  ModelInferRequest request = row_of(1);
  auto& second = *request.add_inputs();
  second.set_name("shared");
  second.set_datatype("FP32");
  second.add_shape(2);
  (*second.mutable_parameters())["shared_memory_region"].set_string_param("r");
  (*second.mutable_parameters())["shared_memory_byte_size"].set_int64_param(8);
  auto& output = *request.add_outputs();
  output.set_name("y");
  (*output.mutable_parameters())["classification"].set_int64_param(3);
  (*output.mutable_parameters())["shared_memory_region"].set_string_param("s");
  (*output.mutable_parameters())["shared_memory_offset"].set_int64_param(16);
  const auto decoded = decode(request);
  const auto& wanted = std::get<DecodedRequest>(decoded).wanted;
  ASSERT_EQ(wanted.inputs.size(), 1u);
  EXPECT_EQ(wanted.inputs.at(1).region, "r");
  EXPECT_EQ(wanted.inputs.at(1).bytes, 8u);
  EXPECT_EQ(wanted.outputs.at("y").classes, 3u);
  EXPECT_EQ(wanted.outputs.at("y").part->region, "s");
  EXPECT_EQ(wanted.outputs.at("y").part->offset, 16u);

  request.mutable_inputs(1)->mutable_contents()->add_fp32_contents(1);
  EXPECT_THAT(error_of(request), HasSubstr("has contents, and is in shared memory"));
  (*second.mutable_parameters())["shared_memory_offset"].set_int64_param(-1);
  EXPECT_THAT(error_of(request), HasSubstr("input 'shared': parameter 'shared_memory_offset'"));
  request = row_of(1);
  (*request.mutable_inputs(0)->mutable_parameters())["shared_memory_region"].set_string_param("r");
  EXPECT_THAT(error_of(request), HasSubstr("raw_input_contents: expected 0"));
}

TEST_F(InferRequestTest, SharedMemoryIsOffUnlessAllowed) {
  ModelInferRequest request = row_of(1);
  request.clear_raw_input_contents();
  auto& parameters = *request.mutable_inputs(0)->mutable_parameters();
  parameters["shared_memory_region"].set_string_param("r");
  parameters["shared_memory_byte_size"].set_int64_param(16);
  expect(infer(request), kInvalid,
         "input 'x': shared memory is off: start the server with --allow-shared-memory");
}

TEST_F(InferRequestTest, TensorsAreBounded) {
  EXPECT_EQ(error_after([](auto& to) {
              for (int i = 0; i < 4; ++i) to.add_inputs();
            }),
            "the request has 5 inputs; expected at most 4");
  EXPECT_EQ(error_after([](auto& to) {
              for (int i = 0; i < 5; ++i) to.add_outputs();
            }),
            "the request has 5 outputs; expected at most 4");
  EXPECT_EQ(error_after([](auto& to) {
              for (int i = 0; i < 4; ++i) to.add_raw_input_contents();
            }),
            "the request has 5 raw_input_contents; expected at most 4");
}

TEST_F(InferRequestTest, ParametersThatDoNotServeAreNamed) {
  EXPECT_EQ(
      error_after([](auto& to) { (*to.mutable_parameters())["timeout"].set_string_param("1s"); }),
      "parameter 'timeout': expected 0 to 3600000000, found string_param: \"1s\"");
  EXPECT_EQ(
      error_after([](auto& to) { (*to.mutable_parameters())["priority"].set_int64_param(-1); }),
      "parameter 'priority': expected 0 to 1048576, found int64_param: -1");
  EXPECT_EQ(error_after([](auto& to) {
              (*to.mutable_parameters())["binary_data_output"].set_int64_param(0);
            }),
            "parameter 'binary_data_output': expected a bool, found int64_param: 0");
}

TEST_F(InferRequestTest, ParametersSayPriorityAndDeadline) {
  auto request = row_of(1, "seven");
  (*request.mutable_parameters())["priority"].set_uint64_param(3);
  (*request.mutable_parameters())["timeout"].set_int64_param(60'000'000);
  const auto before = Clock::now();
  const auto decoded = decode(request);
  const auto after = Clock::now();
  const auto& found = std::get<DecodedRequest>(decoded).request;
  EXPECT_EQ(found.id, "seven");
  EXPECT_EQ(found.priority, -3);  // lower numbers go first
  ASSERT_TRUE(found.deadline);
  EXPECT_GE(*found.deadline, before + std::chrono::minutes(1));
  EXPECT_LE(*found.deadline, after + std::chrono::minutes(1));

  (*request.mutable_parameters())["timeout"].set_uint64_param(UINT64_MAX);
  EXPECT_EQ(error_of(request),
            "parameter 'timeout': expected 0 to 3600000000, found uint64_param: "
            "18446744073709551615");
}

// Decodes the request, and looks at what its input is in.
void expect_input_in(const std::weak_ptr<const void>& owner, const void* bytes,
                     InferMessage&& message) {
  {
    auto decoded = decode_request(std::move(message), 4);
    auto& tensor = std::get<DecodedRequest>(decoded).request.inputs[0].tensor;
    EXPECT_EQ(*tensor.cpu(), bytes);
    EXPECT_FALSE(owner.expired());
    EXPECT_EQ(*tensor.at<float>({99, 3}), 3.0f);
  }
  EXPECT_TRUE(owner.expired());
}

TEST_F(InferRequestTest, InputsLieInTheMessageAndKeepIt) {
  ModelInferRequest request =
      request_for("double", "FP32", {100, 4}, bytes_of<float>(std::vector(400, 3.0f)));
  const grpc::Slice slice(request.SerializeAsString());
  grpc::ByteBuffer buffer(&slice, 1);
  auto raw = *read_infer_message(buffer, 4);
  expect_input_in(raw.raw[0].data, raw.raw[0].data.get(), std::move(raw));

  request.clear_raw_input_contents();
  auto& contents = *request.mutable_inputs(0)->mutable_contents()->mutable_fp32_contents();
  for (int i = 0; i < 400; ++i) contents.Add(3);
  InferMessage typed{std::make_shared<ModelInferRequest>(request), {}};
  expect_input_in(typed.message, typed.message->inputs(0).contents().fp32_contents().data(),
                  std::move(typed));
}

TEST_F(InferRequestTest, ErrorsAreInvalidArguments) {
  auto request = row_of(1);
  request.mutable_inputs(0)->set_datatype("FP64");
  expect(infer(request), kInvalid,
         "input 'x': datatype 'FP64' is not supported; expected FP32, FP16, BF16, INT8, UINT8, "
         "INT32, INT64 or BOOL");
  EXPECT_EQ(models_.switches().count(), 0u);
}

}  // namespace
}  // namespace tenon::server
