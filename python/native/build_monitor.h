// The progress monitor of every build from Python.
#pragma once

#include <NvInfer.h>

#include "engine_call.h"

namespace tenon::python {

/// Takes the place of a configuration's monitor during one build: stops the build when a signal
/// came whose handler raises, such as Ctrl-C, or another callback raised, and tells the user's
/// monitor, if there is one.
class BuildMonitor final : public nvinfer1::IProgressMonitor {
 public:
  explicit BuildMonitor(nvinfer1::IBuilderConfig& config)
      : config_(config), users_(config.getProgressMonitor()) {
    config_.setProgressMonitor(this);
  }
  ~BuildMonitor() noexcept override { config_.setProgressMonitor(users_); }

  void phaseStart(const char* phase, const char* parent, int32_t steps) noexcept override {
    if (users_ != nullptr) users_->phaseStart(phase, parent, steps);
  }
  bool stepComplete(const char* phase, int32_t step) noexcept override {
    const bool goes_on = into_python(false, "a signal's handler", [] {
      if (PyErr_CheckSignals() != 0) throw nb::python_error();
      return Raised::current() == nullptr || !Raised::current()->any();
    });
    return goes_on && (users_ == nullptr || users_->stepComplete(phase, step));
  }
  void phaseFinish(const char* phase) noexcept override {
    if (users_ != nullptr) users_->phaseFinish(phase);
  }

  /// The monitor that the user set; null if none.
  static nvinfer1::IProgressMonitor* users(const nvinfer1::IBuilderConfig& config) {
    nvinfer1::IProgressMonitor* const monitor = config.getProgressMonitor();
    const auto* const during_build = dynamic_cast<const BuildMonitor*>(monitor);
    return during_build != nullptr ? during_build->users_ : monitor;
  }

 private:
  nvinfer1::IBuilderConfig& config_;
  nvinfer1::IProgressMonitor* const users_;
};

}  // namespace tenon::python
