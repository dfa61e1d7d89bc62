#include "tenon/serve/pipeline.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <ctime>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <thread>

namespace tenon::serve {
namespace {

using std::chrono::milliseconds;
using Ints = Pipeline<int, int>;
using IntStages = Stages<int, int, int, int>;

// Adds 1, doubles batches, subtracts 1.
IntStages doubling(size_t instances = 1, milliseconds time = milliseconds(0)) {
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

std::unique_ptr<Ints> start(const PipelineOptions& options, IntStages stages) {
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
IntStages gated(Gate& gate) {
  IntStages stages = doubling();
  stages.preprocess = [&](int& x, const JobContext&) -> Result<int> {
    gate.pass();
    return x;
  };
  return stages;
}

TEST(Pipeline, AnswersEachJobByItsOutput) {
  PipelineOptions options;
  options.max_batch = 4;
  options.preprocess_workers = options.postprocess_workers = 2;
  const auto pipeline = start(options, doubling(2));
  std::vector<int> inputs(1000);
  for (int i = 0; i < 1000; ++i) inputs[static_cast<size_t>(i)] = i;
  const auto futures = pipeline->commits(inputs);
  for (int i = 0; i < 1000; ++i) {
    const auto& answer = futures[static_cast<size_t>(i)].get();
    ASSERT_TRUE(answer) << answer.error().text();
    EXPECT_EQ(*answer, 2 * i + 1);
  }
  EXPECT_TRUE(pipeline->stop());
  const Statistics statistics = pipeline->statistics();
  EXPECT_EQ(statistics.succeeded, 1000u);
  EXPECT_EQ(statistics.jobs, 0u);
  EXPECT_LE(statistics.peak_jobs, options.max_jobs);
  EXPECT_EQ(statistics.stage(Stage::kPostprocess).done, 1000u);
}

TEST(Pipeline, AStageThatThrowsFailsItsJobAlone) {
  IntStages stages = doubling();
  stages.preprocess = [](int& x, const JobContext&) -> Result<int> {
    if (x == 1) throw std::runtime_error("no picture");
    if (x == 2) return Error{"no pixels"};
    if (x == 3) throw 3;
    return x + 1;
  };
  PipelineOptions options;
  options.model = "doubling";
  const auto pipeline = start(options, std::move(stages));
  JobOptions job;
  job.correlation_id = "camera 1";
  const auto futures = pipeline->commits({0, 1, 2, 3, 4}, job);
  EXPECT_EQ(*futures[0].get(), 1);
  EXPECT_EQ(futures[1].get().error().text(),
            "doubling, pre-process: failed: no picture (job 'camera 1')");
  EXPECT_EQ(futures[2].get().error().cause, "no pixels");
  EXPECT_EQ(futures[3].get().error().cause, "an exception of an unknown type");
  EXPECT_EQ(*futures[4].get(), 9);
}

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
  const auto pipeline = start(options, std::move(stages));
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
  const auto pipeline = start({}, std::move(stages));
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
  const auto pipeline = start({}, std::move(stages));
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

TEST(Pipeline, RefusesWhenFull) {
  Gate gate;
  IntStages stages = gated(gate);
  PipelineOptions options;
  options.max_jobs = 2;
  options.when_full = WhenFull::kRefuse;
  const auto pipeline = start(options, std::move(stages));
  const auto futures = pipeline->commits({1, 2, 3});
  EXPECT_EQ(futures[2].get().error().failure, Failure::kRefused);
  EXPECT_EQ(futures[2].get().error().cause, "the pipeline is full: its jobs are 2, their bytes 0");
  gate.open();
  EXPECT_TRUE(futures[0].get());
  EXPECT_TRUE(futures[1].get());
}

TEST(Pipeline, DropsTheOldestJobThatNoStageWorksOn) {
  Gate gate;
  IntStages stages = gated(gate);
  PipelineOptions options;
  options.max_jobs = 3;
  options.when_full = WhenFull::kDropOldest;
  const auto pipeline = start(options, std::move(stages));
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
  const auto pipeline = start(options, std::move(stages));
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

TEST(Pipeline, MayBeDeletedInAnAnswer) {
  for (int i = 0; i < 50; ++i) {
    auto pipeline = start({}, doubling());
    Ints* const used = pipeline.get();
    std::promise<void> deleted;
    used->submit(1, {}, [&](const Answer<int>&) {
      while (pipeline == nullptr) std::this_thread::yield();
      pipeline.reset();
      deleted.set_value();
    });
    deleted.get_future().wait();
  }
}

TEST(Pipeline, InstancesThatWaitForABatchSleep) {
  PipelineOptions options;
  options.max_batch = 8;
  options.adaptive = false;
  options.max_wait = milliseconds(200);
  const auto pipeline = start(options, doubling(4));
  const std::clock_t begin = std::clock();
  EXPECT_TRUE(pipeline->commit(1).get());
  EXPECT_LT(std::clock() - begin, CLOCKS_PER_SEC / 20);
}

TEST(Pipeline, WaitsForRoomInJobsAndBytes) {
  PipelineOptions options;
  options.max_jobs = 3;
  options.max_bytes = 100;
  const auto pipeline = start(options, doubling(1, milliseconds(1)));
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
  const auto pipeline = start(options, std::move(stages));
  auto first = pipeline->commit(1);
  EXPECT_EQ(pipeline->commit(2).get().error().failure, Failure::kRefused);
  JobOptions job;
  job.deadline = Clock::now() + milliseconds(2);
  EXPECT_EQ(pipeline->commit(2, job).get().error().failure, Failure::kExpired);
  gate.open();
  EXPECT_TRUE(first.get());
}

TEST(Pipeline, ADeadlineAnswersAJobThatAStageWorksOn) {
  Gate gate;
  std::atomic<bool> saw_its_end{false};
  IntStages stages = doubling();
  stages.preprocess = [&](int& x, const JobContext& context) -> Result<int> {
    gate.pass();
    saw_its_end = context.is_over();
    return x;
  };
  const auto pipeline = start({}, std::move(stages));
  JobOptions job;
  job.deadline = Clock::now() + milliseconds(10);
  const auto future = pipeline->commit(1, job);
  EXPECT_EQ(future.get().error().text(), "pre-process: expired: its deadline has passed");
  EXPECT_GE(Clock::now(), *job.deadline);
  EXPECT_EQ(pipeline->statistics().jobs, 1u);  // it is still being worked on
  gate.open();
  EXPECT_TRUE(pipeline->stop());
  EXPECT_TRUE(saw_its_end);
  EXPECT_EQ(pipeline->statistics().stage(Stage::kInfer).done, 0u);
}

TEST(Pipeline, AStopTokenCancels) {
  Gate gate;
  IntStages stages = gated(gate);
  const auto pipeline = start({}, std::move(stages));
  std::stop_source before, during;
  JobOptions job;
  job.stop = before.get_token();
  before.request_stop();
  EXPECT_EQ(pipeline->commit(1, job).get().error().failure, Failure::kCancelled);
  job.stop = during.get_token();
  const auto working = pipeline->commit(2, job), waiting = pipeline->commit(3, job);
  gate.await(1);
  during.request_stop();
  EXPECT_EQ(working.get().error().failure, Failure::kCancelled);
  EXPECT_EQ(waiting.get().error().failure, Failure::kCancelled);
  gate.open();
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
  const auto pipeline = start(options, std::move(stages));
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

TEST(Pipeline, AnswersInOrderIfAsked) {
  PipelineOptions options;
  options.ordered = true;
  options.max_batch = 3;
  options.preprocess_workers = options.postprocess_workers = 3;
  IntStages stages = doubling(2);
  stages.preprocess = [](int& x, const JobContext&) -> Result<int> {
    std::this_thread::sleep_for(std::chrono::microseconds(x * 7919 % 500));
    if (x % 10 == 3) return Error{"three"};
    return x + 1;
  };
  const auto pipeline = start(options, std::move(stages));
  std::vector<int> order;
  for (int i = 0; i < 500; ++i)
    pipeline->submit(i, {}, [&order, i](const Answer<int>&) { order.push_back(i); });
  EXPECT_TRUE(pipeline->stop());
  ASSERT_EQ(order.size(), 500u);
  EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
}

TEST(Pipeline, StopDrainsOrAborts) {
  for (const bool abort : {false, true}) {
    const auto pipeline = start({}, doubling(1, milliseconds(2)));
    const auto futures = pipeline->commits(std::vector<int>(50, 1));
    EXPECT_TRUE(pipeline->stop(abort));
    size_t answered = 0;
    for (const auto& future : futures) {
      ASSERT_EQ(future.wait_for(milliseconds(0)), std::future_status::ready);
      if (future.get()) {
        ++answered;
      } else {
        EXPECT_EQ(future.get().error().failure, Failure::kStopped);
      }
    }
    EXPECT_EQ(answered == 50, !abort);
    EXPECT_EQ(pipeline->commit(1).get().error().cause, "the pipeline has stopped");
  }
}

TEST(Pipeline, AnAnswerMayCommitAndCannotWaitForTheEnd) {
  PipelineOptions options;
  options.max_jobs = 2;
  const auto pipeline = start(options, doubling());
  std::atomic<int> answered{0};
  std::function<void(const Answer<int>&)> again = [&](const Answer<int>&) {
    if (++answered < 10000) pipeline->submit(answered.load(), {}, again);
  };
  pipeline->submit(0, {}, again);
  while (answered < 10000) std::this_thread::sleep_for(milliseconds(1));
  std::promise<std::string> said;
  pipeline->submit(0, {}, [&](const Answer<int>&) { said.set_value(pipeline->stop().error()); });
  EXPECT_EQ(said.get_future().get(),
            "a pipeline cannot wait for its end in one of its own threads");
  EXPECT_TRUE(pipeline->stop());
}

TEST(Pipeline, AnAnswerThatThrowsHarmsNoOther) {
  const auto pipeline = start({}, doubling());
  pipeline->submit(0, {}, [](const Answer<int>&) { throw std::runtime_error("no"); });
  EXPECT_EQ(*pipeline->commit(1).get(), 3);
}

// A coroutine that nobody waits for.
struct Detached {
  struct promise_type {
    Detached get_return_object() { return {}; }
    std::suspend_never initial_suspend() { return {}; }
    std::suspend_never final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() { std::terminate(); }
  };
};

Detached sum_up(Ints& pipeline, int jobs, std::promise<int>& sum) {
  int total = 0;
  for (int i = 0; i < jobs; ++i) {
    const Answer<int> answer = co_await pipeline.run(i);
    total += answer ? *answer : -1;
  }
  sum.set_value(total);
}

TEST(Pipeline, CoroutinesAwaitAnswers) {
  const auto pipeline = start({}, doubling());
  std::promise<int> sum;
  sum_up(*pipeline, 100, sum);
  EXPECT_EQ(sum.get_future().get(), 10000);
  // Answers that are there at once do not nest.
  EXPECT_TRUE(pipeline->stop());
  std::promise<int> refused;
  sum_up(*pipeline, 100000, refused);
  EXPECT_EQ(refused.get_future().get(), -100000);
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
  const auto pipeline = start(options, std::move(stages));
  for (const auto& future : pipeline->commits(std::vector<int>(6))) EXPECT_TRUE(future.get());
  EXPECT_EQ(sizes, (std::vector<size_t>{4, 2}));
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
  const auto pipeline = start(options, std::move(stages));
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
  const auto pipeline = start(options, std::move(stages));
  JobOptions job;
  job.cost = 4;
  for (const auto& future : pipeline->commits(std::vector<int>(50), job)) EXPECT_TRUE(future.get());
  EXPECT_LE(largest, 2u);
  job.cost = 11;
  EXPECT_EQ(pipeline->commit(1, job).get().error().cause, "it costs 11, and a batch at most 10");
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

TEST(Pipeline, ShowsWhatItDid) {
  PipelineOptions options;
  options.model = "doubling";
  options.trace_spans = 100;
  const auto pipeline = start(options, doubling());
  JobOptions job;
  job.correlation_id = "id \xff";
  EXPECT_TRUE(pipeline->commit(1, job).get());
  EXPECT_TRUE(pipeline->stop());
  const std::string metrics = prometheus_text(pipeline->statistics());
  EXPECT_NE(metrics.find("tenon_jobs_answered_total{model=\"doubling\",result=\"succeeded\"} 1"),
            std::string::npos)
      << metrics;
  EXPECT_NE(metrics.find("tenon_stage_work_seconds_count{model=\"doubling\",stage=\"infer\"} 1"),
            std::string::npos);
  const auto trace = nlohmann::json::parse(pipeline->trace_json());
  std::map<std::string, int> names;
  for (const auto& event : trace["traceEvents"])
    if (event["ph"] == "X" || event["ph"] == "b") ++names[event["name"]];
  EXPECT_EQ(names, (std::map<std::string, int>{{"infer", 1},
                                               {"post-process", 1},
                                               {"pre-process", 1},
                                               {"wait: infer", 1},
                                               {"wait: post-process", 1},
                                               {"wait: pre-process", 1}}));
}

}  // namespace
}  // namespace tenon::serve
