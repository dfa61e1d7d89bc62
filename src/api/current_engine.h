// The engine that an ICudaEngine stands for. A refit, or another budget of weights, puts another in
// its place, which contexts take when they begin their next run: each run has the weights from
// before the refit, or those after.
#pragma once

#include <memory>
#include <mutex>

#include "run/engine.h"

namespace tenon {

class CurrentEngine {
 public:
  /// @param libraries what keeps the plan's plugin libraries loaded, whose code its engines run.
  CurrentEngine(std::shared_ptr<const Engine> engine, std::shared_ptr<const void> libraries)
      : libraries_(std::move(libraries)), engine_(std::move(engine)) {}

  const std::shared_ptr<const void>& libraries() const { return libraries_; }

  std::shared_ptr<const Engine> get() const {
    const std::lock_guard lock(mutex_);
    return engine_;
  }

  /// Throws while a context holds runs that were captured into CUDA graphs: those have the old
  /// weights' addresses.
  void replace(std::shared_ptr<const Engine> engine) {
    const std::lock_guard lock(mutex_);
    require(captured_ == 0,
            "runs of {} execution contexts were captured into CUDA graphs, which hold the weights: "
            "delete these contexts before weights are refitted or streamed",
            captured_);
    engine_ = std::move(engine);
  }

  /// A context has captured a run, or is gone with those it had captured.
  void count_captured(int change) {
    const std::lock_guard lock(mutex_);
    captured_ += change;
  }

 private:
  const std::shared_ptr<const void> libraries_;
  mutable std::mutex mutex_;
  std::shared_ptr<const Engine> engine_;
  int captured_ = 0;
};

}  // namespace tenon
