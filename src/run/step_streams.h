// The streams that the steps of a run go to on a device, and the events between them.
#pragma once

#include <span>
#include <vector>

#include "backend/device.h"
#include "plan/streams.h"

namespace tenon {

/// Of one context: one run at a time.
class StepStreams {
 public:
  StepStreams(const Device& device, const Streams& plan);
  ~StepStreams();
  StepStreams(const StepStreams&) = delete;
  StepStreams& operator=(const StepStreams&) = delete;

  /// Auxiliary streams of the caller, not owned; those that are missing, or null, are made here.
  void set_auxiliary(std::span<Stream* const> streams);

  std::span<Stream* const> auxiliary() const { return given_; }

  /// A run's way through the streams. One that ends early waits for what it has put into them.
  class Run {
   public:
    /// @param alone every step goes to the caller's stream.
    Run(StepStreams& streams, Stream* main, bool alone);
    ~Run();
    Run(const Run&) = delete;
    Run& operator=(const Run&) = delete;
    /// The stream of a step, which has been told what to wait for. Throws Error.
    Stream* before(size_t step);
    void after(size_t step);
    /// The caller's stream waits for all. Throws Error.
    void finish();

   private:
    StepStreams& streams_;
    Stream* main_;
    bool spread_;
  };

 private:
  Stream* stream(int32_t index, Stream* main);
  Event* event(int32_t step);
  void record(int32_t step, Stream* stream);
  void wait(Stream* stream, const std::vector<int32_t>& steps);

  const Device& device_;
  const Streams& plan_;
  std::vector<Stream*> given_, made_;  // per auxiliary stream; null for none
  std::vector<Event*> events_;         // the run's begin, then one for each step that is awaited
};

}  // namespace tenon
