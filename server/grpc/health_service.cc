#include "health_service.h"

#include <grpcpp/alarm.h>

#include <chrono>

#include "health.grpc.pb.h"
#include "unary_call.h"

namespace tenon::server {
namespace {

using grpc::health::v1::Health;
using Request = grpc::health::v1::HealthCheckRequest;
using Response = grpc::health::v1::HealthCheckResponse;

constexpr std::chrono::milliseconds kPeriod{100};  // models do not say when they become ready

class HealthService;

// A client that is told what changes. All of it runs in one thread.
class Watch {
 public:
  static void wait(HealthService& service, CallQueues& queues, CallQueues::Queue& queue);

 private:
  Watch(HealthService& service, CallQueues& queues, CallQueues::Queue& queue)
      : service_(service), queues_(queues), queue_(queue) {
    context_.AsyncNotifyWhenDone(over_.tag());
  }
  ~Watch() = default;
  friend std::default_delete<Watch>;

  void come(bool ok);
  void look(bool);
  void look_later(bool) {
    alarm_.Set(&queue_, std::chrono::system_clock::now() + kPeriod, looked_.tag());
  }
  void be_over(bool) {
    is_over_ = true;
    alarm_.Cancel();
    release();
  }
  void release(bool = true) {
    if (--events_ == 0) delete this;
  }

  HealthService& service_;
  CallQueues& queues_;
  const CallQueues::Counted counted_{queues_};
  CallQueues::Queue& queue_;
  grpc::ServerContext context_;
  Request request_;
  grpc::ServerAsyncWriter<Response> writer_{&context_};
  grpc::Alarm alarm_;
  Response told_;
  bool is_over_ = false;
  int events_ = 2;  // the call is over, and finished
  EventOf<Watch> came_{this, &Watch::come}, looked_{this, &Watch::look},
      wrote_{this, &Watch::look_later}, over_{this, &Watch::be_over},
      finished_{this, &Watch::release};
};

class HealthService final
    : public CallService,
      public Health::WithAsyncMethod_Check<Health::WithAsyncMethod_Watch<Health::Service>> {
 public:
  HealthService(const Models& models, const std::atomic<bool>& is_stopping)
      : models_(models), is_stopping_(is_stopping) {}

  grpc::Service& service() override { return *this; }

  void serve(CallQueues& queues) override {
    serve_unary<Request, Response>(queues, *this, &HealthService::RequestCheck, [this](auto& call) {
      const Response health = health_of(call.request());
      if (health.status() == Response::SERVICE_UNKNOWN)
        return call.finish({grpc::StatusCode::NOT_FOUND, "expected the service ''"});
      call.response() = health;
      call.finish(grpc::Status::OK);
    });
    for (const auto& queue : queues.all()) Watch::wait(*this, queues, *queue);
  }

  bool is_stopping() const { return is_stopping_; }

  Response health_of(const Request& request) const {
    Response health;
    if (!request.service().empty())
      health.set_status(Response::SERVICE_UNKNOWN);
    else if (models_.is_ready() && !is_stopping_)
      health.set_status(Response::SERVING);
    else
      health.set_status(Response::NOT_SERVING);
    return health;
  }

 private:
  const Models& models_;
  const std::atomic<bool>& is_stopping_;
};

void Watch::wait(HealthService& service, CallQueues& queues, CallQueues::Queue& queue) {
  std::unique_ptr<Watch> call(new Watch(service, queues, queue));
  const bool is_asked = queues.ask([&] {
    service.RequestWatch(&call->context_, &call->request_, &call->writer_, &queue, &queue,
                         call->came_.tag());
  });
  if (is_asked) (void)call.release();
}

void Watch::come(bool ok) {
  if (!ok) {
    delete this;
    return;
  }
  wait(service_, queues_, queue_);
  look(true);
}

void Watch::look(bool) {
  if (is_over_ || service_.is_stopping())
    return writer_.Finish(grpc::Status::CANCELLED, finished_.tag());
  const Response health = service_.health_of(request_);
  if (health.status() == told_.status()) return look_later(true);
  told_ = health;
  writer_.Write(told_, wrote_.tag());
}

}  // namespace

std::unique_ptr<CallService> make_health_service(const Models& models,
                                                 const std::atomic<bool>& is_stopping) {
  return std::make_unique<HealthService>(models, is_stopping);
}

}  // namespace tenon::server
