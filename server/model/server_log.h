// What the server says on its standard error.
#pragma once

#include <atomic>
#include <functional>
#include <mutex>
#include <optional>
#include <string>

#include "model.h"
#include "settings.h"

namespace tenon::server {

enum class Severity { kInfo, kWarning, kError };

/// Called with a line, from any thread.
using Log = std::function<void(Severity, const std::string&)>;

/// Lines of severities that clients may have switched off. All members may be called from any
/// thread.
class ServerLog {
 public:
  void write(Severity severity, const std::string& line);

  Settings settings() const;
  /// Nothing where all are as they are wanted now; else an error, and nothing is changed.
  std::optional<RequestError> change(const SettingChanges& wanted);

 private:
  std::mutex mutex_;
  std::atomic<bool> is_on_[3] = {true, true, true};  // by severity
};

}  // namespace tenon::server
