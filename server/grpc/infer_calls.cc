#include "infer_calls.h"

#include <deque>
#include <memory>
#include <mutex>
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

std::optional<Clock::time_point> deadline_of(const grpc::CallbackServerContext& context) {
  const auto left = context.deadline() - std::chrono::system_clock::now();
  if (left > std::chrono::years(1)) return std::nullopt;  // gRPC's "never" does not fit the clock
  return Clock::now() + std::chrono::duration_cast<Clock::duration>(left);
}

std::string trace_of(const grpc::CallbackServerContext& context) {
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
  InferCalls(const Models& models, const InferLimits& limits,
             const grpc::CallbackServerContext& context, const char* method)
      : models_(models),
        limits_(limits),
        deadline_(deadline_of(context)),
        trace_(trace_of(context)),
        method_(method) {
    if (limits.access_log != nullptr) remote_ = context.peer();
  }

  const InferLimits& limits() const { return limits_; }
  // A call that ends before a request of it is looked at.
  void refuse(const grpc::Status& status, size_t bytes) const {
    const auto record = begin_record(bytes);
    if (record == nullptr) return;
    record->status = name_of(status.error_code());
    limits_.access_log->add(*record);
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
                    record->queue = response.queue;
                    record->compute = response.compute;
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

  // Null without an access log.
  std::shared_ptr<AccessRecord> begin_record(size_t bytes) const {
    if (limits_.access_log == nullptr) return nullptr;
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
    return [record, log = limits_.access_log, receive = std::move(receive)](EncodedAnswer answer) {
      if (const auto* error = std::get_if<RequestError>(&answer)) {
        record->status = name_of(status_of(*error).error_code());
      } else {
        record->status = name_of(grpc::StatusCode::OK);
        record->bytes_out = std::get<EncodedResponse>(answer).bytes;
      }
      log->add(*record);
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

class UnaryInfer final : public grpc::ServerUnaryReactor {
 public:
  UnaryInfer(const Models& models, const InferLimits& limits,
             const grpc::CallbackServerContext& context, const grpc::Status& status,
             grpc::ByteBuffer request, grpc::ByteBuffer* response)
      : calls_(models, limits, context, "ModelInfer") {
    if (!status.ok()) {
      calls_.refuse(status, request.Length());
      Finish(status);
      return;
    }
    calls_.start(std::move(request), id_, [this, response](EncodedAnswer answer) {
      if (const auto* error = std::get_if<RequestError>(&answer)) return Finish(status_of(*error));
      *response = std::get<EncodedResponse>(answer).message();
      Finish(grpc::Status::OK);
    });
  }

  void OnCancel() override { calls_.cancel(); }
  void OnDone() override { delete this; }
  // Both are short: for others gRPC wakes up a thread of its own.
  bool InternalInlineable() override { return true; }

 private:
  InferCalls calls_;
  std::string id_;
};

// Reads while fewer than the limit of its requests are not answered; an answer counts until it is
// written, so that slow readers take no memory.
class BidiInfer final : public InferStream {
 public:
  BidiInfer(const Models& models, const InferLimits& limits,
            const grpc::CallbackServerContext& context, const grpc::Status& status)
      : calls_(models, limits, context, "ModelStreamInfer") {
    if (status.ok()) {
      StartRead(&read_);
    } else {
      calls_.refuse(status, 0);
      Finish(status);
    }
  }

  void OnReadDone(bool ok) override {
    if (!ok) return advance([this] { has_ended_ = true; });
    auto id = std::make_shared<std::string>();
    grpc::ByteBuffer bytes;
    bytes.Swap(&read_);
    {
      const std::scoped_lock lock(mutex_);
      ++requests_;
    }
    calls_.start(std::move(bytes), *id, [this, id](EncodedAnswer answer) {
      grpc::ByteBuffer message;
      if (const auto* error = std::get_if<RequestError>(&answer)) {
        message = stream_error(error->text, *id);
      } else {
        message = std::get<EncodedResponse>(answer).stream_message();
      }
      advance([&] { answers_.push_back(std::move(message)); });
    });
    advance([this] { is_reading_ = false; });  // only now, so that `read_` and this are there
  }

  void OnWriteDone(bool) override {
    advance([this] {
      answers_.pop_front();
      is_writing_ = false;
      --requests_;
    });
  }

  void OnCancel() override { calls_.cancel(); }
  void OnDone() override { delete this; }

 private:
  // Changes what is so, and starts what follows. gRPC may call back within that, so it is done
  // without the lock, and nothing of this is used after the last start.
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
      if (!is_reading_ && !has_ended_ && requests_ < calls_.limits().max_stream_requests) {
        is_reading_ = reads = true;
      }
      ends = has_ended_ && requests_ == 0;
    }
    if (ends) return Finish(grpc::Status::OK);
    if (reads) StartRead(&read_);
    if (write != nullptr) StartWrite(write);
  }

  InferCalls calls_;
  grpc::ByteBuffer read_;
  std::mutex mutex_;
  std::deque<grpc::ByteBuffer> answers_;  // the first one is being written
  size_t requests_ = 0;                   // that are not answered
  bool is_reading_ = true, is_writing_ = false, has_ended_ = false;
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

grpc::ServerUnaryReactor* start_infer_call(const Models& models, const InferLimits& limits,
                                           const grpc::CallbackServerContext& context,
                                           const grpc::Status& status, grpc::ByteBuffer request,
                                           grpc::ByteBuffer* response) {
  return new UnaryInfer(models, limits, context, status, std::move(request), response);
}

InferStream* start_infer_stream(const Models& models, const InferLimits& limits,
                                const grpc::CallbackServerContext& context,
                                const grpc::Status& status) {
  return new BidiInfer(models, limits, context, status);
}

}  // namespace tenon::server
