// The progress monitor of every build from Python.
#pragma once

#include <NvInfer.h>

#include <map>

#include "engine_call.h"

namespace tenon::python {

/// For as long as it lives, a build on this thread stops when a signal came whose handler raises,
/// such as Ctrl-C, or another callback raised; and the user's monitor is told, if there is one.
/// Several threads may build with one configuration. All of it needs the GIL.
class BuildMonitor {
 public:
  explicit BuildMonitor(nvinfer1::IBuilderConfig& config)
      : config_(config), outer_(users_here()), kept_(nb::find(users(config))) {
    static Follower follower;
    const auto [build, is_first] = builds().try_emplace(&config, Build{users(config), 0});
    ++build->second.count;
    if (is_first) config.setProgressMonitor(&follower);
    users_here() = build->second.users;
  }
  ~BuildMonitor() {
    users_here() = outer_;
    const auto build = builds().find(&config_);
    if (--build->second.count > 0) return;
    config_.setProgressMonitor(build->second.users);
    builds().erase(build);
  }
  BuildMonitor(const BuildMonitor&) = delete;
  BuildMonitor& operator=(const BuildMonitor&) = delete;

  /// The monitor that the user set; null if none.
  static nvinfer1::IProgressMonitor* users(const nvinfer1::IBuilderConfig& config) {
    const auto build = builds().find(&config);
    return build != builds().end() ? build->second.users : config.getProgressMonitor();
  }
  /// Sets the user's monitor. A build that has begun goes on with the one it had.
  static void set_users(nvinfer1::IBuilderConfig& config, nvinfer1::IProgressMonitor* monitor) {
    const auto build = builds().find(&config);
    if (build != builds().end())
      build->second.users = monitor;
    else
      config.setProgressMonitor(monitor);
  }

 private:
  // What the engine sees: it takes the place of the user's monitor.
  class Follower final : public nvinfer1::IProgressMonitor {
   public:
    void phaseStart(const char* phase, const char* parent, int32_t steps) noexcept override {
      if (users_here() != nullptr) users_here()->phaseStart(phase, parent, steps);
    }
    bool stepComplete(const char* phase, int32_t step) noexcept override {
      const bool goes_on = into_python(false, "a signal's handler", [] {
        if (PyErr_CheckSignals() != 0) throw nb::python_error();
        return Raised::current() == nullptr || !Raised::current()->any();
      });
      return goes_on && (users_here() == nullptr || users_here()->stepComplete(phase, step));
    }
    void phaseFinish(const char* phase) noexcept override {
      if (users_here() != nullptr) users_here()->phaseFinish(phase);
    }
  };

  // Builds in progress with one configuration, and what the user set as its monitor.
  struct Build {
    nvinfer1::IProgressMonitor* users;
    int count;
  };
  static std::map<const nvinfer1::IBuilderConfig*, Build>& builds() {
    static auto& builds = *new std::map<const nvinfer1::IBuilderConfig*, Build>;
    return builds;
  }
  // The user's monitor of the innermost build on this thread.
  static nvinfer1::IProgressMonitor*& users_here() {
    thread_local nvinfer1::IProgressMonitor* users = nullptr;
    return users;
  }

  nvinfer1::IBuilderConfig& config_;
  nvinfer1::IProgressMonitor* const outer_;
  const nb::object kept_;  // another thread may set another monitor meanwhile
};

}  // namespace tenon::python
