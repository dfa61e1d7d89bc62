#include "json_response.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "model/classification.h"

namespace tenon::server {
namespace {

using ::testing::HasSubstr;

OutputResponse response_of(std::vector<float> elements) {
  OutputResponse response{"m\"", "3", "id", {}};
  Tensor tensor(Shape{static_cast<int64_t>(elements.size())});
  std::memcpy(*tensor.cpu(), elements.data(), elements.size() * sizeof(float));
  response.outputs.push_back({"y\n", std::move(tensor)});
  return response;
}

TEST(JsonResponse, ResponsesAreShortestNumbersOrBytes) {
  OutputFormat format;
  const auto json = infer_response(response_of({0.1F, -2, 3e30F}), format);
  ASSERT_TRUE(json) << json.error();
  EXPECT_EQ(json->text, R"({"model_name":"m\"","model_version":"3","id":"id","outputs":[)"
                        R"({"name":"y\n","datatype":"FP32","shape":[3],"data":[0.1,-2,3e+30]}]})");
  format.is_binary = true;
  const auto binary = infer_response(response_of({NAN}), format);
  ASSERT_TRUE(binary) << binary.error();
  EXPECT_THAT(binary->text, HasSubstr(R"("parameters":{"binary_data_size":4})"));
  EXPECT_EQ(binary->tensors.size(), 1u);
  EXPECT_THAT(infer_response(response_of({1, INFINITY}), {}).error(),
              HasSubstr("element 1 is no finite number"));
}

TEST(JsonResponse, ClassesAreStringsOrBytes) {
  const auto classes = [] {
    OutputResponse response = response_of({0.5F, 2});
    OutputTensor& output = response.outputs[0];
    output.of_strings = classify(output.tensor, 2, false, {"a \"b\""});
    return response;
  };
  OutputFormat format;
  const auto json = infer_response(classes(), format);
  ASSERT_TRUE(json) << json.error();
  EXPECT_THAT(json->text,
              HasSubstr(R"("datatype":"BYTES","shape":[2],"data":["2:1","0.5:0:a \"b\""]})"));
  format.is_binary = true;
  const auto binary = infer_response(classes(), format);
  ASSERT_TRUE(binary) << binary.error();
  EXPECT_THAT(binary->text, HasSubstr(R"("shape":[2],"parameters":{"binary_data_size":22})"));
}

TEST(JsonResponse, WhatIsInSharedMemoryIsOnlyNamed) {
  OutputResponse response = response_of({1});
  response.outputs[0].part = RegionPart{"r", 8, 4};
  OutputFormat format;
  format.is_binary = true;
  const auto made = infer_response(std::move(response), format);
  ASSERT_TRUE(made) << made.error();
  EXPECT_THAT(made->text,
              HasSubstr(R"("parameters":{"shared_memory_region":"r","shared_memory_offset":8,)"
                        R"("shared_memory_byte_size":4}})"));
  EXPECT_TRUE(made->tensors.empty());
}

TEST(JsonResponse, StringsAreEscaped) {
  EXPECT_EQ(json_string("a\"\\\x01\xff\xc3\xa9"), "\"a\\\"\\\\\\u0001\xef\xbf\xbd\xc3\xa9\"");
}

}  // namespace
}  // namespace tenon::server
