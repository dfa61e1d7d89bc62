#include "call_queues.h"

#include <mutex>

namespace tenon::server {
namespace {

void handle_events(grpc::ServerCompletionQueue& queue) {
  void* event = nullptr;
  bool ok = false;
  while (queue.Next(&event, &ok)) Event::of(event).done(ok);
}

}  // namespace

CallQueues::CallQueues(grpc::ServerBuilder& builder, int count) {
  for (int i = 0; i < count; ++i) queues_.push_back(builder.AddCompletionQueue());
}

CallQueues::~CallQueues() {
  close();
  wait_for_calls();
  for (const auto& queue : queues_) queue->Shutdown();
  for (std::thread& thread : threads_) thread.join();
  // Where no thread did.
  for (size_t i = threads_.size(); i < queues_.size(); ++i) handle_events(*queues_[i]);
}

void CallQueues::start() {
  for (const auto& queue : queues_) threads_.emplace_back([&queue] { handle_events(*queue); });
}

void CallQueues::wait_for_calls() const {
  while (const size_t calls = calls_) calls_.wait(calls);
}

void CallQueues::close() {
  const std::unique_lock lock(mutex_);
  is_closed_ = true;
}

}  // namespace tenon::server
