#include "infer_calls.h"

#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <tuple>
#include <utility>

#include "guard.h"
#include "infer_request.h"
#include "infer_response.h"
#include "short_text.h"

namespace tenon::server {
namespace {

using EncodedAnswer = std::variant<EncodedResponse, RequestError>;
using ReceiveEncoded = std::function<void(EncodedAnswer)>;

std::optional<Clock::time_point> deadline_of(const grpc::ServerContext& context) {
  const auto left = context.deadline() - std::chrono::system_clock::now();
  if (left > std::chrono::years(1)) return std::nullopt;  // gRPC's "never" does not fit the clock
  return Clock::now() + std::chrono::duration_cast<Clock::duration>(left);
}

std::string trace_of(const grpc::ServerContext& context) {
  const auto found = context.client_metadata().find("traceparent");
  if (found == context.client_metadata().end()) return {};
  return {found->second.data(), found->second.size()};
}

// Of the codes that answers have.
const char* name_of(grpc::StatusCode code) {
  switch (code) {
    case grpc::StatusCode::OK:
      return "OK";
    case grpc::StatusCode::INVALID_ARGUMENT:
      return "INVALID_ARGUMENT";
    case grpc::StatusCode::NOT_FOUND:
      return "NOT_FOUND";
    case grpc::StatusCode::RESOURCE_EXHAUSTED:
      return "RESOURCE_EXHAUSTED";
    case grpc::StatusCode::UNAVAILABLE:
      return "UNAVAILABLE";
    case grpc::StatusCode::DEADLINE_EXCEEDED:
      return "DEADLINE_EXCEEDED";
    case grpc::StatusCode::CANCELLED:
      return "CANCELLED";
    case grpc::StatusCode::UNAUTHENTICATED:
      return "UNAUTHENTICATED";
    default:
      return "INTERNAL";
  }
}

// What the requests of a call have in common.
class InferCalls {
 public:
  InferCalls(const Models& models, const InferLimits& limits, const grpc::ServerContext& context,
             const char* method)
      : models_(models),
        limits_(limits),
        deadline_(deadline_of(context)),
        trace_(trace_of(context)),
        method_(method) {
    if (limits.records != nullptr) remote_ = context.peer();
  }

  const InferLimits& limits() const { return limits_; }
  // A call that ends before a request of it is looked at.
  void refuse(const grpc::Status& status, size_t bytes) const {
    const auto record = begin_record(bytes);
    if (record == nullptr) return;
    record->status = name_of(status.error_code());
    limits_.records->add(*record);
  }
  void cancel() { stop_.request_stop(); }

  // `id` is set before `receive` is called.
  void start(grpc::ByteBuffer bytes, std::string& id, ReceiveEncoded receive) {
    const size_t length = bytes.Length();
    const auto record = begin_record(length);
    receive = recorded(record, std::move(receive));
    auto decoded = decode(bytes, id);
    if (auto* error = std::get_if<RequestError>(&decoded)) return receive(std::move(*error));
    auto& [name, version, request, typed_outputs, wanted] = std::get<DecodedRequest>(decoded);
    if (record) std::tie(record->model, record->version, record->id) = std::tie(name, version, id);
    // The model answers before it goes; its last owner must not be one of its own threads.
    auto found = models_.find(name, version);
    if (auto* error = std::get_if<RequestError>(&found)) return receive(std::move(*error));
    if (auto error = prepare_inputs(wanted, limits_.memory, request)) {
      return receive(*std::move(error));
    }
    request.bytes = length;
    if (deadline_ && (!request.deadline || *deadline_ < *request.deadline)) {
      request.deadline = deadline_;
    }
    request.stop = stop_.get_token();
    request.trace = trace_;
    Model& model = *std::get<std::shared_ptr<Model>>(found);
    model.infer(std::move(request),
                [&model, record, typed_outputs, wanted = std::move(wanted), memory = limits_.memory,
                 receive = std::move(receive)](InferAnswer answer) {
                  if (auto* error = std::get_if<RequestError>(&answer))
                    return receive(std::move(*error));
                  auto prepared = prepare_outputs(wanted, model.metadata(), memory,
                                                  std::get<InferResponse>(std::move(answer)));
                  if (auto* error = std::get_if<RequestError>(&prepared))
                    return receive(std::move(*error));
                  auto& response = std::get<OutputResponse>(prepared);
                  if (record) {
                    record->version = response.version;
                    record->times = response.times;
                  }
                  receive(encode_response(std::move(response), typed_outputs));
                });
  }

