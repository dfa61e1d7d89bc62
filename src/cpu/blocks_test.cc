#include "cpu/blocks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>

#include "base/parallel.h"

namespace tenon::cpu {
namespace {

constexpr double kMuch = 1e9;  // multiplications, so that all threads are used

/// Counts how often each task runs, and what a task finds in its scratch memory.
class Counting final : public BlockExecution {
 public:
  explicit Counting(int64_t tasks, int64_t floats = 0, int64_t shared_floats = 0)
      : BlockExecution({}, {}, {}), runs(static_cast<size_t>(tasks)), floats_(floats) {
    set_tasks(tasks, kMuch, floats, shared_floats);
  }

  void run_now() {
    std::vector<float> scratch(scratch_bytes() / sizeof(float));
    scratch_begin_ = scratch.data();
    scratch_end_ = scratch.data() + scratch.size();
    BlockExecution::run({{}, {}, scratch.data()});
  }

  std::vector<std::atomic<int>> runs;
  int64_t thrown_by = -1;
  std::atomic<bool> overlaps = false, in_scratch = false;

 protected:
  void begin(const RunArguments&, float*) override {}
  void run_task(int64_t task, float* workspace) const override {
    auto& self = const_cast<Counting&>(*this);
    if (task == thrown_by) throw std::runtime_error("task");
    ++self.runs[static_cast<size_t>(task)];
    if (workspace >= scratch_begin_ && workspace < scratch_end_) self.in_scratch = true;
    // Nobody else writes there meanwhile.
    std::fill_n(workspace, floats_, static_cast<float>(task));
    if (std::any_of(workspace, workspace + floats_,
                    [&](float x) { return x != static_cast<float>(task); }))
      self.overlaps = true;
  }

 private:
  int64_t floats_;
  const float *scratch_begin_ = nullptr, *scratch_end_ = nullptr;
};

std::vector<int> counts(const Counting& execution) {
  return {execution.runs.begin(), execution.runs.end()};
}

class Blocks : public ::testing::TestWithParam<int> {
 protected:
  void SetUp() override { set_thread_count(GetParam()); }
  void TearDown() override { set_thread_count(0); }
};

TEST_P(Blocks, EveryTaskRunsOnce) {
  for (int64_t tasks : {0, 1, 2, 3, 7, 64, 1000}) {
    Counting execution(tasks);
    for (int times = 1; times <= 3; ++times) {
      execution.run_now();
      EXPECT_THAT(counts(execution), ::testing::Each(times)) << tasks << " tasks";
    }
  }
}

TEST_P(Blocks, TasksThatRunTogetherHaveScratchMemoryOfTheirOwn) {
  for (int64_t floats : {int64_t{1}, workspace_floats(), workspace_floats() + 1}) {
    Counting execution(40, floats, 5);
    execution.run_now();
    EXPECT_FALSE(execution.overlaps) << floats;
    // What does not fit a thread workspace lies in the plan's memory.
    EXPECT_EQ(execution.in_scratch, floats > workspace_floats());
  }
}

TEST_P(Blocks, RunsAgainAfterATaskThatThrows) {
  Counting execution(7, 100);
  execution.thrown_by = 4;
  EXPECT_THROW(execution.run_now(), std::runtime_error);
  EXPECT_EQ(execution.runs[4], 0);
  execution.thrown_by = -1;
  for (auto& runs : execution.runs) runs = 0;
  execution.run_now();
  EXPECT_THAT(counts(execution), ::testing::Each(1));
}

INSTANTIATE_TEST_SUITE_P(Threads, Blocks, ::testing::Values(1, 2, 3),
                         [](const auto& info) { return std::to_string(info.param); });

TEST(ShareOf, SharesFollowEachOtherAndAreNearlyEqual) {
  for (int64_t count : {0, 1, 7, 14, 56}) {
    for (int64_t parts : {1, 2, 3, 8}) {
      int64_t next = 0;
      for (int64_t i = 0; i < parts; ++i) {
        const Share share = share_of(count, i, parts);
        EXPECT_EQ(share.first, next);
        EXPECT_GE(share.end - share.first, count / parts);
        EXPECT_LE(share.end - share.first, units(count, parts));
        next = share.end;
      }
      EXPECT_EQ(next, count);
    }
  }
  // Layers of other numbers of parts give a thread the same half.
  EXPECT_EQ(share_of(14, 1, 4).end, share_of(14, 3, 8).end);
}

}  // namespace
}  // namespace tenon::cpu
