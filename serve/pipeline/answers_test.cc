// What becomes of jobs: outputs, errors, deadlines, the end.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>

#include "doubling_pipeline.h"

namespace tenon::serve {
namespace {

TEST(Pipeline, AnswersEachJobByItsOutput) {
  PipelineOptions options;
  options.max_batch = 4;
  options.preprocess_workers = options.postprocess_workers = 2;
  const auto pipeline = start_doubling(options, doubling(2));
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
  const auto pipeline = start_doubling(options, std::move(stages));
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

TEST(Pipeline, MayBeDeletedInAnAnswer) {
  for (int i = 0; i < 50; ++i) {
    auto pipeline = start_doubling({}, doubling());
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

TEST(Pipeline, ADeadlineAnswersAJobThatAStageWorksOn) {
  Gate gate;
  std::atomic<bool> saw_its_end{false};
  IntStages stages = doubling();
  stages.preprocess = [&](int& x, const JobContext& context) -> Result<int> {
    gate.pass();
    saw_its_end = context.is_over();
    return x;
  };
  const auto pipeline = start_doubling({}, std::move(stages));
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
  const auto pipeline = start_doubling({}, std::move(stages));
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
  const auto pipeline = start_doubling(options, std::move(stages));
  std::vector<int> order;
  for (int i = 0; i < 500; ++i)
    pipeline->submit(i, {}, [&order, i](const Answer<int>&) { order.push_back(i); });
  EXPECT_TRUE(pipeline->stop());
  ASSERT_EQ(order.size(), 500u);
  EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
}

TEST(Pipeline, StopDrainsOrAborts) {
  for (const bool abort : {false, true}) {
    const auto pipeline = start_doubling({}, doubling(1, milliseconds(2)));
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
  const auto pipeline = start_doubling(options, doubling());
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
  const auto pipeline = start_doubling({}, doubling());
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
  const auto pipeline = start_doubling({}, doubling());
  std::promise<int> sum;
  sum_up(*pipeline, 100, sum);
  EXPECT_EQ(sum.get_future().get(), 10000);
  // Answers that are there at once do not nest.
  EXPECT_TRUE(pipeline->stop());
  std::promise<int> refused;
  sum_up(*pipeline, 100000, refused);
  EXPECT_EQ(refused.get_future().get(), -100000);
}

TEST(Pipeline, ShowsWhatItDid) {
  PipelineOptions options;
  options.model = "doubling";
  options.trace_spans = 100;
  const auto pipeline = start_doubling(options, doubling());
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

// As in W3C's recommendation; what is none is a correlation id like others.
TEST(Pipeline, TracesHaveIdentifiersOfOpenTelemetry) {
  PipelineOptions options;
  options.trace_spans = 100;
  const auto pipeline = start_doubling(options, doubling());
  const std::string traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
  for (const std::string& id :
       {traceparent, traceparent + "0",
        std::string("00-00000000000000000000000000000000-") + "b7ad6b7169203331-01",
        std::string("camera 3")}) {
    JobOptions job;
    job.correlation_id = id;
    EXPECT_TRUE(pipeline->commit(1, job).get());
  }
  EXPECT_TRUE(pipeline->stop());
  const auto trace = nlohmann::json::parse(pipeline->trace_json());
  std::map<std::string, std::set<std::string>> traces, spans;
  for (const auto& event : trace["traceEvents"]) {
    if (event["ph"] != "X" && event["ph"] != "b") continue;
    const auto& args = event["args"];
    const std::string id = args["correlation_id"];
    traces[id].insert(args["trace_id"]);
    EXPECT_TRUE(spans[args["trace_id"]].insert(args["span_id"]).second);
    EXPECT_EQ(std::string(args["trace_id"]).size(), 32U);
    EXPECT_EQ(std::string(args["span_id"]).size(), 16U);
    EXPECT_EQ(args.value("parent_span_id", ""), id == traceparent ? "b7ad6b7169203331" : "");
  }
  EXPECT_EQ(traces[traceparent], std::set<std::string>{"0af7651916cd43dd8448eb211c80319c"});
  EXPECT_EQ(traces.size(), 4U);
  EXPECT_EQ(spans.size(), 4U);
  for (const auto& [id, numbers] : spans) EXPECT_EQ(numbers.size(), 6U);
}

}  // namespace
}  // namespace tenon::serve
