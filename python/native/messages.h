// A logger that keeps what the engine says, for the exceptions of our own API.
#pragma once

#include <NvInfer.h>

#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace tenon::python {

/// tenon.Error: an operation of the engine failed.
struct Error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class Messages final : public nvinfer1::ILogger {
 public:
  using Kept = std::pair<Severity, std::string>;

  /// @param written messages of this severity and graver ones go to standard error, too.
  explicit Messages(Severity written) : written_(written) {}

  void log(Severity severity, const char* message) noexcept override;

  /// The messages since the last call, oldest first, of this thread or of all.
  std::vector<Kept> take(bool of_this_thread);

 private:
  struct Entry {
    std::thread::id thread;
    Kept kept;
  };
  const Severity written_;
  std::mutex mutex_;
  std::vector<Entry> entries_;
};

}  // namespace tenon::python
