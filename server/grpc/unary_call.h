// A call of one request and one response.
#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "call_queues.h"

namespace tenon::server {

/// It waits for a client, is handled, and deletes itself when it is over.
template <class Request, class Response> class UnaryCall {
 public:
  using Writer = grpc::ServerAsyncResponseWriter<Response>;
  struct Method {
    CallQueues& queues;
    std::function<void(grpc::ServerContext*, Request*, Writer*, CallQueues::Queue*, void*)> ask;
    /// Finishes it, at once or later in any thread.
    std::function<void(UnaryCall&)> handle;
  };

  /// As often as a client calls.
  static void wait(const std::shared_ptr<const Method>& method, CallQueues::Queue& queue) {
    std::unique_ptr<UnaryCall> call(new UnaryCall(method, queue));
    const bool is_asked = method->queues.ask([&] {
      method->ask(&call->context_, &call->request_, &call->writer_, &queue, call->came_.tag());
    });
    if (is_asked) (void)call.release();
  }

  const grpc::ServerContext& context() const { return context_; }
  Request& request() { return request_; }
  Response& response() { return response_; }
  /// What to do if the client goes. Before the handler returns.
  void when_cancelled(std::function<void()> cancel) { cancel_ = std::move(cancel); }
  /// Once. It may be gone when this returns, but for its handler.
  void finish(const grpc::Status& status) {
    if (status.ok())
      writer_.Finish(response_, status, finished_.tag());
    else
      writer_.FinishWithError(status, finished_.tag());
  }

 private:
  UnaryCall(std::shared_ptr<const Method> method, CallQueues::Queue& queue)
      : method_(std::move(method)), queue_(queue) {
    context_.AsyncNotifyWhenDone(over_.tag());
  }
  ~UnaryCall() = default;
  friend std::default_delete<UnaryCall>;

  void come(bool ok) {
    if (!ok) {  // nobody came, and then the other events do not come either
      delete this;
      return;
    }
    method_->handle(*this);
    wait(method_, queue_);
  }

  void be_over(bool) {
    if (cancel_ && context_.IsCancelled()) cancel_();
    release();
  }

  void release(bool = true) {
    if (--events_ == 0) delete this;
  }

  const std::shared_ptr<const Method> method_;
  const CallQueues::Counted counted_{method_->queues};
  CallQueues::Queue& queue_;
  grpc::ServerContext context_;
  Request request_;
  Response response_;
  Writer writer_{&context_};
  std::function<void()> cancel_;
  int events_ = 2;  // of those below that are to come
  EventOf<UnaryCall> came_{this, &UnaryCall::come};
  EventOf<UnaryCall> over_{this, &UnaryCall::be_over};
  EventOf<UnaryCall> finished_{this, &UnaryCall::release};
};

/// @param ask the function of gRPC's service that asks for a call of the method.
template <class Request, class Response, class Service, class Base>
void serve_unary(CallQueues& queues, Service& service,
                 void (Base::*ask)(grpc::ServerContext*, Request*,
                                   grpc::ServerAsyncResponseWriter<Response>*,
                                   grpc::CompletionQueue*, grpc::ServerCompletionQueue*, void*),
                 std::function<void(UnaryCall<Request, Response>&)> handle) {
  using Call = UnaryCall<Request, Response>;
  const auto method = std::make_shared<const typename Call::Method>(
      queues,
      [&service, ask](grpc::ServerContext* context, Request* request, typename Call::Writer* writer,
                      CallQueues::Queue* queue,
                      void* tag) { (service.*ask)(context, request, writer, queue, queue, tag); },
      std::move(handle));
  for (const auto& queue : queues.all()) Call::wait(method, *queue);
}

}  // namespace tenon::server
