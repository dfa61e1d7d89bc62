/// An event: a point in a stream's work, and the time when it was reached.
#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>
#include <vector>

#include "cudart/stream.h"

namespace tenon::cudart {

/// What `Event::state` tells.
struct EventState {
  /// Never recorded, or recorded on a thread that was doing the stream's work: nothing to wait for.
  Stream* stream = nullptr;
  std::uint64_t ticket = 0;
  bool recorded = false;
  /// Not 0 if it was last recorded by a capture.
  std::uint64_t capture = 0;

  bool done() const { return !stream || stream->done(ticket); }
};

class Event {
 public:
  void open(unsigned flags);
  void close();

  unsigned flags() const { return flags_; }
  /// Records the point that `stream` has reached; `in_place` when the caller does its work.
  void record(Stream& stream, bool in_place);
  /// Records a point of a capture: per member, how many of its operations come before.
  void record_capture(std::uint64_t capture, std::vector<std::uint64_t> seen);

  EventState state();
  std::vector<std::uint64_t> seen();

  /// Called by the worker that reaches the point.
  void stamp(std::uint64_t record);
  std::chrono::steady_clock::time_point time();

 private:
  unsigned flags_ = 0;
  /// Guards the state; held while a record is submitted, so never taken by a worker.
  std::mutex mutex_;
  EventState state_;
  std::vector<std::uint64_t> seen_;
  /// Guards the time.
  std::mutex time_mutex_;
  std::uint64_t newest_record_ = 0;
  std::chrono::steady_clock::time_point time_;
};

}  // namespace tenon::cudart
