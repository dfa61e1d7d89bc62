// The engine's side of include/tenon/plugin_host.h.
#pragma once

#include <tenon/plugin_host.h>

#include <string>

namespace tenon {

/// Collects what plugins report on this thread while it lives, for the error of a call into one.
/// What they report at other times goes to the logger. The innermost on a thread collects.
class PluginReports {
 public:
  PluginReports();
  ~PluginReports();
  PluginReports(const PluginReports&) = delete;
  PluginReports& operator=(const PluginReports&) = delete;

  void add(const char* message) { last_ = message; }
  /// ": REASON" by the last report, or "".
  std::string text() const { return last_.empty() ? last_ : ": " + last_; }

 private:
  PluginReports* const outer_;
  std::string last_;
};

}  // namespace tenon
