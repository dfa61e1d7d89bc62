// Traces of requests, in files as Triton Inference Server writes them.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "access_log.h"
#include "settings.h"

namespace tenon::server {

/// Of Triton's trace extension; a model may have others than the server.
struct TraceSettings {
  bool is_on = false;    ///< trace_level TIMESTAMPS, else OFF
  uint32_t rate = 1000;  ///< of so many requests one is traced, the first one; 1 or more
  int64_t count = -1;    ///< how many are traced from now on; -1 for all
};

/// When requests came, waited for their batch, ran and were answered. All members may be called
/// from any thread. The file is a list of JSON whenever nothing is being written to it.
class RequestTraces {
 public:
  RequestTraces() = default;
  ~RequestTraces();
  RequestTraces(const RequestTraces&) = delete;
  RequestTraces& operator=(const RequestTraces&) = delete;

  /// Before the others: where traces go, and what clients may go back to. Without a file nothing is
  /// traced. An error where the file cannot be written, or is another server's.
  /// @param settings `log_frequency` among them: after so many traces comes another file, FILE.0,
  /// FILE.1 and so on; 0 for one file.
  Result<void> open(const std::string& file, const SettingChanges& settings) noexcept;

  /// Whether a request of any model may be traced.
  bool are_on() const noexcept { return are_on_.load(std::memory_order_relaxed); }
  /// Of an inference that ran, if it is one that is to be traced; its end is now. What there is no
  /// room for is counted in the next trace, as `lost_traces`.
  void add(const AccessRecord& record) noexcept;

  /// @param model empty for those of all that have no own.
  Settings settings(const std::string& model) const;
  /// As of ServerLog::change().
  std::optional<RequestError> change(const std::string& model, const SettingChanges& wanted);

 private:
  // Of the server, or of a model that has an own.
  struct Sampling {
    SettingChanges own;  // what was wanted of it
    TraceSettings settings;
    uint64_t requests = 0;

    bool takes();  // the next request
  };
  void apply(const SettingChanges& own, TraceSettings& to) const;
  Sampling& sampling_of(const std::string& model);
  void change_all(const SettingChanges& wanted);
  void change_model(const std::string& model, const SettingChanges& wanted);
  void open_file();
  bool write(const std::string& trace);
  void close_file();

  std::atomic<bool> are_on_ = false;
  mutable std::mutex mutex_;
  TraceSettings of_options_;
  Sampling all_;
  std::map<std::string, Sampling> models_;
  std::string path_;
  uint32_t log_frequency_ = 0;
  int descriptor_ = -1;
  int64_t size_ = 0;  // of the file, without the end of its list
  uint64_t traces_ = 0, of_file_ = 0, files_ = 0, lost_ = 0;
};

/// Of a JSON list: the request, and its times in nanoseconds. Texts of clients are cut at 256
/// bytes.
std::string trace_text(uint64_t id, const AccessRecord& record, Clock::time_point end);

}  // namespace tenon::server
