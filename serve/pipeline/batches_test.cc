// Which jobs run together, and instances that fail.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <ctime>
#include <stdexcept>
#include <thread>
#include <vector>

#include "doubling_pipeline.h"

namespace tenon::serve {
namespace {

TEST(Pipeline, OfABatchThatFailsOnlyTheGuiltyJobDoes) {
  Gate gate;
  IntStages stages = doubling();
  stages.instances[0].run = [&](std::span<int* const> batch) -> BatchResult<int> {
    gate.pass();
    std::vector<int> made;
    for (const int* x : batch) {
      if (*x == 3) throw std::runtime_error("three");
      made.push_back(2 * *x);
    }
    return made;
  };
  PipelineOptions options;
  options.max_batch = 8;
  const auto pipeline = start_doubling(options, std::move(stages));
  auto first = pipeline->commit(0);
  gate.await(1);  // the others make a batch meanwhile
  const auto futures = pipeline->commits({0, 1, 2, 3, 4, 5});
  while (pipeline->statistics().stage(Stage::kInfer).waiting < 6)
    std::this_thread::sleep_for(milliseconds(1));
  gate.open();
  for (int i = 0; i < 6; ++i) {
    const auto& answer = futures[static_cast<size_t>(i)].get();
    EXPECT_EQ(static_cast<bool>(answer), i != 2);
    if (answer) {
      EXPECT_EQ(*answer, 2 * i + 1);
    }
  }
  EXPECT_EQ(futures[2].get().error().cause, "three");
  EXPECT_EQ(futures[2].get().error().stage, Stage::kInfer);
  EXPECT_EQ(pipeline->statistics().split_batches, 1u);
}

TEST(Pipeline, AnInstanceOfTheWrongSizeIsAnError) {
  IntStages stages = doubling();
  stages.instances[0].run = [](std::span<int* const>) -> BatchResult<int> {
    return std::vector<int>{};
  };
  const auto pipeline = start_doubling({}, std::move(stages));
  EXPECT_EQ(pipeline->commit(1).get().error().cause, "the instance made 0 values of a batch of 1");
}

TEST(Pipeline, ADeadInstanceIsReplacedByAnotherUntilNoneIsLeft) {
  IntStages stages = doubling(3);
  std::atomic<int> deaths{0};
  for (size_t i = 0; i < 2; ++i)
    stages.instances[i].run = [&deaths](std::span<int* const>) -> BatchResult<int> {
      ++deaths;
      return {Error{"the device fell off the bus"}, true};
    };
  std::atomic<bool> last_dies{false};
  stages.instances[2].run = [&last_dies](std::span<int* const> batch) -> BatchResult<int> {
    std::this_thread::sleep_for(milliseconds(20));
    if (last_dies) return {Error{"the last device fell off the bus"}, true};
    std::vector<int> made;
    for (const int* x : batch) made.push_back(2 * *x);
    return made;
  };
  const auto pipeline = start_doubling({}, std::move(stages));
  for (const auto& future : pipeline->commits({1, 2, 3, 4, 5, 6}))
    EXPECT_TRUE(future.get()) << future.get().error().text();
  EXPECT_EQ(deaths, 2);
  EXPECT_EQ(pipeline->statistics().instances, 1u);
  last_dies = true;
  const auto futures = pipeline->commits({1, 2, 3});
  for (const auto& future : futures) EXPECT_EQ(future.get().error().failure, Failure::kInstance);
  EXPECT_EQ(futures[0].get().error().cause, "the last device fell off the bus");
  EXPECT_EQ(pipeline->commit(1).get().error().cause, "no instance is left");
}

TEST(Pipeline, InstancesThatWaitForABatchSleep) {
  PipelineOptions options;
  options.max_batch = 8;
  options.adaptive = false;
  options.max_wait = milliseconds(200);
  const auto pipeline = start_doubling(options, doubling(4));
  const std::clock_t begin = std::clock();
  EXPECT_TRUE(pipeline->commit(1).get());
  EXPECT_LT(std::clock() - begin, CLOCKS_PER_SEC / 20);
}

TEST(Pipeline, WaitsForPreferredBatches) {
  std::vector<size_t> sizes;
  IntStages stages = doubling();
  stages.instances[0].run = [&](std::span<int* const> batch) -> BatchResult<int> {
    sizes.push_back(batch.size());
    return std::vector<int>(batch.size());
  };
  PipelineOptions options;
  options.max_batch = 8;
  options.preferred_batches = {4};
  options.adaptive = false;
  options.max_wait = milliseconds(300);
  options.max_prepared = 16;
  const auto pipeline = start_doubling(options, std::move(stages));
  for (const auto& future : pipeline->commits(std::vector<int>(6))) EXPECT_TRUE(future.get());
  EXPECT_EQ(sizes, (std::vector<size_t>{4, 2}));
}

// Sizes of batches of eight jobs that wait, where two take the least time each.
std::vector<size_t> sizes_of_batches(std::function<uint64_t(const int&)> batch_key) {
  std::vector<size_t> sizes;
  Gate gate;
  IntStages stages = doubling();
  stages.batch_key = std::move(batch_key);
  stages.instances[0].warm_up = [] {
    return Result<std::vector<BatchTime>>(
        {{1, milliseconds(3)}, {2, milliseconds(4)}, {4, milliseconds(16)}});
  };
  stages.instances[0].run = [&](std::span<int* const> batch) -> BatchResult<int> {
    gate.pass();
    sizes.push_back(batch.size());
    std::this_thread::sleep_for(milliseconds(2) * batch.size());
    return std::vector<int>(batch.size());
  };
  PipelineOptions options;
  options.max_batch = 4;
  options.max_prepared = 16;
  const auto pipeline = start_doubling(options, std::move(stages));
  const auto first = pipeline->commit(0);
  gate.await(1);
  const auto futures = pipeline->commits({1, 1, 1, 1, 1, 1, 1, 1});
  std::this_thread::sleep_for(milliseconds(50));  // all are ready
  gate.open();
  for (const auto& future : futures) EXPECT_TRUE(future.get());
  return sizes;
}

TEST(Pipeline, BatchesAreOfTheSizeThatTakesTheLeastTimeForAJob) {
  EXPECT_EQ(sizes_of_batches({}), (std::vector<size_t>{1, 2, 2, 2, 2}));
}

TEST(Pipeline, BatchesOfSeveralKeysAreWhole) {
  const auto key = [](const int& x) { return static_cast<uint64_t>(x); };
  EXPECT_EQ(sizes_of_batches(key), (std::vector<size_t>{1, 4, 4}));
}

TEST(Pipeline, BatchesOnlyJobsOfOneKey) {
  IntStages stages = doubling();
  stages.batch_key = [](const int& x) { return static_cast<uint64_t>(x % 3); };
  std::atomic<int> mixed{0};
  stages.instances[0].run = [&](std::span<int* const> batch) -> BatchResult<int> {
    for (const int* x : batch) mixed += *x % 3 != *batch[0] % 3;
    return std::vector<int>(batch.size());
  };
  PipelineOptions options;
  options.max_batch = 4;
  const auto pipeline = start_doubling(options, std::move(stages));
  std::vector<int> inputs(100);
  for (int i = 0; i < 100; ++i) inputs[static_cast<size_t>(i)] = i;
  for (const auto& future : pipeline->commits(inputs)) EXPECT_TRUE(future.get());
  EXPECT_EQ(mixed, 0);
  EXPECT_GT(pipeline->statistics().batch.mean(), 1.0);
}

TEST(Pipeline, CostsBoundBatches) {
  std::atomic<size_t> largest{0};
  IntStages stages = doubling();
  stages.instances[0].run = [&](std::span<int* const> batch) -> BatchResult<int> {
    largest = std::max(largest.load(), batch.size());
    return std::vector<int>(batch.size());
  };
  PipelineOptions options;
  options.max_batch = 10;
  const auto pipeline = start_doubling(options, std::move(stages));
  JobOptions job;
  job.cost = 4;
  for (const auto& future : pipeline->commits(std::vector<int>(50), job)) EXPECT_TRUE(future.get());
  EXPECT_LE(largest, 2u);
  job.cost = 11;
  EXPECT_EQ(pipeline->commit(1, job).get().error().cause, "it costs 11, and a batch at most 10");
}

}  // namespace
}  // namespace tenon::serve
