// Where the library's messages go: the terminal, in trtexec's line format.
#pragma once

#include <NvInferRuntime.h>
#include <tenon/session/error_log.h>

#include <mutex>
#include <string>

namespace tenon::tool {

/// Prints "[MM/DD/YYYY-HH:MM:SS] [E] text". Errors are not printed as they come, unless all is:
/// whoever fails prints the first.
class Logger final : public session::ErrorLog {
 public:
  explicit Logger(Severity min_severity = Severity::kWARNING) : min_severity_(min_severity) {}
  void set_min_severity(Severity min_severity) { min_severity_ = min_severity; }
  void log(Severity severity, const char* text) noexcept override;
  /// A line on standard output with the prefix of severity I.
  void say(const std::string& text);
  /// The same on standard error, where it is in nobody's way who reads the output.
  void note(const std::string& text);

 private:
  Severity min_severity_;
  std::mutex mutex_;
};

/// "[11/21/2026-10:30:00] [I] ".
std::string line_prefix(char severity);

}  // namespace tenon::tool
