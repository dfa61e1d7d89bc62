#include "inference_service.h"

#include <google/protobuf/text_format.h>
#include <google/protobuf/util/message_differencer.h>

#include "test_client.h"

namespace tenon::server {
namespace {

using google::protobuf::util::MessageDifferencer;
using grpc::StatusCode;

class InferenceServiceTest : public GrpcTest {
 protected:
  void SetUp() override { start(); }

  void restart_with_control() {
    server_.reset();
    GrpcOptions with_control = options();
    with_control.allows_model_control = true;
    start(with_control);
  }

  bool is_ready(const std::string& name, const std::string& version = "") {
    inference::ModelReadyRequest request;
    request.set_name(name);
    request.set_version(version);
    inference::ModelReadyResponse response;
    grpc::ClientContext context;
    EXPECT_TRUE(stub_->ModelReady(&context, request, &response).ok());
    return response.ready();
  }

  grpc::Status load(const inference::RepositoryModelLoadRequest& request) {
    grpc::ClientContext context;
    inference::RepositoryModelLoadResponse response;
    return stub_->RepositoryModelLoad(&context, request, &response);
  }

  static inference::RepositoryModelLoadRequest load_of(const std::string& name) {
    inference::RepositoryModelLoadRequest request;
    request.set_model_name(name);
    return request;
  }

  grpc::Status unload(const std::string& name) {
    grpc::ClientContext context;
    inference::RepositoryModelUnloadRequest request;
    request.set_model_name(name);
    (*request.mutable_parameters())["unload_dependents"].set_bool_param(false);
    inference::RepositoryModelUnloadResponse response;
    return stub_->RepositoryModelUnload(&context, request, &response);
  }
};

template <class T> T parsed(const std::string& text) {
  T message;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &message)) << text;
  return message;
}

TEST_F(InferenceServiceTest, IsLiveAndReadyWhenTheModelsAre) {
  for (const bool ready : {true, false}) {
    models_.set_ready(ready);
    grpc::ClientContext live_context, ready_context;
    inference::ServerLiveResponse live_response;
    ASSERT_TRUE(stub_->ServerLive(&live_context, {}, &live_response).ok());
    EXPECT_TRUE(live_response.live());
    inference::ServerReadyResponse ready_response;
    ASSERT_TRUE(stub_->ServerReady(&ready_context, {}, &ready_response).ok());
    EXPECT_EQ(ready_response.ready(), ready);
  }
}

TEST_F(InferenceServiceTest, ModelsAreReadyByVersion) {
  EXPECT_TRUE(is_ready("double"));
  EXPECT_TRUE(is_ready("double", "1"));
  EXPECT_FALSE(is_ready("double", "3"));
  EXPECT_FALSE(is_ready("broken"));
}

TEST_F(InferenceServiceTest, SaysWhatTheServerIs) {
  grpc::ClientContext context;
  inference::ServerMetadataResponse response;
  ASSERT_TRUE(stub_->ServerMetadata(&context, {}, &response).ok());
  EXPECT_EQ(response.name(), "tenon");
  EXPECT_EQ(response.version(), "1.2.3");
  EXPECT_NE(std::ranges::find(response.extensions(), "statistics"), response.extensions().end());
}

TEST_F(InferenceServiceTest, SaysWhatAModelTakesAndGives) {
  grpc::ClientContext context;
  inference::ModelMetadataRequest request;
  request.set_name("double");
  inference::ModelMetadataResponse response;
  ASSERT_TRUE(stub_->ModelMetadata(&context, request, &response).ok());
  const auto expected = parsed<inference::ModelMetadataResponse>(R"(
      name: "double" versions: "1" versions: "2" platform: "tenon_plan"
      inputs { name: "x" datatype: "FP32" shape: -1 shape: 4 }
      outputs { name: "y" datatype: "FP32" shape: -1 shape: 4 }
      outputs { name: "sum" datatype: "FP32" shape: -1 })");
  EXPECT_TRUE(MessageDifferencer::Equals(response, expected)) << response.DebugString();
}

