// The pipeline of whole numbers that tests of pipelines use.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "tenon/serve/pipeline.h"

namespace tenon::serve {

using std::chrono::milliseconds;
using Ints = Pipeline<int, int>;
using IntStages = Stages<int, int, int, int>;

// Adds 1, doubles batches, subtracts 1.
inline IntStages doubling(size_t instances = 1, milliseconds time = milliseconds(0)) {
  IntStages stages;
  stages.preprocess = [](int& x, const JobContext&) -> Result<int> { return x + 1; };
  stages.postprocess = [](int&, int& y, const JobContext&) -> Result<int> { return y - 1; };
  for (size_t i = 0; i < instances; ++i)
    stages.instances.push_back({[time](std::span<int* const> batch) -> BatchResult<int> {
                                  std::this_thread::sleep_for(time);
                                  std::vector<int> made;
                                  for (const int* x : batch) made.push_back(2 * *x);
                                  return made;
                                },
                                {}});
  return stages;
}

inline std::unique_ptr<Ints> start_doubling(const PipelineOptions& options, IntStages stages) {
  auto pipeline = Ints::start(options, std::move(stages));
  EXPECT_TRUE(pipeline) << pipeline.error();
  return pipeline ? *std::move(pipeline) : nullptr;
}

// A gate that a stage waits at.
class Gate {
 public:
  void open() { open_.store(true); }
  void pass() {
    ++waiting_;
    while (!open_.load()) std::this_thread::sleep_for(milliseconds(1));
  }
  void await(int waiting) {
    while (waiting_.load() < waiting) std::this_thread::sleep_for(milliseconds(1));
  }

 private:
  std::atomic<bool> open_{false};
  std::atomic<int> waiting_{0};
};

// Doubling whose jobs wait at the gate to be pre-processed.
inline IntStages gated(Gate& gate) {
  IntStages stages = doubling();
  stages.preprocess = [&](int& x, const JobContext&) -> Result<int> {
    gate.pass();
    return x;
  };
  return stages;
}

}  // namespace tenon::serve
