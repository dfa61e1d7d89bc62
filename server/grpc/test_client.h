// A server over made-up models, and a client of it, for tests.
#pragma once

#include <fmt/format.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <cstring>
#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

#include "grpc_server.h"
#include "inference.grpc.pb.h"
#include "model/fake_models.h"

namespace tenon::server {

using Stub = inference::GRPCInferenceService::Stub;

/// The little-endian bytes of elements.
template <class T> std::string bytes_of(const std::vector<T>& elements) {
  std::string bytes(elements.size() * sizeof(T), '\0');
  if (!bytes.empty()) std::memcpy(bytes.data(), elements.data(), bytes.size());
  return bytes;
}

template <class T> std::vector<T> elements_of(const std::string& bytes) {
  std::vector<T> elements(bytes.size() / sizeof(T));
  if (!elements.empty()) std::memcpy(elements.data(), bytes.data(), bytes.size());
  return elements;
}

/// Of one input "x", raw.
inline inference::ModelInferRequest request_for(const std::string& model,
                                                const std::string& datatype,
                                                std::initializer_list<int64_t> shape,
                                                const std::string& bytes) {
  inference::ModelInferRequest request;
  request.set_model_name(model);
  auto& input = *request.add_inputs();
  input.set_name("x");
  input.set_datatype(datatype);
  for (const int64_t extent : shape) input.add_shape(extent);
  request.add_raw_input_contents(bytes);
  return request;
}

/// Of "double": one row, all elements of which are `value`.
inline inference::ModelInferRequest row_of(float value, const std::string& id = "") {
  auto request = request_for("double", "FP32", {1, 4}, bytes_of<float>(std::vector(4, value)));
  request.set_id(id);
  return request;
}

class GrpcTest : public testing::Test {
 protected:
  static GrpcOptions options() {
    GrpcOptions options;
    options.address = "127.0.0.1:0";
    options.version = "1.2.3";
    return options;
  }

  void start(const GrpcOptions& options = GrpcTest::options()) {
    auto started = GrpcServer::start(models_, options);
    ASSERT_TRUE(started) << started.error();
    server_ = *std::move(started);
    stub_ = connect(grpc::InsecureChannelCredentials());
  }

  std::unique_ptr<Stub> connect(const std::shared_ptr<grpc::ChannelCredentials>& credentials,
                                grpc::ChannelArguments arguments = {}) {
    arguments.SetMaxReceiveMessageSize(-1);
    channel_ = grpc::CreateCustomChannel(fmt::format("localhost:{}", server_->port()), credentials,
                                         arguments);
    return inference::GRPCInferenceService::NewStub(channel_);
  }

  /// The status of an inference, and its response.
  grpc::Status infer(const inference::ModelInferRequest& request) {
    grpc::ClientContext context;
    response_.Clear();
    return stub_->ModelInfer(&context, request, &response_);
  }

  static void expect(const grpc::Status& status, grpc::StatusCode code, const std::string& text) {
    EXPECT_EQ(status.error_code(), code) << status.error_message();
    EXPECT_EQ(status.error_message(), text);
  }

  FakeModels models_;
  std::unique_ptr<GrpcServer> server_;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<Stub> stub_;
  inference::ModelInferResponse response_;
};

}  // namespace tenon::server
