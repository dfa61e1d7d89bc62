// A line of JSON for each request.
#pragma once

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "model.h"

namespace tenon::server {

/// What is known of a request when it is answered. Empty texts are left out.
struct AccessRecord {
  std::string protocol, remote, method, path;
  std::string model, version, id, trace;
  std::string status;  ///< "200", or gRPC's "OK"
  size_t bytes_in = 0, bytes_out = 0;
  Clock::time_point begin = Clock::now();
  InferTimes times = {};  ///< of an inference
};

/// What clients have sent, as records say it: cut at 256 bytes.
std::string cut_text(const std::string& text);

/// Of one line: what clients have sent is on it as strings of JSON, each cut at 256 bytes.
std::string access_line(const AccessRecord& record, std::chrono::system_clock::time_point now,
                        Clock::time_point end);

/// Lines are written by a thread of its own: a file that takes none for long loses lines, which are
/// counted, and holds up no request.
class AccessLog {
 public:
  /// @param path of a file that lines are added to, or "-" for the standard output.
  static Result<std::unique_ptr<AccessLog>> open(const std::string& path) noexcept;
  /// Writes what there is, but waits for no reader of a pipe.
  ~AccessLog();
  AccessLog(const AccessLog&) = delete;
  AccessLog& operator=(const AccessLog&) = delete;

  /// From any thread; its end is now.
  void add(const AccessRecord& record) noexcept;

 private:
  explicit AccessLog(int descriptor) : descriptor_(descriptor) {}
  void run();
  bool write_all(std::string_view text);

  const int descriptor_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> lines_;
  size_t lost_ = 0;
  bool is_over_ = false;
  std::thread thread_{[this] { run(); }};
};

}  // namespace tenon::server
