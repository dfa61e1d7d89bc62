// The floor of tenon-server's gRPC: an answer of as many bytes as the request's tensor has, by the
// same API, and no model, no checks and no queue. bench/server.py compiles it. grpc_echo ADDRESS
// ELEMENTS
#include <absl/synchronization/mutex.h>
#include <grpcpp/grpcpp.h>

#include <cstdio>
#include <string>

#include "inference.grpc.pb.h"

namespace {

using Protocol = inference::GRPCInferenceService;

class Service final : public Protocol::WithCallbackMethod_ModelMetadata<
                          Protocol::WithRawCallbackMethod_ModelInfer<Protocol::Service>> {
 public:
  explicit Service(int64_t elements) : elements_(elements) {
    inference::ModelInferResponse response;
    response.set_model_name("tiny");
    auto& output = *response.add_outputs();
    output.set_name("y");
    output.set_datatype("FP32");
    output.add_shape(1);
    output.add_shape(elements);
    response.add_raw_output_contents(std::string(static_cast<size_t>(elements) * 4, '\0'));
    const grpc::Slice slice(response.SerializeAsString());
    response_ = grpc::ByteBuffer(&slice, 1);
  }

  grpc::ServerUnaryReactor* ModelMetadata(grpc::CallbackServerContext* context,
                                          const inference::ModelMetadataRequest* request,
                                          inference::ModelMetadataResponse* response) override {
    response->set_name(request->name());
    auto& input = *response->add_inputs();
    input.set_name("x");
    input.set_datatype("FP32");
    input.add_shape(1);
    input.add_shape(elements_);
    return finished(context);
  }

  grpc::ServerUnaryReactor* ModelInfer(grpc::CallbackServerContext* context,
                                       const grpc::ByteBuffer*,
                                       grpc::ByteBuffer* response) override {
    *response = response_;
    return finished(context);
  }

 private:
  static grpc::ServerUnaryReactor* finished(grpc::CallbackServerContext* context) {
    auto* const reactor = context->DefaultReactor();
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }

  const int64_t elements_;
  grpc::ByteBuffer response_;
};

}  // namespace

int main(int count, char** words) {
  if (count != 3) {
    std::fprintf(stderr, "grpc_echo ADDRESS ELEMENTS\n");
    return 1;
  }
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
  Service service(std::stoll(words[2]));
  grpc::ServerBuilder builder;
  builder.AddListeningPort(words[1], grpc::InsecureServerCredentials());
  builder.RegisterService(&service);
  const auto server = builder.BuildAndStart();
  if (server == nullptr) return 1;
  std::printf("ready\n");
  std::fflush(stdout);
  server->Wait();
}