 private:
  std::variant<DecodedRequest, RequestError> decode(grpc::ByteBuffer& bytes,
                                                    std::string& id) const {
    auto message = session::guard([&] { return read_infer_message(bytes, limits_.max_tensors); });
    if (!message) return RequestError{Failure::kFull, message.error()};
    if (!*message) {
      return RequestError{Failure::kInvalid, "the request is no message ModelInferRequest"};
    }
    bytes.Clear();  // its memory is not needed twice
    id = (*message)->message->id();
    return decode_request(**std::move(message), limits_.max_tensors);
  }

  // Null where it is not recorded.
  std::shared_ptr<AccessRecord> begin_record(size_t bytes) const {
    if (limits_.records == nullptr || !limits_.records->are_wanted()) return nullptr;
    auto record = std::make_shared<AccessRecord>();
    record->protocol = "grpc";
    record->remote = remote_;
    record->method = method_;
    record->trace = trace_;
    record->bytes_in = bytes;
    return record;
  }

  ReceiveEncoded recorded(const std::shared_ptr<AccessRecord>& record,
                          ReceiveEncoded receive) const {
    if (record == nullptr) return receive;
    return [record, records = limits_.records, receive = std::move(receive)](EncodedAnswer answer) {
      if (const auto* error = std::get_if<RequestError>(&answer)) {
        record->status = name_of(status_of(*error).error_code());
      } else {
        record->status = name_of(grpc::StatusCode::OK);
        record->bytes_out = std::get<EncodedResponse>(answer).bytes;
      }
      records->add(*record);
      receive(std::move(answer));
    };
  }

  const Models& models_;
  const InferLimits& limits_;
  const std::optional<Clock::time_point> deadline_;
  const std::string trace_;
  const char* const method_;
  std::string remote_;
  std::stop_source stop_;
};

// Reads while fewer than the limit of its requests are not answered; an answer counts until it is
// written, so that slow readers take no memory.
class InferStream {
 public:
  static void wait(const std::shared_ptr<const InferStreams>& streams, CallQueues::Queue& queue) {
    std::unique_ptr<InferStream> call(new InferStream(streams, queue));
    const bool is_asked = streams->queues.ask(
        [&] { streams->ask(&call->context_, &call->stream_, &queue, call->came_.tag()); });
    if (is_asked) (void)call.release();
  }

 private:
  InferStream(std::shared_ptr<const InferStreams> streams, CallQueues::Queue& queue)
      : streams_(std::move(streams)), queue_(queue) {
    context_.AsyncNotifyWhenDone(over_.tag());
  }
  ~InferStream() = default;
  friend std::default_delete<InferStream>;

  void come(bool ok) {
    if (!ok) {  // nobody came, and then the other events do not come either
      delete this;
      return;
    }
    calls_.emplace(streams_->models, streams_->limits, context_, "ModelStreamInfer");
    if (const auto status = streams_->authorize(context_); status.ok()) {
      stream_.Read(&message_, read_.tag());
    } else {
      calls_->refuse(status, 0);
      stream_.Finish(status, finished_.tag());
    }
    wait(streams_, queue_);
  }

  void read(bool ok) {
    if (!ok) return advance([this] { has_ended_ = true; });
    auto id = std::make_shared<std::string>();
    grpc::ByteBuffer bytes;
    bytes.Swap(&message_);
    {
      const std::scoped_lock lock(mutex_);
      ++requests_;
    }
    calls_->start(std::move(bytes), *id, [this, id](EncodedAnswer answer) {
      grpc::ByteBuffer message;
      if (const auto* error = std::get_if<RequestError>(&answer)) {
        message = stream_error(error->text, *id);
      } else {
        message = std::get<EncodedResponse>(answer).stream_message();
      }
      advance([&] { answers_.push_back(std::move(message)); });
    });
    advance([this] { is_reading_ = false; });  // only now, so that `message_` and this are there
  }

