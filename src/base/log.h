// Messages to the user's ILogger; callbacks may come from several threads.
#pragma once

#include <NvInferRuntime.h>
#include <fmt/format.h>

namespace tenon {

class Log {
 public:
  using Severity = nvinfer1::ILogger::Severity;

  /// A null logger swallows everything.
  explicit Log(nvinfer1::ILogger* logger = nullptr) : logger_(logger) {}

  template <class... Args> void error(fmt::format_string<Args...> text, Args&&... args) const {
    format(Severity::kERROR, fmt::string_view(text), fmt::make_format_args(args...));
  }
  template <class... Args> void warning(fmt::format_string<Args...> text, Args&&... args) const {
    format(Severity::kWARNING, fmt::string_view(text), fmt::make_format_args(args...));
  }
  template <class... Args> void info(fmt::format_string<Args...> text, Args&&... args) const {
    format(Severity::kINFO, fmt::string_view(text), fmt::make_format_args(args...));
  }
  template <class... Args> void verbose(fmt::format_string<Args...> text, Args&&... args) const {
    format(Severity::kVERBOSE, fmt::string_view(text), fmt::make_format_args(args...));
  }
  void write(Severity severity, const char* text) const noexcept {
    if (logger_ != nullptr) logger_->log(severity, text);
  }
  nvinfer1::ILogger* logger() const { return logger_; }

 private:
  void format(Severity severity, fmt::string_view text, fmt::format_args args) const {
    if (logger_ != nullptr) logger_->log(severity, fmt::vformat(text, args).c_str());
  }

  nvinfer1::ILogger* logger_;
};

}  // namespace tenon
