// Which jobs a pipeline lets in, and which go first.
#include <gtest/gtest.h>

#include <future>
#include <string>
#include <thread>
#include <vector>

#include "doubling_pipeline.h"

namespace tenon::serve {
namespace {

TEST(Pipeline, RefusesWhenFull) {
  Gate gate;
  IntStages stages = gated(gate);
  PipelineOptions options;
  options.max_jobs = 2;
  options.when_full = WhenFull::kRefuse;
  const auto pipeline = start_doubling(options, std::move(stages));
  const auto futures = pipeline->commits({1, 2, 3});
  EXPECT_EQ(futures[2].get().error().failure, Failure::kRefused);
  EXPECT_EQ(futures[2].get().error().cause, "the pipeline is full: its jobs are 2, their bytes 0");
  gate.open();
  EXPECT_TRUE(futures[0].get());
  EXPECT_TRUE(futures[1].get());
}

TEST(Pipeline, WhoGetsAnAnswerCanCommitTheNextJob) {
  JobOptions job;
  job.bytes = 5;
  PipelineOptions options;
  options.max_jobs = 1;
  options.max_bytes = 5;
  options.when_full = WhenFull::kRefuse;
  const auto pipeline = start_doubling(options, doubling());
  std::promise<std::shared_future<Ints::Answered>> next;
  pipeline->submit(1, job, [&](const Ints::Answered&) {
    std::thread([&] { next.set_value(pipeline->commit(2, job)); }).join();
  });
  const auto answer = next.get_future().get().get();
  ASSERT_TRUE(answer) << answer.error().text();
  EXPECT_EQ(*answer, 5);
}

TEST(Pipeline, DropsTheOldestJobThatNoStageWorksOn) {
  Gate gate;
  IntStages stages = gated(gate);
  PipelineOptions options;
  options.max_jobs = 3;
  options.when_full = WhenFull::kDropOldest;
  const auto pipeline = start_doubling(options, std::move(stages));
  auto first = pipeline->commit(1);
  gate.await(1);
  const auto futures = pipeline->commits({2, 3, 4, 5});
  EXPECT_EQ(futures[0].get().error().failure, Failure::kDropped);
  EXPECT_EQ(futures[1].get().error().failure, Failure::kDropped);
  gate.open();
  EXPECT_TRUE(first.get());
  EXPECT_TRUE(futures[2].get());
  EXPECT_TRUE(futures[3].get());
}

TEST(Pipeline, DropsAsManyAsTheBytesOfOneJobNeed) {
  Gate gate;
  IntStages stages = gated(gate);
  PipelineOptions options;
  options.max_bytes = 10;
  options.when_full = WhenFull::kDropOldest;
  const auto pipeline = start_doubling(options, std::move(stages));
  JobOptions small, large;
  small.bytes = 1;
  large.bytes = 5;
  const auto futures = pipeline->commits(std::vector<int>(10), small);
  gate.await(1);
  const auto last = pipeline->commit(7, large);  // no job is done meanwhile
  EXPECT_EQ(pipeline->statistics().failed[static_cast<size_t>(Failure::kDropped)], 5u);
  gate.open();
  EXPECT_TRUE(last.get());
}

TEST(Pipeline, WaitsForRoomInJobsAndBytes) {
  PipelineOptions options;
  options.max_jobs = 3;
  options.max_bytes = 100;
  const auto pipeline = start_doubling(options, doubling(1, milliseconds(1)));
  JobOptions job;
  job.bytes = 60;
  for (const auto& future : pipeline->commits(std::vector<int>(20), job)) EXPECT_TRUE(future.get());
  EXPECT_EQ(pipeline->statistics().peak_bytes, 60u);
  job.bytes = 101;
  EXPECT_EQ(pipeline->commit(1, job).get().error().cause,
            "its bytes are 101, and the pipeline's at most 100");
}

TEST(Pipeline, WaitsForRoomNoLongerThanItsTimeOut) {
  Gate gate;
  IntStages stages = gated(gate);
  PipelineOptions options;
  options.max_jobs = 1;
  options.when_full = WhenFull::kTimeOut;
  options.admission_timeout = milliseconds(10);
  const auto pipeline = start_doubling(options, std::move(stages));
  auto first = pipeline->commit(1);
  EXPECT_EQ(pipeline->commit(2).get().error().failure, Failure::kRefused);
  JobOptions job;
  job.deadline = Clock::now() + milliseconds(2);
  EXPECT_EQ(pipeline->commit(2, job).get().error().failure, Failure::kExpired);
  gate.open();
  EXPECT_TRUE(first.get());
}

TEST(Pipeline, PrioritiesGoFirstAndAge) {
  Gate gate;
  std::vector<int> order;
  IntStages stages = doubling();
  stages.preprocess = [&](int& x, const JobContext&) -> Result<int> {
    gate.pass();
    order.push_back(x);
    return x;
  };
  PipelineOptions options;
  options.ageing = milliseconds(20);
  const auto pipeline = start_doubling(options, std::move(stages));
  (void)pipeline->commit(0);
  gate.await(1);
  (void)pipeline->commit(1);
  std::this_thread::sleep_for(milliseconds(50));
  JobOptions urgent, more_urgent;
  urgent.priority = 1;  // worth 20 ms: not enough to overtake job 1
  more_urgent.priority = 1000;
  (void)pipeline->commit(2);
  (void)pipeline->commit(3, urgent);
  (void)pipeline->commit(4, more_urgent);
  gate.open();
  EXPECT_TRUE(pipeline->stop());
  EXPECT_EQ(order, (std::vector{0, 4, 1, 3, 2}));
}

TEST(Pipeline, OptionsThatContradictAreRefused) {
  const auto error = [](const PipelineOptions& options, IntStages stages) {
    return Ints::start(options, std::move(stages)).error();
  };
  PipelineOptions options;
  EXPECT_EQ(error(options, doubling(0)), "pipeline options: there must be an instance");
  options.max_batch = 0;
  EXPECT_EQ(error(options, doubling()), "pipeline options: max_batch must be 1 to 65536, found 0");
  options.max_batch = 4;
  options.preferred_batches = {5};
  EXPECT_EQ(error(options, doubling()),
            "pipeline options: preferred batch 5 is not within 1 and max_batch 4");
  IntStages stages = doubling();
  stages.instances[0].warm_up = []() -> Result<std::vector<BatchTime>> { return Error{"cold"}; };
  EXPECT_EQ(error({}, std::move(stages)), "cold");
}

}  // namespace
}  // namespace tenon::serve
