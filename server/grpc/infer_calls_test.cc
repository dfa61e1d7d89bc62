#include "infer_calls.h"

#include <grpcpp/generic/generic_stub.h>

#include <atomic>
#include <future>
#include <map>
#include <set>
#include <thread>

#include "test_client.h"

namespace tenon::server {
namespace {

using grpc::StatusCode;
using inference::ModelInferRequest;
using inference::ModelStreamInferResponse;
using std::chrono::milliseconds;

class InferCallsTest : public GrpcTest {
 protected:
  void SetUp() override {
    GrpcOptions small = options();
    small.max_message_bytes = 1 << 20;
    small.max_stream_requests = 4;
    start(small);
  }
};

TEST_F(InferCallsTest, AnswersAllOutputsRaw) {
  ASSERT_TRUE(
      infer(request_for("double", "FP32", {2, 4}, bytes_of<float>({0, 1, 2, 3, 4, 5, 6, 7}))).ok());
  EXPECT_EQ(response_.model_name(), "double");
  EXPECT_EQ(response_.model_version(), "2");
  ASSERT_EQ(response_.outputs_size(), 2);
  EXPECT_EQ(response_.outputs(0).name(), "y");
  EXPECT_EQ(response_.outputs(0).shape_size(), 2);
  EXPECT_FALSE(response_.outputs(0).has_contents());
  EXPECT_EQ(elements_of<float>(response_.raw_output_contents(0)),
            (std::vector<float>{0, 2, 4, 6, 8, 10, 12, 14}));
  EXPECT_EQ(response_.outputs(1).name(), "sum");
  EXPECT_EQ(elements_of<float>(response_.raw_output_contents(1)), (std::vector<float>{6, 22}));
}

TEST_F(InferCallsTest, AnswersTheOutputsThatAreNamedOfTheVersionThatIs) {
  auto request = row_of(2.5f, "an id");
  request.set_model_version("1");
  request.add_outputs()->set_name("sum");
  ASSERT_TRUE(infer(request).ok());
  EXPECT_EQ(response_.id(), "an id");
  EXPECT_EQ(response_.model_version(), "1");
  ASSERT_EQ(response_.outputs_size(), 1);
  ASSERT_EQ(response_.raw_output_contents_size(), 1);
  EXPECT_EQ(elements_of<float>(response_.raw_output_contents(0)), std::vector<float>{10});
}

TEST_F(InferCallsTest, AnswersTypedWhereAsked) {
  auto request = row_of(4);
  (*request.mutable_parameters())["binary_data_output"].set_bool_param(false);
  ASSERT_TRUE(infer(request).ok());
  EXPECT_EQ(response_.raw_output_contents_size(), 0);
  const auto& contents = response_.outputs(0).contents().fp32_contents();
  EXPECT_EQ(std::vector(contents.begin(), contents.end()), std::vector<float>(4, 8));

  request = request_for("echo_INT8", "INT8", {2}, "\xff\x01");
  (*request.mutable_parameters())["binary_data_output"].set_bool_param(false);
  ASSERT_TRUE(infer(request).ok());
  EXPECT_EQ(response_.outputs(0).contents().int_contents(0), -1);

  request = request_for("echo_BF16", "BF16", {1}, "ab");
  (*request.mutable_parameters())["binary_data_output"].set_bool_param(false);
  expect(infer(request), StatusCode::INVALID_ARGUMENT,
         "echo_BF16: output 'y' is BF16, which has raw_output_contents only; leave out the "
         "parameter 'binary_data_output'");
}

TEST_F(InferCallsTest, AnswersClassesWhereAsked) {
  auto request = request_for("double", "FP32", {2, 4}, bytes_of<float>({1, 5, 3, 4, 8, 6, 7, 9}));
  auto& output = *request.add_outputs();
  output.set_name("y");
  (*output.mutable_parameters())["classification"].set_int64_param(1);
  ASSERT_TRUE(infer(request).ok());
  EXPECT_EQ(response_.outputs(0).datatype(), "BYTES");
  EXPECT_EQ(response_.outputs(0).shape(1), 1);
  EXPECT_EQ(response_.raw_output_contents(0), std::string("\4\0\0\0"
                                                          "10:1"
                                                          "\4\0\0\0"
                                                          "18:3",
                                                          16));
  (*request.mutable_parameters())["binary_data_output"].set_bool_param(false);
  ASSERT_TRUE(infer(request).ok());
  const auto& contents = response_.outputs(0).contents().bytes_contents();
  EXPECT_EQ(std::vector<std::string>(contents.begin(), contents.end()),
            (std::vector<std::string>{"10:1", "18:3"}));
}

TEST_F(InferCallsTest, TheMessagesLengthIsTheRequests) {
  const auto request = row_of(1);
  ASSERT_TRUE(infer(request).ok());
  EXPECT_EQ(models_.switches().seen().bytes, request.ByteSizeLong());
}

TEST_F(InferCallsTest, EmptyTensorsAreAnswered) {
  ASSERT_TRUE(infer(request_for("double", "FP32", {0, 4}, "")).ok());
  EXPECT_EQ(response_.outputs(0).shape(0), 0);
  ASSERT_EQ(response_.raw_output_contents_size(), 2);
  EXPECT_EQ(response_.raw_output_contents(0), "");
}

TEST_F(InferCallsTest, FailuresHaveTheirCodes) {
  const std::map<Failure, StatusCode> codes = {{Failure::kInvalid, StatusCode::INVALID_ARGUMENT},
                                               {Failure::kNotFound, StatusCode::NOT_FOUND},
                                               {Failure::kFull, StatusCode::RESOURCE_EXHAUSTED},
                                               {Failure::kUnavailable, StatusCode::UNAVAILABLE},
                                               {Failure::kExpired, StatusCode::DEADLINE_EXCEEDED},
                                               {Failure::kCancelled, StatusCode::CANCELLED},
                                               {Failure::kInternal, StatusCode::INTERNAL}};
  for (const auto& [failure, code] : codes) {
    models_.switches().fail_with(RequestError{failure, "this is why"});
    expect(infer(row_of(1)), code, "this is why");
  }
}

TEST_F(InferCallsTest, UnknownModelsAndVersionsAreNotFound) {
  auto request = row_of(1);
  request.set_model_version("3");
  expect(infer(request), StatusCode::NOT_FOUND, "model 'double' has no version '3'");
  request.set_model_name("triple");
  request.clear_model_version();
  expect(infer(request), StatusCode::NOT_FOUND, "there is no model 'triple'");
}

TEST_F(InferCallsTest, BytesThatAreNoRequestAreRefused) {
  grpc::GenericStub generic(channel_);
  grpc::ClientContext context;
  const grpc::Slice slice("\xff\xff\xff");
  const grpc::ByteBuffer request(&slice, 1);
  grpc::ByteBuffer response;
  std::promise<grpc::Status> done;
  generic.UnaryCall(&context, "/inference.GRPCInferenceService/ModelInfer", {}, &request, &response,
                    [&](grpc::Status status) { done.set_value(std::move(status)); });
  expect(done.get_future().get(), StatusCode::INVALID_ARGUMENT,
         "the request is no message ModelInferRequest");
}

TEST_F(InferCallsTest, LargerMessagesAreRefused) {
  const auto status =
      infer(request_for("double", "FP32", {1 << 16, 4}, std::string(size_t{1} << 20, '\0')));
  EXPECT_EQ(status.error_code(), StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_NE(status.error_message().find("larger than max"), std::string::npos)
      << status.error_message();
  EXPECT_TRUE(infer(row_of(1)).ok());
}

TEST_F(InferCallsTest, CompressedMessagesAreRefused) {
  grpc::ClientContext context;
  context.set_compression_algorithm(GRPC_COMPRESS_GZIP);
  const auto status = stub_->ModelInfer(
      &context, request_for("double", "FP32", {1 << 12, 4}, std::string(1 << 16, '\0')),
      &response_);
  EXPECT_EQ(status.error_code(), StatusCode::UNIMPLEMENTED) << status.error_message();
}

TEST_F(InferCallsTest, TheDeadlineOfTheCallIsThatOfTheRequest) {
  models_.switches().hold(true);
  grpc::ClientContext context;
  const auto before = Clock::now();
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(1));
  EXPECT_EQ(stub_->ModelInfer(&context, row_of(1), &response_).error_code(),
            StatusCode::DEADLINE_EXCEEDED);
  EXPECT_TRUE(models_.switches().wait_for_waiting(0));
  const auto deadline = models_.switches().seen().deadline;
  ASSERT_TRUE(deadline);
  EXPECT_LT(*deadline, before + std::chrono::seconds(60));
}

TEST_F(InferCallsTest, TheTimeoutOfTheRequestIsItsDeadline) {
  models_.switches().hold(true);
  auto request = row_of(1);
  (*request.mutable_parameters())["timeout"].set_int64_param(50'000);
  expect(infer(request), StatusCode::DEADLINE_EXCEEDED, "its deadline passed");
}

TEST_F(InferCallsTest, CancelledCallsStopTheirRequests) {
  models_.switches().hold(true);
  grpc::ClientContext context;
  std::thread client([&] {
    EXPECT_EQ(stub_->ModelInfer(&context, row_of(1), &response_).error_code(),
              StatusCode::CANCELLED);
  });
  EXPECT_TRUE(models_.switches().wait_for_waiting(1));
  context.TryCancel();
  client.join();
  EXPECT_TRUE(models_.switches().wait_for_waiting(0));
}

TEST_F(InferCallsTest, TheTraceIsPassedOn) {
  grpc::ClientContext context;
  const std::string trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
  context.AddMetadata("traceparent", trace);
  ASSERT_TRUE(stub_->ModelInfer(&context, row_of(1), &response_).ok());
  EXPECT_EQ(models_.switches().seen().trace, trace);
  EXPECT_FALSE(models_.switches().seen().deadline);
}

TEST_F(InferCallsTest, ManyThreadsGetTheirOwnAnswers) {
  std::atomic<int> wrong = 0;
  std::vector<std::thread> clients;
  for (int client = 0; client < 16; ++client) {
    clients.emplace_back([&, client] {
      for (int i = 0; i < 50; ++i) {
        const float value = static_cast<float>(client * 100 + i);
        grpc::ClientContext context;
        inference::ModelInferResponse response;
        const auto id = fmt::format("{}", value);
        const bool is_right =
            stub_->ModelInfer(&context, row_of(value, id), &response).ok() && response.id() == id
            && elements_of<float>(response.raw_output_contents(0)) == std::vector(4, 2 * value);
        wrong += is_right ? 0 : 1;
      }
    });
  }
  for (std::thread& client : clients) client.join();
  EXPECT_EQ(wrong, 0);
}

TEST_F(InferCallsTest, AStreamOfAThousandRequestsIsAnswered) {
  grpc::ClientContext context;
  const auto stream = stub_->ModelStreamInfer(&context);
  std::thread writer([&] {
    for (int i = 0; i < 1000; ++i) {
      ASSERT_TRUE(stream->Write(row_of(static_cast<float>(i), std::to_string(i))));
    }
    stream->WritesDone();
  });
  std::set<std::string> ids;
  ModelStreamInferResponse answer;
  while (stream->Read(&answer)) {
    EXPECT_EQ(answer.error_message(), "");
    const auto& response = answer.infer_response();
    EXPECT_EQ(elements_of<float>(response.raw_output_contents(0)),
              std::vector(4, 2 * std::stof(response.id())));
    ids.insert(response.id());
  }
  writer.join();
  EXPECT_EQ(ids.size(), 1000u);
  EXPECT_TRUE(stream->Finish().ok());
}

TEST_F(InferCallsTest, AStreamGoesOnAfterErrors) {
  grpc::ClientContext context;
  const auto stream = stub_->ModelStreamInfer(&context);
  auto bad = row_of(1, "bad");
  bad.set_model_name("triple");
  ASSERT_TRUE(stream->Write(bad));
  ModelStreamInferResponse answer;
  ASSERT_TRUE(stream->Read(&answer));
  EXPECT_EQ(answer.error_message(), "there is no model 'triple'");
  EXPECT_EQ(answer.infer_response().id(), "bad");
  ASSERT_TRUE(stream->Write(row_of(1, "good")));
  ASSERT_TRUE(stream->Read(&answer));
  EXPECT_EQ(answer.error_message(), "");
  EXPECT_EQ(answer.infer_response().id(), "good");
  stream->WritesDone();
  EXPECT_FALSE(stream->Read(&answer));
  EXPECT_TRUE(stream->Finish().ok());
}

TEST_F(InferCallsTest, AStreamHasABoundOfRequestsAtWork) {
  models_.switches().hold(true);
  grpc::ClientContext context;
  const auto stream = stub_->ModelStreamInfer(&context);
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(stream->Write(row_of(1)));
  stream->WritesDone();
  EXPECT_TRUE(models_.switches().wait_for_waiting(4));
  std::this_thread::sleep_for(milliseconds(100));
  EXPECT_TRUE(models_.switches().wait_for_waiting(4));
  models_.switches().hold(false);
  ModelStreamInferResponse answer;
  int answers = 0;
  while (stream->Read(&answer)) ++answers;
  EXPECT_EQ(answers, 10);
  EXPECT_TRUE(stream->Finish().ok());
}

TEST_F(InferCallsTest, ACancelledStreamStopsItsRequests) {
  models_.switches().hold(true);
  grpc::ClientContext context;
  const auto stream = stub_->ModelStreamInfer(&context);
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(stream->Write(row_of(1)));
  EXPECT_TRUE(models_.switches().wait_for_waiting(3));
  context.TryCancel();
  ModelStreamInferResponse answer;
  EXPECT_FALSE(stream->Read(&answer));
  EXPECT_EQ(stream->Finish().error_code(), StatusCode::CANCELLED);
  EXPECT_TRUE(models_.switches().wait_for_waiting(0));
}

}  // namespace
}  // namespace tenon::server
