// A logger for tests of what is said.
#pragma once

#include <NvInfer.h>

#include <mutex>
#include <string>
#include <utility>

namespace tenon::testing {

/// Keeps its errors.
class Keeping final : public nvinfer1::ILogger {
 public:
  void log(Severity severity, const char* text) noexcept override {
    const std::lock_guard lock(mutex_);
    if (severity <= Severity::kERROR) errors_ += std::string(text) + "\n";
  }
  std::string take() {
    const std::lock_guard lock(mutex_);
    return std::exchange(errors_, "");
  }

 private:
  std::mutex mutex_;
  std::string errors_;
};

}  // namespace tenon::testing
