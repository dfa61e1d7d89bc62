// Stages without threads of their own.
#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <mutex>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "doubling_pipeline.h"

namespace tenon::serve {
namespace {

PipelineOptions without_workers() {
  PipelineOptions options;
  options.preprocess_workers = options.postprocess_workers = 0;
  return options;
}

TEST(InlineStages, RunInTheThreadThatCommitsAndInTheInstances) {
  std::mutex mutex;
  std::set<std::thread::id> before, in, behind;
  const auto note = [&](std::set<std::thread::id>& ids) {
    const std::scoped_lock lock(mutex);
    ids.insert(std::this_thread::get_id());
  };
  IntStages stages = doubling();
  stages.preprocess = [&](int& x, const JobContext&) -> Result<int> {
    note(before);
    return x + 1;
  };
  stages.instances[0].run = [&](std::span<int* const> batch) -> BatchResult<int> {
    note(in);
    std::vector<int> made;
    for (const int* x : batch) made.push_back(2 * *x);
    return made;
  };
  stages.postprocess = [&](int&, int& y, const JobContext&) -> Result<int> {
    note(behind);
    return y - 1;
  };
  const auto pipeline = start_doubling(without_workers(), std::move(stages));
  for (int i = 0; i < 100; ++i) EXPECT_EQ(*pipeline->commit(i).get(), 2 * i + 1);
  EXPECT_EQ(before, std::set{std::this_thread::get_id()});
  EXPECT_EQ(in.size(), 1u);
  EXPECT_EQ(behind, in);
}

// The instance holds the first job, another is prepared, and the rest cannot be: who commits does
// not wait, and the instance does it later.
TEST(InlineStages, WhatCannotBePreparedAtOnceIsPreparedByTheInstance) {
  Gate gate;
  IntStages stages = doubling();
  const auto run = stages.instances[0].run;
  stages.instances[0].run = [&, run](std::span<int* const> batch) {
    gate.pass();
    return run(batch);
  };
  PipelineOptions options = without_workers();
  options.max_prepared = 1;
  const auto pipeline = start_doubling(options, std::move(stages));
  std::vector<std::shared_future<Answer<int>>> answers;
  for (int i = 0; i < 10; ++i) answers.push_back(pipeline->commit(i));
  gate.await(1);
  EXPECT_LT(pipeline->statistics().stage(Stage::kPreprocess).done, 10u);
  gate.open();
  for (int i = 0; i < 10; ++i) EXPECT_EQ(*answers[static_cast<size_t>(i)].get(), 2 * i + 1);
  EXPECT_TRUE(pipeline->stop());
}

// A deadline makes room for the next job, and no one commits any more: the instance prepares it.
TEST(InlineStages, AJobIsPreparedWhenTheOneBeforeItExpires) {
  Gate gate;
  IntStages stages = doubling();
  const auto run = stages.instances[0].run;
  std::atomic<int> runs{0};
  stages.instances[0].run = [&, run](std::span<int* const> batch) {
    if (runs++ == 0) gate.pass();
    return run(batch);
  };
  PipelineOptions options = without_workers();
  options.max_prepared = 1;
  const auto pipeline = start_doubling(options, std::move(stages));
  auto first = pipeline->commit(1);
  gate.await(1);
  JobOptions soon;
  soon.deadline = Clock::now() + milliseconds(20);
  auto expires = pipeline->commit(2, soon);
  auto last = pipeline->commit(3);
  EXPECT_EQ(expires.get().error().failure, Failure::kExpired);
  gate.open();
  EXPECT_EQ(*first.get(), 3);
  EXPECT_EQ(*last.get(), 7);
}

// Of stages whose batches were measured to take so long: where they run, in many single jobs.
std::set<std::thread::id> threads_of(Clock::duration measured) {
  std::mutex mutex;
  std::set<std::thread::id> ids;
  IntStages stages = doubling();
  stages.instances[0].warm_up = [=] {
    return Result<std::vector<BatchTime>>({{1, measured}, {1, measured}});
  };
  stages.instances[0].run = [&](std::span<int* const> batch) -> BatchResult<int> {
    const std::scoped_lock lock(mutex);
    ids.insert(std::this_thread::get_id());
    return std::vector(batch.size(), 2 * *batch[0]);
  };
  PipelineOptions options = without_workers();
  options.inline_below = milliseconds(100);
  const auto pipeline = start_doubling(options, std::move(stages));
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(*pipeline->commit(i).get(), 2 * i + 1);
    std::this_thread::sleep_for(milliseconds(1));  // the instance waits again
  }
  return ids;
}

TEST(InlineStages, ShortBatchesRunInTheThreadThatCommits) {
  EXPECT_TRUE(threads_of(std::chrono::microseconds(5)).contains(std::this_thread::get_id()));
  EXPECT_FALSE(threads_of(std::chrono::hours(1)).contains(std::this_thread::get_id()));
}

// A job that expires meanwhile is answered by another thread. The instance's own, which waits for
// its instance to come back, ends then.
TEST(InlineStages, AnAnswerMayDeleteThePipelineWhileAnInstanceIsLent) {
  Gate gate;
  IntStages stages = doubling();
  stages.instances[0].warm_up = [] {
    return Result<std::vector<BatchTime>>({{1, milliseconds(1)}});
  };
  const auto run = stages.instances[0].run;
  stages.instances[0].run = [&, run](std::span<int* const> batch) {
    gate.pass();
    return run(batch);
  };
  PipelineOptions options = without_workers();
  options.inline_below = milliseconds(100);
  auto pipeline = start_doubling(options, std::move(stages));
  std::this_thread::sleep_for(milliseconds(20));  // the instance waits
  std::promise<void> deleted;
  JobOptions soon;
  soon.deadline = Clock::now() + milliseconds(20);
  std::thread committer([&] {
    pipeline->submit(1, soon, [&](const Answer<int>&) {
      pipeline.reset();
      deleted.set_value();
    });
  });
  gate.await(1);
  std::this_thread::sleep_for(milliseconds(60));
  gate.open();
  EXPECT_EQ(deleted.get_future().wait_for(std::chrono::seconds(20)), std::future_status::ready);
  committer.join();
}

// An instance that dies so is as dead as any.
TEST(InlineStages, AnInstanceMayDieInTheThreadThatCommits) {
  IntStages stages = doubling();
  std::atomic<bool> dies{false};
  stages.instances[0].warm_up = [] {
    return Result<std::vector<BatchTime>>({{1, milliseconds(1)}});
  };
  stages.instances[0].run = [&](std::span<int* const> batch) -> BatchResult<int> {
    if (dies) return {Error{"dead"}, true};
    return std::vector(batch.size(), 2 * *batch[0]);
  };
  PipelineOptions options = without_workers();
  options.inline_below = milliseconds(100);
  const auto pipeline = start_doubling(options, std::move(stages));
  for (int i = 0; i < 10; ++i) EXPECT_EQ(*pipeline->commit(i).get(), 2 * i + 1);
  dies = true;
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(pipeline->commit(i).get().error().failure, Failure::kInstance);
  EXPECT_EQ(pipeline->statistics().instances, 0u);
}

}  // namespace
}  // namespace tenon::serve