TEST_F(InferenceServiceTest, SaysTheConfigurationWithoutTheBatch) {
  const auto config_of = [this](const std::string& name) {
    grpc::ClientContext context;
    inference::ModelConfigRequest request;
    request.set_name(name);
    inference::ModelConfigResponse response;
    EXPECT_TRUE(stub_->ModelConfig(&context, request, &response).ok());
    return response.config();
  };
  const auto batched = config_of("double");
  EXPECT_TRUE(MessageDifferencer::Equals(batched, parsed<inference::ModelConfig>(R"(
      name: "double" platform: "tenon_plan" backend: "tenon" max_batch_size: 8
      version_policy { latest { num_versions: 1 } } instance_group { name: "double" count: 1 }
      dynamic_batching {} input { name: "x" data_type: TYPE_FP32 dims: 4 }
      output { name: "y" data_type: TYPE_FP32 dims: 4 }
      output { name: "sum" data_type: TYPE_FP32 })")))
      << batched.DebugString();
  const auto single = config_of("echo_BF16");
  EXPECT_TRUE(MessageDifferencer::Equals(single, parsed<inference::ModelConfig>(R"(
      name: "echo_BF16" platform: "tenon_plan" backend: "tenon" max_batch_size: 0
      version_policy { latest { num_versions: 1 } } instance_group { name: "echo_BF16" count: 1 }
      input { name: "x" data_type: TYPE_BF16 dims: -1 }
      output { name: "y" data_type: TYPE_BF16 dims: -1 })")))
      << single.DebugString();
}

TEST_F(InferenceServiceTest, UnknownModelsAreNotFound) {
  grpc::ClientContext metadata_context, config_context, statistics_context;
  inference::ModelMetadataRequest metadata_request;
  metadata_request.set_name("triple");
  inference::ModelMetadataResponse metadata;
  expect(stub_->ModelMetadata(&metadata_context, metadata_request, &metadata),
         StatusCode::NOT_FOUND, "there is no model 'triple'");
  inference::ModelConfigRequest config_request;
  config_request.set_name("double");
  config_request.set_version("7");
  inference::ModelConfigResponse config;
  expect(stub_->ModelConfig(&config_context, config_request, &config), StatusCode::NOT_FOUND,
         "model 'double' has no version '7'");
  inference::ModelStatisticsRequest statistics_request;
  statistics_request.set_name("triple");
  inference::ModelStatisticsResponse statistics;
  expect(stub_->ModelStatistics(&statistics_context, statistics_request, &statistics),
         StatusCode::NOT_FOUND, "there is no model 'triple'");
}

TEST_F(InferenceServiceTest, CountsRequestsOfAModelAndOfAll) {
  ASSERT_TRUE(infer(row_of(1)).ok());
  ASSERT_TRUE(infer(row_of(2)).ok());
  EXPECT_FALSE(infer(request_for("double", "FP32", {1, 3}, std::string(12, '\0'))).ok());
  inference::ModelStatisticsRequest request;
  request.set_name("double");
  inference::ModelStatisticsResponse response;
  grpc::ClientContext context, version_context, context_of_all;
  ASSERT_TRUE(stub_->ModelStatistics(&context, request, &response).ok());
  ASSERT_EQ(response.model_stats_size(), 2);
  EXPECT_EQ(response.model_stats(0).version(), "1");
  EXPECT_EQ(response.model_stats(0).inference_count(), 0u);
  request.set_version("2");
  ASSERT_TRUE(stub_->ModelStatistics(&version_context, request, &response).ok());
  ASSERT_EQ(response.model_stats_size(), 1);
  EXPECT_EQ(response.model_stats(0).version(), "2");
  EXPECT_EQ(response.model_stats(0).inference_count(), 2u);
  EXPECT_EQ(response.model_stats(0).execution_count(), 2u);
  EXPECT_EQ(response.model_stats(0).inference_stats().success().count(), 2u);
  EXPECT_EQ(response.model_stats(0).inference_stats().success().ns(), 2'000'000u);
  EXPECT_EQ(response.model_stats(0).inference_stats().fail().count(), 1u);
  ASSERT_TRUE(stub_->ModelStatistics(&context_of_all, {}, &response).ok());
  EXPECT_EQ(response.model_stats_size(), 10);  // double twice, and eight of echo
}

TEST_F(InferenceServiceTest, ListsTheRepository) {
  inference::RepositoryIndexRequest request;
  inference::RepositoryIndexResponse response;
  grpc::ClientContext all_context, ready_context, named_context;
  ASSERT_TRUE(stub_->RepositoryIndex(&all_context, request, &response).ok());
  EXPECT_EQ(response.models_size(), 11);
  const auto broken = std::ranges::find(response.models(), "broken",
                                        &inference::RepositoryIndexResponse::ModelIndex::name);
  ASSERT_NE(broken, response.models().end());
  EXPECT_EQ(broken->state(), "UNAVAILABLE");
  EXPECT_EQ(broken->reason(), "its plan is damaged");
  request.set_ready(true);
  ASSERT_TRUE(stub_->RepositoryIndex(&ready_context, request, &response).ok());
  EXPECT_EQ(response.models_size(), 10);
  EXPECT_EQ(response.models(0).state(), "READY");
  request.set_repository_name("other");
  expect(stub_->RepositoryIndex(&named_context, request, &response), StatusCode::INVALID_ARGUMENT,
         "repository_name: there is one repository, without a name; found 'other'");
}

TEST_F(InferenceServiceTest, LoadingIsRefusedUnlessAllowed) {
  const std::string text =
      "loading and unloading is off: start the server with --model-control-mode=explicit";
  expect(load(load_of("double")), StatusCode::PERMISSION_DENIED, text);
  expect(unload("double"), StatusCode::PERMISSION_DENIED, text);
  EXPECT_TRUE(is_ready("double"));
}

TEST_F(InferenceServiceTest, LoadsAndUnloadsWhereAllowed) {
  restart_with_control();
  EXPECT_TRUE(unload("double").ok());
  EXPECT_FALSE(is_ready("double"));
  expect(infer(row_of(1)), StatusCode::NOT_FOUND, "there is no model 'double'");
  EXPECT_TRUE(load(load_of("double")).ok());
  EXPECT_TRUE(infer(row_of(1)).ok());
}

TEST_F(InferenceServiceTest, LoadingThatFailsSaysWhy) {
  restart_with_control();
  expect(load(load_of("broken")), StatusCode::INTERNAL, "model 'broken': its plan is damaged");
  expect(load(load_of("triple")), StatusCode::NOT_FOUND, "the repository has no model 'triple'");
  expect(unload("triple"), StatusCode::NOT_FOUND, "the repository has no model 'triple'");
  auto request = load_of("double");
  (*request.mutable_parameters())["config"].set_string_param("{}");
  EXPECT_TRUE(load(request).ok());
  EXPECT_EQ(models_.last_config(), "{}");
  (*request.mutable_parameters())["config"].set_bool_param(true);
  expect(load(request), StatusCode::INVALID_ARGUMENT,
         "parameter 'config': expected a string of JSON");
  request = load_of("double");
  (*request.mutable_parameters())["file:1/model.onnx"].set_bytes_param("x");
  expect(load(request), StatusCode::INVALID_ARGUMENT,
         "parameter 'file:1/model.onnx': a model's files are those of its folder; others are not "
         "supported yet");
}

TEST_F(InferenceServiceTest, SettingsAreChangedAndAnswered) {
  grpc::ClientContext trace_context, change_context, log_context, file_context;
  inference::TraceSettingRequest trace_request;
  inference::TraceSettingResponse trace;
  ASSERT_TRUE(stub_->TraceSetting(&trace_context, trace_request, &trace).ok());
  EXPECT_EQ(trace.settings().at("trace_level").value(0), "OFF");
  (*trace_request.mutable_settings())["trace_level"].add_value("TIMESTAMPS");
  EXPECT_EQ(stub_->TraceSetting(&change_context, trace_request, &trace).error_code(),
            StatusCode::INVALID_ARGUMENT);
  inference::LogSettingsRequest log_request;
  (*log_request.mutable_settings())["log_info"].set_bool_param(true);
  inference::LogSettingsResponse log;
  ASSERT_TRUE(stub_->LogSettings(&log_context, log_request, &log).ok());
  EXPECT_EQ(log.settings().at("log_verbose_level").uint32_param(), 0u);
  (*log_request.mutable_settings())["log_file"].set_string_param("/tmp/log");
  const auto status = stub_->LogSettings(&file_context, log_request, &log);
  EXPECT_EQ(status.error_code(), StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(status.error_message().find("setting 'log_file': "), 0u) << status.error_message();
}

TEST_F(InferenceServiceTest, CudaSharedMemoryIsNotSupportedYet) {
  grpc::ClientContext context;
  inference::CudaSharedMemoryStatusResponse response;
  expect(stub_->CudaSharedMemoryStatus(&context, {}, &response), StatusCode::UNIMPLEMENTED,
         "CUDA shared memory is not supported yet");
}

}  // namespace
}  // namespace tenon::server
