// Where the library's messages go: the terminal, in trtexec's line format.
#pragma once

#include <NvInferRuntime.h>

#include <mutex>
#include <string>

namespace tenon::tool {

/// Prints "[MM/DD/YYYY-HH:MM:SS] [E] text"; keeps the last error for the closing message.
class Logger final : public nvinfer1::ILogger {
 public:
  explicit Logger(Severity least = Severity::kWARNING) : least_(least) {}
  void set_least(Severity least) { least_ = least; }
  void log(Severity severity, const char* text) noexcept override;
  /// The first error since the last call; empty if there was none. Errors are not printed as they
  /// come: whoever fails prints this.
  std::string take_error();
  /// A line on standard output with the prefix of severity I.
  void say(const std::string& text);

 private:
  Severity least_;
  std::mutex mutex_;
  std::string first_error_;
};

/// "[11/21/2026-10:30:00] [I] ".
std::string line_prefix(char severity);

}  // namespace tenon::tool
