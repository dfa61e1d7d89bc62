/// Recording and stamping of events.
#include "cudart/event.h"

#include <utility>

#include "cudart/runtime.h"

namespace tenon::cudart {

void Event::open(unsigned flags) {
  const std::lock_guard lock(mutex_);
  flags_ = flags;
  state_ = {};
  seen_.clear();
}

void Event::close() {
  // A stamp that is still queued finds itself outdated.
  const std::lock_guard lock(time_mutex_);
  ++newest_record_;
}

void Event::record(Stream& stream, bool in_place) {
  const std::lock_guard lock(mutex_);
  std::uint64_t record;
  {
    const std::lock_guard time_lock(time_mutex_);
    record = ++newest_record_;
  }
  if (in_place) {
    stamp(record);
    state_ = {nullptr, 0, true, 0};
  } else {
    const std::uint64_t ticket = submit_in_order(stream, Stamp{this, record});
    state_ = {&stream, ticket, true, 0};
  }
}

void Event::record_capture(std::uint64_t capture, std::vector<std::uint64_t> seen) {
  const std::lock_guard lock(mutex_);
  state_ = {nullptr, 0, true, capture};
  seen_ = std::move(seen);
}

EventState Event::state() {
  const std::lock_guard lock(mutex_);
  return state_;
}

std::vector<std::uint64_t> Event::seen() {
  const std::lock_guard lock(mutex_);
  return seen_;
}

void Event::stamp(std::uint64_t record) {
  const std::lock_guard lock(time_mutex_);
  if (record == newest_record_) time_ = std::chrono::steady_clock::now();
}

std::chrono::steady_clock::time_point Event::time() {
  const std::lock_guard lock(time_mutex_);
  return time_;
}

}  // namespace tenon::cudart
