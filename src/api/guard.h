// The one place where exceptions end: a call across the API catches, reports and answers with
// TensorRT's failure value.
#pragma once

#include <NvInferRuntime.h>

#include <mutex>
#include <string>
#include <utility>

#include "base/error.h"
#include "base/log.h"

namespace tenon {

/// Where an object of the API reports to: the application's logger and, if set, error recorder.
/// The logger must outlive the reporter; the recorder is reference-counted through its own calls.
/// Thread-safe, but for its end.
class Reporter {
 public:
  explicit Reporter(nvinfer1::ILogger* logger);
  Reporter(const Reporter& other);
  Reporter& operator=(const Reporter&) = delete;
  ~Reporter();

  const Log& log() const { return log_; }
  nvinfer1::ILogger* logger() const { return log_.logger(); }
  nvinfer1::IErrorRecorder* recorder() const;
  void set_recorder(nvinfer1::IErrorRecorder* recorder);

  /// One error line to the logger; the recorder gets the same, cut to its longest description.
  void report(ErrorCode code, const std::string& text) const noexcept;
  /// Reports the exception being handled, which happened in the API function `where`.
  void report_current(const char* where) const noexcept;

  /// The result of `body`; `fallback`, after a report, when it throws.
  template <class Result, class Body>
  Result guard(Result fallback, Body&& body,
               const char* where = __builtin_FUNCTION()) const noexcept {
    try {
      return std::forward<Body>(body)();
    } catch (...) {
      report_current(where);
      return fallback;
    }
  }
  /// As above for functions without a result; whether `body` ended normally.
  template <class Body>
  bool run(Body&& body, const char* where = __builtin_FUNCTION()) const noexcept {
    try {
      std::forward<Body>(body)();
      return true;
    } catch (...) {
      report_current(where);
      return false;
    }
  }

 private:
  Log log_;
  mutable std::mutex mutex_;
  nvinfer1::IErrorRecorder* recorder_ = nullptr;
};

/// What setDLACore() does on a machine without DLA.
void ignore_dla_core(int32_t core, const Reporter& reporter) noexcept;

/// Throws "not supported yet"; the guard puts the function's name in front.
[[noreturn]] inline void not_supported() {
  fail(ErrorCode::kUNSUPPORTED_STATE, "not supported yet");
}

/// `value` if it is one of the enumeration's public values; throws otherwise.
template <class Enum> Enum checked(Enum value) {
  const auto number = static_cast<int64_t>(value);
  require(number >= 0 && number < nvinfer1::EnumMax<Enum>(),
          "{} is not a value of this enumeration (0 to {})", number, nvinfer1::EnumMax<Enum>() - 1);
  return value;
}

}  // namespace tenon
