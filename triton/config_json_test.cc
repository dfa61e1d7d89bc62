#include "config_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <model/model.h>

namespace tenon::triton {
namespace {

using nvinfer1::DataType;

// a: a scalar for each item, b: two halves, c: what varies.
server::ModelMetadata model() {
  server::ModelMetadata model;
  model.inputs = {{"a", DataType::kINT64, {-1}}, {"b", DataType::kHALF, {-1, 2}}};
  model.outputs = {{"c", DataType::kBOOL, {-1, -1}}, {"d", DataType::kBF16, {-1, 1}}};
  return model;
}

std::string error_of(const char* config) {
  try {
    (void)config_of(Json::parse(config), {});
  } catch (const session::Error& error) {
    return error.text;
  }
  return "";
}

TEST(Complete, AddsWhatIsNotThere) {
  Json config = Json::object();
  EXPECT_TRUE(complete(config, model(), 4));
  EXPECT_EQ(config, Json::parse(R"({"max_batch_size": 4, "dynamic_batching": {},
      "input": [{"name": "a", "data_type": "TYPE_INT64", "dims": [1], "reshape": {"shape": []}},
                {"name": "b", "data_type": "TYPE_FP16", "dims": [2]}],
      "output": [{"name": "c", "data_type": "TYPE_BOOL", "dims": [-1]},
                 {"name": "d", "data_type": "TYPE_BF16", "dims": [1]}]})"));
  EXPECT_FALSE(complete(config, model(), 4));
  check_tensors(config, model(), 4);
}

TEST(Complete, KeepsWhatIsThere) {
  Json config = Json::parse(R"({"max_batch_size": 4, "sequence_batching": {
          "control_input": [{"name": "a"}]}, "cc_model_filenames": {"8.0": "x"},
      "input": [{"name": "b", "data_type": "TYPE_INVALID", "dims": [], "format": "FORMAT_NONE"}],
      "output": [{"name": "d", "data_type": "TYPE_BF16", "dims": [1], "label_filename": "l"}]})");
  Json expected = config;
  expected["input"][0]["data_type"] = "TYPE_FP16";
  expected["input"][0]["dims"] = Json::array({2});
  EXPECT_TRUE(complete(config, model(), 4));
  EXPECT_EQ(config, expected);
}

TEST(Complete, WithoutBatchesHasWholeShapesAndNoScheduler) {
  Json config = Json::object();
  EXPECT_TRUE(complete(config, model(), 0));
  EXPECT_EQ(config["input"][0]["dims"], Json::array({-1}));
  EXPECT_EQ(config["output"][0]["dims"], Json::array({-1, -1}));
  EXPECT_FALSE(config.contains("dynamic_batching"));
}

TEST(ConfigOf, TakesShapesAsTheModelHasThem) {
  const Json config = Json::parse(R"({"name": "m", "max_batch_size": 2, "input": [
      {"name": "a", "data_type": "TYPE_INT64", "dims": [1], "reshape": {"shape": []}},
      {"name": "b", "data_type": "TYPE_FP16", "dims": [2]}],
      "parameters": {"precision": {"string_value": "fp16"}, "other": {"string_value": "1"}}})");
  const server::ModelConfig taken = config_of(config, {});
  EXPECT_EQ(taken.max_batch_size, 2);
  EXPECT_EQ(taken.precision, "fp16");
  EXPECT_EQ(taken.tensors[0].dims, session::Shape{});
  EXPECT_EQ(taken.tensors[1].datatype, "FP16");
  EXPECT_FALSE(has_whole_shapes(taken, model()));
  BackendOptions options;
  options.precision = "int8";
  EXPECT_EQ(config_of(config, options).precision, "fp16");
  EXPECT_EQ(config_of(Json::object(), options).precision, "int8");
}

TEST(ConfigOf, RefusesFieldsByName) {
  EXPECT_EQ(error_of(R"({"batch_input": [{}]})"), "batch_input is not supported yet");
  EXPECT_EQ(error_of(R"({"sequence_batching": {"state": [{}]}})").substr(0, 45),
            "sequence_batching.state is not supported yet:");
  EXPECT_EQ(error_of(R"({"instance_group": [{"profile": ["1"]}]})"),
            "instance_group.profile is not supported yet: models run in the first profile");
  EXPECT_EQ(error_of(R"({"input": [{"name": "a", "allow_ragged_batch": true}]})").substr(0, 43),
            "input 'a': allow_ragged_batch is not suppor");
  EXPECT_EQ(error_of(R"({"parameters": {"warm_up": {"string_value": "yes"}}})"),
            "warm_up: expected on or off, found 'yes'");
  EXPECT_EQ(error_of(R"({"batch_input": [], "model_transaction_policy": {"decoupled": false}})"),
            "");
}

}  // namespace
}  // namespace tenon::triton
