#include "model_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tenon::server {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(ModelConfig, ReadsTritonsTextAndItsJson) {
  const std::string text = R"(
    name: "yolo"
    platform: "tensorrt_plan"
    max_batch_size: 8
    input [{ name: "images" data_type: TYPE_FP32 dims: [3, 640, 640] }]
    dynamic_batching { preferred_batch_size: [4, 8] max_queue_delay_microseconds: 100
                       default_queue_policy { default_timeout_microseconds: 5000 max_queue_size: 64 } }
    instance_group [{ count: 2 kind: KIND_GPU gpus: [0, 1] }]
    version_policy: { specific: { versions: [1, 3] } }
    parameters { key: "precision" value: { string_value: "fp16" } })";
  const std::string json = R"({
    "name": "yolo", "platform": "tensorrt_plan", "max_batch_size": 8,
    "input": [{"name": "images", "data_type": "TYPE_FP32", "dims": [3, 640, 640]}],
    "dynamic_batching": {"preferred_batch_size": [4, 8], "max_queue_delay_microseconds": 100,
                         "default_queue_policy": {"default_timeout_microseconds": 5000, "max_queue_size": 64}},
    "instance_group": [{"count": 2, "kind": "KIND_GPU", "gpus": [0, 1]}],
    "version_policy": {"specific": {"versions": [1, 3]}},
    "parameters": {"precision": {"string_value": "fp16"}}})";
  for (const bool is_json : {false, true}) {
    const auto config = parse_model_config(is_json ? json : text, is_json);
    ASSERT_TRUE(config) << config.error();
    EXPECT_EQ(config->name, "yolo");
    EXPECT_EQ(config->max_batch_size, 8);
    EXPECT_THAT(config->preferred_batch_sizes, ElementsAre(4, 8));
    EXPECT_EQ(config->max_queue_delay, std::chrono::microseconds(100));
    EXPECT_EQ(config->default_timeout, std::chrono::milliseconds(5));
    EXPECT_EQ(config->max_queue_size, 64u);
    EXPECT_EQ(config->instances, 2);
    EXPECT_THAT(config->devices, ElementsAre(0, 1));
    EXPECT_EQ(config->version_policy, VersionPolicy::kSpecific);
    EXPECT_THAT(config->versions, ElementsAre(1, 3));
    EXPECT_EQ(config->precision, "fp16");
    EXPECT_TRUE(config->is_warm);
    ASSERT_EQ(config->tensors.size(), 1u);
    EXPECT_TRUE(config->tensors[0].is_input);
    EXPECT_EQ(config->tensors[0].name, "images");
    EXPECT_EQ(config->tensors[0].datatype, "FP32");
  }
}

TEST(ModelConfig, ReadsEnsemblesSequencesAndCaches) {
  const auto ensemble = parse_model_config(R"({
    "platform": "ensemble", "response_cache": {"enable": true},
    "ensemble_scheduling": {"step": [
      {"model_name": "a", "model_version": -1, "input_map": {"x": "in"}, "output_map": {"y": "out"}},
      {"model_name": "b", "model_version": 3}]}})",
                                           true);
  ASSERT_TRUE(ensemble) << ensemble.error();
  ASSERT_EQ(ensemble->steps.size(), 2u);
  EXPECT_EQ(ensemble->steps[0].model, "a");
  EXPECT_EQ(ensemble->steps[0].version, -1);
  EXPECT_EQ(ensemble->steps[0].inputs.at("x"), "in");
  EXPECT_EQ(ensemble->steps[0].outputs.at("y"), "out");
  EXPECT_EQ(ensemble->steps[1].version, 3);
  EXPECT_TRUE(ensemble->caches_responses);

  // As the configurations of silero's VAD.
  const auto sequence = parse_model_config(R"(
    sequence_batching { max_sequence_idle_microseconds: 5000000 direct { }
      control_input [ { name: "START" control [ { kind: CONTROL_SEQUENCE_START fp32_false_true: [0, 1] } ] } ]
      state [ { input_name: "state" output_name: "stateN" data_type: TYPE_FP32 dims: [2, -1, 128]
                initial_state: { data_type: TYPE_FP32 dims: [2, 1, 128] zero_data: true name: "zeros" } } ] })",
                                           false);
  ASSERT_TRUE(sequence) << sequence.error();
  ASSERT_TRUE(sequence->sequence);
  EXPECT_EQ(sequence->sequence->max_idle, std::chrono::seconds(5));
  EXPECT_EQ(sequence->sequence->states[0].output, "stateN");
  EXPECT_EQ(sequence->sequence->states[0].dims, (Shape{2, 1, 128}));
  EXPECT_EQ(sequence->sequence->controls[0].kind, SequenceControl::kStart);
  EXPECT_EQ(sequence->sequence->controls[0].type, DataType::kFLOAT);
  const auto large = parse_model_config(
      "sequence_batching { control_input { name: 'end' control { int32_false_true: [0, 2147483647] "
      "} } }",
      false);
  ASSERT_TRUE(large) << large.error();
  EXPECT_EQ(large->sequence->controls[0].values[1], 2147483647);
  EXPECT_FALSE(parse_model_config("response_cache { enable: true } sequence_batching { }", false));
}

TEST(ModelConfig, AnEmptyOneHasDefaults) {
  const auto config = parse_model_config("", false);
  ASSERT_TRUE(config) << config.error();
  EXPECT_FALSE(config->max_batch_size);
  EXPECT_EQ(config->instances, 1);
  EXPECT_EQ(config->latest_versions, 1u);
}

TEST(ModelConfig, FieldsWithoutEffectAreListed) {
  const auto config = parse_model_config("optimization { graph { level: 1 } }", false);
  ASSERT_TRUE(config) << config.error();
  EXPECT_THAT(config->unused, Contains(HasSubstr("optimization")));
}

TEST(ModelConfig, WhatIsWrongIsNamed) {
  const auto error = [](const std::string& text) {
    return parse_model_config(text, false).error();
  };
  EXPECT_THAT(error("max_batch_size: 'a'"), HasSubstr("line 1, column 17"));
  EXPECT_THAT(error("max_batch_size: -1"), HasSubstr("max_batch_size: expected 0 or more"));
  EXPECT_THAT(error("max_batch_size: 2 dynamic_batching { preferred_batch_size: 3 }"),
              HasSubstr("preferred_batch_size: expected 1 to max_batch_size, found 3"));
  EXPECT_THAT(error("instance_group { count: 5000 }"), HasSubstr("instance_group.count"));
  EXPECT_THAT(error("dynamic_batching { max_queue_delay_microseconds: 9000000000 }"),
              HasSubstr("an hour"));
  EXPECT_THAT(error("default_model_filename: '../secret'"), HasSubstr("'../secret'"));
  EXPECT_THAT(error("parameters { key: 'warm_up' value { string_value: 'no' } }"),
              HasSubstr("warm_up: expected on or off, found 'no'"));
  EXPECT_THAT(error("parameters { key: 'precision' value { string_value: 'fp4' } }"),
              HasSubstr("'fp4'"));
  EXPECT_NE(parse_model_config("{", true).error(), "");
  EXPECT_THAT(error("input { name: 'x' data_type: 99 }"),
              HasSubstr("data_type: expected one of 15 names, as TYPE_INVALID, found 99"));
  EXPECT_THAT(parse_model_config(R"({"sequence_batching": {"control_input": [
                                     {"name": "x", "control": [{"kind": 17}]}]}})",
                                 true)
                  .error(),
              HasSubstr("kind: expected one of 4 names, as CONTROL_SEQUENCE_START, found 17"));
}

}  // namespace
}  // namespace tenon::server
