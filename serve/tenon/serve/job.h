// What is asked of a pipeline, and how it ends.
#ifndef TENON_SERVE_JOB_H
#define TENON_SERVE_JOB_H

#include <tenon/session/result.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>

namespace tenon::serve {

using session::Error;
using session::Result;
using Clock = std::chrono::steady_clock;

/// Where a job is, or was when it failed.
enum class Stage { kAdmission, kPreprocess, kInfer, kPostprocess };
constexpr int kStages = 4;
/// "pre-process".
const char* name_of(Stage stage);

/// Why a job has no output.
enum class Failure {
  kRefused,    ///< the pipeline was full, or the job is larger than its bounds
  kDropped,    ///< the pipeline was full and a newer job took its place
  kExpired,    ///< its deadline passed
  kCancelled,  ///< its stop token was used
  kStopped,    ///< the pipeline stopped
  kStage,      ///< a stage returned an error or threw
  kInstance,   ///< no instance is left that can run it
};
constexpr int kFailures = 7;
/// "expired".
const char* name_of(Failure failure);

/// What a job wants besides its input.
struct JobOptions {
  /// It is answered by then, if need be as kExpired; in an ordered pipeline after those before it.
  std::optional<Clock::time_point> deadline;
  /// A job goes before one that is waiting for less than PipelineOptions::ageing times the
  /// difference of their priorities longer.
  int priority = 0;
  std::stop_token stop;
  size_t cost = 1;             ///< of a batch's largest cost, PipelineOptions::max_batch
  size_t bytes = 0;            ///< of PipelineOptions::max_bytes, while it is in the pipeline
  std::string correlation_id;  ///< of the caller's, for errors and traces
};

/// Why a job has no output, and where it came to that.
struct JobError {
  Failure failure = Failure::kStage;
  Stage stage = Stage::kAdmission;
  std::string model;
  std::string cause;
  std::string correlation_id;

  /// "yolov8n, pre-process: failed: no such picture (job 'camera 3')".
  std::string text() const;
};

/// The output of a job, or why there is none.
template <class Output> class [[nodiscard]] Answer {
 public:
  Answer(Output output) : output_(std::move(output)) {}
  Answer(JobError error) : error_(std::move(error)) {}

  explicit operator bool() const { return output_.has_value(); }
  /// @pre there is an output.
  Output& operator*() & { return *output_; }
  const Output& operator*() const& { return *output_; }
  Output&& operator*() && { return *std::move(output_); }
  Output* operator->() { return &*output_; }
  const Output* operator->() const { return &*output_; }
  /// @pre there is no output.
  const JobError& error() const { return error_; }

 private:
  std::optional<Output> output_;
  JobError error_;
};

/// What a stage sees of the job it works on.
class JobContext {
 public:
  JobContext(const JobOptions& options, const std::atomic<bool>& is_over)
      : options_(options), is_over_(is_over) {}

  const JobOptions& options() const { return options_; }
  /// Whether the job is answered already, since it was cancelled or expired: a stage that takes
  /// long may end early. What it returns is not used.
  bool is_over() const { return is_over_.load(std::memory_order_relaxed); }

 private:
  const JobOptions& options_;
  const std::atomic<bool>& is_over_;
};

}  // namespace tenon::serve

#endif  // TENON_SERVE_JOB_H
