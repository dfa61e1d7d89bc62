#include "grpc_transport.h"

#include <absl/synchronization/mutex.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
#include <tenon/printable.h>
#include <tenon/session/result.h>

#include <algorithm>
#include <atomic>
#include <cctype>
#include <mutex>
#include <thread>
#include <unordered_set>
#include <utility>

#include "inference.grpc.pb.h"

namespace tenon::load {
namespace {

using session::Error;

std::shared_ptr<grpc::Channel> make_channel(const std::string& url) {
  // As in server/grpc: Debian's Abseil looks for deadlocks at each lock.
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(-1);
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);  // else all channels are one connection
  // A server that is started again is found at once.
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 1000);
  return grpc::CreateCustomChannel(url, grpc::InsecureChannelCredentials(), arguments);
}

void set_up(grpc::ClientContext& context, const MessageOptions& options,
            std::chrono::milliseconds timeout) {
  for (const auto& [name, value] : options.headers) {
    std::string key = name;
    std::ranges::transform(key, key.begin(), [](unsigned char c) { return std::tolower(c); });
    context.AddMetadata(key, value);
  }
  context.set_deadline(std::chrono::system_clock::now() + timeout);
}

std::string text_of(const grpc::Status& status) {
  return "code " + std::to_string(status.error_code()) + ": " + status.error_message();
}

Outcome outcome_of(const grpc::Status& status) {
  switch (status.error_code()) {
    case grpc::StatusCode::OK:
      return Outcome::kAnswered;
    case grpc::StatusCode::RESOURCE_EXHAUSTED:
      return Outcome::kRefused;
    case grpc::StatusCode::DEADLINE_EXCEEDED:
      return Outcome::kExpired;
    default:
      return Outcome::kFailed;
  }
}

struct Call {
  Sent sent;
  grpc::ClientContext context;
  grpc::ByteBuffer response;
  grpc::Status status;
  std::unique_ptr<grpc::GenericClientAsyncResponseReader> reader;
};

// A thread that takes answers, and the channels whose answers it takes.
class Shard {
 public:
  Shard(const std::string& url, const grpc::ByteBuffer& message, const MessageOptions& options,
        const TransportOptions& of_transport, size_t channels, const Receive& receive)
      : message_(message), options_(options), timeout_(of_transport.timeout), receive_(receive) {
    for (size_t i = 0; i < channels; ++i)
      stubs_.push_back(std::make_unique<grpc::GenericStub>(make_channel(url)));
    thread_ = std::thread([this] { take(); });
  }
  ~Shard() { end(); }

  /// Cancels what is under way; nothing is received afterwards.
  void end() {
    if (!thread_.joinable()) return;
    {
      const std::lock_guard lock(mutex_);
      is_over_ = true;
      for (Call* const call : calls_) call->context.TryCancel();
      queue_.Shutdown();
    }
    thread_.join();
  }

  bool is_this_thread() const { return std::this_thread::get_id() == thread_.get_id(); }

  void send(Clock::time_point intended) {
    auto call = std::make_unique<Call>();
    call->sent.intended = intended;
    set_up(call->context, options_, timeout_);
    call->sent.sent = Clock::now();
    const std::lock_guard lock(mutex_);
    if (is_over_) return;
    grpc::GenericStub& stub = *stubs_[next_++ % stubs_.size()];
    call->reader = stub.PrepareUnaryCall(
        &call->context, "/inference.GRPCInferenceService/ModelInfer", message_, &queue_);
    call->reader->StartCall();
    Call* const tag = call.release();
    calls_.insert(tag);
    tag->reader->Finish(&tag->response, &tag->status, tag);
  }

 private:
  void take() {
    void* tag = nullptr;
    bool is_good = false;
    while (queue_.Next(&tag, &is_good)) {
      const std::unique_ptr<Call> call(static_cast<Call*>(tag));
      bool is_over = false;
      {
        const std::lock_guard lock(mutex_);
        calls_.erase(call.get());
        is_over = is_over_;
      }
      Sent sent = std::move(call->sent);
      sent.outcome = outcome_of(call->status);
      if (!call->status.ok()) sent.text = text_of(call->status);
      if (!is_over) receive_(std::move(sent));
    }
  }

  const grpc::ByteBuffer& message_;
  const MessageOptions& options_;
  const std::chrono::milliseconds timeout_;
  const Receive& receive_;
  std::mutex mutex_;
  bool is_over_ = false;  // nothing is started any more
  size_t next_ = 0;
  std::unordered_set<Call*> calls_;  // under way
  std::vector<std::unique_ptr<grpc::GenericStub>> stubs_;
  grpc::CompletionQueue queue_;
  std::thread thread_;  // last: it uses what is above
};

class GrpcTransport final : public Transport {
 public:
  GrpcTransport(const std::string& url, const std::string& message, const MessageOptions& options,
                const TransportOptions& of_transport, Receive receive)
      : message_(one_slice(message)), options_(options), receive_(std::move(receive)) {
    const size_t connections = std::max<size_t>(of_transport.connections, 1);
    const size_t count = std::min(std::max<size_t>(of_transport.threads, 1), connections);
    for (size_t i = 0; i < count; ++i)
      shards_.push_back(std::make_unique<Shard>(url, message_, options_, of_transport,
                                                (connections + count - 1 - i) / count, receive_));
  }

  void send(Clock::time_point intended) override {
    for (const auto& shard : shards_)
      if (shard->is_this_thread()) return shard->send(intended);
    shards_[next_++ % shards_.size()]->send(intended);
  }

  // Each thread may look at all shards while it sends.
  ~GrpcTransport() override {
    for (const auto& shard : shards_) shard->end();
  }

 private:
  static grpc::ByteBuffer one_slice(const std::string& message) {
    const grpc::Slice slice(message);
    return {&slice, 1};
  }

  const grpc::ByteBuffer message_;
  const MessageOptions options_;
  const Receive receive_;
  std::vector<std::unique_ptr<Shard>> shards_;
  std::atomic<size_t> next_ = 0;
};

}  // namespace

ModelDescription describe_over_grpc(const std::string& url, const std::string& model,
                                    const std::string& version, const MessageOptions& options,
                                    std::chrono::milliseconds timeout) {
  const auto stub = inference::GRPCInferenceService::NewStub(make_channel(url));
  grpc::ClientContext context;
  set_up(context, options, timeout);
  inference::ModelMetadataRequest request;
  request.set_name(model);
  request.set_version(version);
  inference::ModelMetadataResponse response;
  const grpc::Status status = stub->ModelMetadata(&context, request, &response);
  if (!status.ok())
    throw Error{printable(url) + ", model '" + printable(model)
                + "': " + printable(text_of(status))};
  ModelDescription description{response.name(), version, {}};
  for (const auto& input : response.inputs())
    description.inputs.push_back({input.name(), input.datatype(),
                                  session::Shape(input.shape().begin(), input.shape().end())});
  return description;
}

std::unique_ptr<Transport> make_grpc_transport(const std::string& url, const std::string& message,
                                               const MessageOptions& options,
                                               const TransportOptions& of_transport,
                                               Receive receive) {
  return std::make_unique<GrpcTransport>(url, message, options, of_transport, std::move(receive));
}

}  // namespace tenon::load
