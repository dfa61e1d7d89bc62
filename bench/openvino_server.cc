// A peer of tenon-server: OpenVINO behind gRPC's callback API, as its examples have it. Requests
// wait for one of the compiled model's infer requests; tensors are read where gRPC put them.
// bench/server.py compiles it against the wheel's headers. openvino_server MODEL.onnx PORT HINT
// THREADS
#include <grpcpp/grpcpp.h>

#include <cstdio>
#include <deque>
#include <map>
#include <mutex>
#include <openvino/openvino.hpp>
#include <string>
#include <vector>

#include "inference.grpc.pb.h"

namespace {

using Request = inference::ModelInferRequest;
using Response = inference::ModelInferResponse;

// All are of one model, which has one output.
struct Call {
  const Request* request;
  Response* response;
  grpc::ServerUnaryReactor* reactor;
};

class Service final : public inference::GRPCInferenceService::CallbackService {
 public:
  Service(ov::Core& core, const std::string& path, const std::string& hint, int threads) {
    model_ = core.compile_model(
        path, "CPU",
        {ov::hint::performance_mode(hint == "throughput" ? ov::hint::PerformanceMode::THROUGHPUT
                                                         : ov::hint::PerformanceMode::LATENCY),
         ov::hint::inference_precision(
             ov::element::f32),  // by default bfloat16, where there is that
         ov::inference_num_threads(threads)});
    const auto count = model_.get_property(ov::optimal_number_of_infer_requests);
    for (uint32_t i = 0; i < count; ++i) {
      requests_.push_back(model_.create_infer_request());
      free_.push_back(i);
    }
  }

  grpc::ServerUnaryReactor* ModelMetadata(grpc::CallbackServerContext* context,
                                          const inference::ModelMetadataRequest* request,
                                          inference::ModelMetadataResponse* response) override {
    response->set_name(request->name());
    for (const auto& input : model_.inputs()) {
      auto& to = *response->add_inputs();
      to.set_name(input.get_any_name());
      to.set_datatype(input.get_element_type() == ov::element::f32 ? "FP32" : "INT64");
      for (const auto& extent : input.get_partial_shape())
        to.add_shape(extent.is_static() ? extent.get_length() : -1);
    }
    auto* reactor = context->DefaultReactor();
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }

  grpc::ServerUnaryReactor* ModelInfer(grpc::CallbackServerContext* context, const Request* request,
                                       Response* response) override {
    auto* reactor = context->DefaultReactor();
    const Call call{request, response, reactor};
    uint32_t index = 0;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      if (free_.empty()) {
        waiting_.push_back(call);
        return reactor;
      }
      index = free_.back();
      free_.pop_back();
    }
    start(index, call);
    return reactor;
  }

 private:
  void start(uint32_t index, const Call& call) {
    ov::InferRequest& infer = requests_[index];
    for (int i = 0; i < call.request->inputs_size(); ++i) {
      const auto& input = call.request->inputs(i);
      const ov::Shape shape(input.shape().begin(), input.shape().end());
      infer.set_tensor(input.name(),
                       ov::Tensor(model_.input(input.name()).get_element_type(), shape,
                                  const_cast<char*>(call.request->raw_input_contents(i).data())));
    }
    infer.set_callback([this, index, call](const std::exception_ptr& error) {
      grpc::Status status = grpc::Status::OK;
      if (error != nullptr)
        status = {grpc::StatusCode::INTERNAL, "OpenVINO failed"};
      else
        respond(requests_[index], *call.response);
      call.reactor->Finish(status);
      next(index);
    });
    infer.start_async();
  }

  void respond(ov::InferRequest& infer, Response& response) {
    for (const auto& output : model_.outputs()) {
      const ov::Tensor tensor = infer.get_tensor(output);
      auto& to = *response.add_outputs();
      to.set_name(output.get_any_name());
      to.set_datatype("FP32");
      for (const size_t extent : tensor.get_shape()) to.add_shape(static_cast<int64_t>(extent));
      response.add_raw_output_contents(tensor.data(), tensor.get_byte_size());
    }
  }

  void next(uint32_t index) {
    Call call{};
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      if (waiting_.empty()) {
        free_.push_back(index);
        return;
      }
      call = waiting_.front();
      waiting_.pop_front();
    }
    start(index, call);
  }

  ov::CompiledModel model_;
  std::vector<ov::InferRequest> requests_;
  std::mutex mutex_;
  std::vector<uint32_t> free_;
  std::deque<Call> waiting_;
};

}  // namespace

int main(int count, char** words) {
  if (count != 5) {
    std::fprintf(stderr, "openvino_server MODEL.onnx PORT latency|throughput THREADS\n");
    return 1;
  }
  ov::Core core;
  Service service(core, words[1], words[3], std::stoi(words[4]));
  grpc::ServerBuilder builder;
  builder.AddListeningPort(std::string("127.0.0.1:") + words[2], grpc::InsecureServerCredentials());
  builder.RegisterService(&service);
  builder.SetMaxReceiveMessageSize(-1);
  const auto server = builder.BuildAndStart();
  if (server == nullptr) return 1;
  std::printf("ready\n");
  std::fflush(stdout);
  server->Wait();
}
