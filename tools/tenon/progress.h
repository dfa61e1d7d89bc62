// A progress bar on a terminal, plain lines elsewhere.
#pragma once

#include <NvInfer.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <string>
#include <vector>

namespace tenon::tool {

/// Shows the build's phases; SIGINT cancels the build at the next step.
class Progress final : public nvinfer1::IProgressMonitor {
 public:
  explicit Progress(bool quiet);
  ~Progress() noexcept override;
  void phaseStart(const char* phase, const char* parent, int32_t steps) noexcept override;
  bool stepComplete(const char* phase, int32_t step) noexcept override;
  void phaseFinish(const char* phase) noexcept override;

 private:
  struct Phase {
    std::string name;
    int32_t steps = 0, done = 0;
    std::chrono::steady_clock::time_point start;
  };
  void draw();
  void clear();

  bool quiet_, terminal_;
  std::mutex mutex_;
  std::vector<Phase> phases_;  // outermost first
};

}  // namespace tenon::tool
