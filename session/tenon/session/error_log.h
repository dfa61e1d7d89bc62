// Where TensorRT's messages go, so that a failure can say what they said.
#ifndef TENON_SESSION_ERROR_LOG_H
#define TENON_SESSION_ERROR_LOG_H

#include <NvInferRuntime.h>

#include <mutex>
#include <string>

#include "tenon/session/result.h"

namespace tenon::session {

/// Keeps the first error; several threads may log. What derives from it may print messages, too.
class ErrorLog : public nvinfer1::ILogger {
 public:
  void log(Severity severity, const char* text) noexcept override;

  /// The first error since the last call; empty if there was none.
  std::string take_error();
  /// The error of a call that failed: what was logged, else `otherwise`.
  Error failure(std::string otherwise);

 protected:
  /// Keeps the text of an error, if none is kept yet.
  void keep(const char* text) noexcept;

 private:
  std::mutex mutex_;
  std::string first_;
};

}  // namespace tenon::session

#endif  // TENON_SESSION_ERROR_LOG_H