  void write(bool) {
    advance([this] {
      answers_.pop_front();
      is_writing_ = false;
      --requests_;
    });
  }

  void be_over(bool) {
    if (context_.IsCancelled()) calls_->cancel();
    release();
  }

  void release(bool = true) {
    if (--events_ == 0) delete this;
  }

  // Changes what is so, and starts what follows. The queue's thread may go on meanwhile, so nothing
  // of this is used after the last start.
  template <class Change> void advance(Change change) {
    const grpc::ByteBuffer* write = nullptr;
    bool reads = false, ends = false;
    {
      const std::scoped_lock lock(mutex_);
      change();
      if (!is_writing_ && !answers_.empty()) {
        is_writing_ = true;
        write = &answers_.front();
      }
      if (!is_reading_ && !has_ended_ && requests_ < calls_->limits().max_stream_requests) {
        is_reading_ = reads = true;
      }
      ends = has_ended_ && requests_ == 0;
    }
    if (ends) return stream_.Finish(grpc::Status::OK, finished_.tag());
    if (reads) stream_.Read(&message_, read_.tag());
    if (write != nullptr) stream_.Write(*write, wrote_.tag());
  }

  const std::shared_ptr<const InferStreams> streams_;
  const CallQueues::Counted counted_{streams_->queues};
  CallQueues::Queue& queue_;
  grpc::ServerContext context_;
  InferStreams::Stream stream_{&context_};
  std::optional<InferCalls> calls_;
  grpc::ByteBuffer message_;
  std::mutex mutex_;
  std::deque<grpc::ByteBuffer> answers_;  // the first one is being written
  size_t requests_ = 0;                   // that are not answered
  bool is_reading_ = true, is_writing_ = false, has_ended_ = false;
  int events_ = 2;  // the call is over, and finished
  EventOf<InferStream> came_{this, &InferStream::come}, read_{this, &InferStream::read},
      wrote_{this, &InferStream::write}, over_{this, &InferStream::be_over},
      finished_{this, &InferStream::release};
};

}  // namespace

grpc::Status status_of(const RequestError& error) {
  const auto status = [&](grpc::StatusCode code) {
    return grpc::Status(code, short_text(error.text));
  };
  switch (error.failure) {
    case Failure::kInvalid:
      return status(grpc::StatusCode::INVALID_ARGUMENT);
    case Failure::kNotFound:
      return status(grpc::StatusCode::NOT_FOUND);
    case Failure::kFull:
      return status(grpc::StatusCode::RESOURCE_EXHAUSTED);
    case Failure::kUnavailable:
      return status(grpc::StatusCode::UNAVAILABLE);
    case Failure::kExpired:
      return status(grpc::StatusCode::DEADLINE_EXCEEDED);
    case Failure::kCancelled:
      return status(grpc::StatusCode::CANCELLED);
    case Failure::kInternal:
      break;
  }
  return status(grpc::StatusCode::INTERNAL);
}

void handle_infer_call(const Models& models, const InferLimits& limits, const grpc::Status& status,
                       InferCall& call) {
  struct State {
    InferCalls calls;
    std::string id;
  };
  const auto state =
      std::make_shared<State>(InferCalls(models, limits, call.context(), "ModelInfer"));
  if (!status.ok()) {
    state->calls.refuse(status, call.request().Length());
    return call.finish(status);
  }
  call.when_cancelled([state] { state->calls.cancel(); });
  grpc::ByteBuffer bytes;
  bytes.Swap(&call.request());  // the call would keep them as long as it runs
  state->calls.start(std::move(bytes), state->id, [&call](EncodedAnswer answer) {
    if (const auto* error = std::get_if<RequestError>(&answer))
      return call.finish(status_of(*error));
    call.response() = std::get<EncodedResponse>(answer).message();
    call.finish(grpc::Status::OK);
  });
}

void serve_infer_streams(std::shared_ptr<const InferStreams> streams) {
  for (const auto& queue : streams->queues.all()) InferStream::wait(streams, *queue);
}

}  // namespace tenon::server
