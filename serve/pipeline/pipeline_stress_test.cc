// Nothing is lost: many producers, a slow engine, failures of all kinds, and a stop in the middle.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <random>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include "tenon/serve/pipeline.h"
#include "test_times.h"

namespace tenon::serve {
namespace {

using std::chrono::microseconds;

// Counts how many there are at once.
template <int kKind> class Counted {
 public:
  explicit Counted(int value) : value(value) { add(1); }
  // What was moved from holds no memory any more.
  Counted(Counted&& other) noexcept
      : value(other.value), counts_(std::exchange(other.counts_, false)) {}
  ~Counted() {
    if (counts_) add(-1);
  }
  Counted& operator=(Counted&&) = delete;

  static int peak() { return peak_; }
  static int now() { return now_; }
  static void reset() { peak_ = 0; }

  int value;

 private:
  static void add(int change) {
    const int now = now_.fetch_add(change) + change;
    for (int peak = peak_; now > peak && !peak_.compare_exchange_weak(peak, now);) {}
  }
  static inline std::atomic<int> now_{0}, peak_{0};
  bool counts_ = true;
};
using Frame = Counted<0>;
using Prepared = Counted<1>;

constexpr int kProducers = 16;
constexpr size_t kInstances = 2, kBatch = 32;

// Of every stage some jobs fail, known by their number.
bool fails(int job, int stage) {
  return job % 101 == 17 + stage;
}

Stages<Frame, int, Prepared, int> stages() {
  Stages<Frame, int, Prepared, int> stages;
  stages.preprocess = [](Frame& frame, const JobContext&) -> Result<Prepared> {
    if (fails(frame.value, 0)) throw std::runtime_error("pre-process");
    return Prepared(frame.value + 1);
  };
  for (size_t i = 0; i < kInstances; ++i)
    stages.instances.push_back({[](std::span<Prepared* const> batch) -> BatchResult<int> {
                                  std::this_thread::sleep_for(microseconds(500));
                                  std::vector<int> made;
                                  for (const Prepared* one : batch) {
                                    if (fails(one->value - 1, 1)) return Error{"infer"};
                                    made.push_back(2 * one->value);
                                  }
                                  return made;
                                },
                                {}});
  stages.postprocess = [](Frame& frame, int& made, const JobContext&) -> Result<int> {
    if (fails(frame.value, 2)) return Error{"post-process"};
    return made - 2;
  };
  return stages;
}

class Stress : public testing::TestWithParam<std::tuple<WhenFull, bool>> {};

TEST_P(Stress, EachJobIsAnsweredOnceAndRight) {
  const auto [when_full, abort] = GetParam();
  const int jobs = 20000 * test_times() / kProducers * kProducers;
  PipelineOptions options;
  options.max_jobs = 200;
  options.max_batch = kBatch;
  options.when_full = when_full;
  options.preprocess_workers = options.postprocess_workers = 2;
  Frame::reset();
  Prepared::reset();

  std::vector<std::atomic<int>> answers(static_cast<size_t>(jobs));
  std::atomic<int> wrong{0}, committed{0};
  std::array<std::atomic<int>, kFailures> failed{};
  std::atomic<int> succeeded{0};
  {
    auto started = Pipeline<Frame, int>::start(options, stages());
    ASSERT_TRUE(started) << started.error();
    Pipeline<Frame, int>& pipeline = **started;
    const auto produce = [&](int producer) {
      std::mt19937 random(static_cast<unsigned>(producer));
      for (int i = producer; i < jobs; i += kProducers) {
        std::stop_source stop;
        JobOptions job;
        const bool is_cancelled = random() % 50 == 0;
        if (is_cancelled) job.stop = stop.get_token();
        const bool has_deadline = random() % 20 == 0;
        if (has_deadline) job.deadline = Clock::now() + microseconds(random() % 5000);
        job.priority = static_cast<int>(random() % 3);
        pipeline.submit(Frame(i), job, [&, i](const Answer<int>& answer) {
          ++answers[static_cast<size_t>(i)];
          if (answer) {
            ++succeeded;
            wrong += *answer != 2 * i || fails(i, 0) || fails(i, 1) || fails(i, 2);
          } else {
            ++failed[static_cast<size_t>(answer.error().failure)];
            if (answer.error().failure == Failure::kStage)
              wrong += !fails(i, static_cast<int>(answer.error().stage) - 1);
          }
        });
        ++committed;
        if (is_cancelled) stop.request_stop();
      }
    };
    std::vector<std::thread> producers;
    for (int i = 0; i < kProducers; ++i) producers.emplace_back(produce, i);
    while (committed < jobs * 2 / 3) std::this_thread::sleep_for(microseconds(100));
    EXPECT_TRUE(pipeline.stop(abort));
    for (std::thread& producer : producers) producer.join();

    const Statistics statistics = pipeline.statistics();
    EXPECT_EQ(statistics.committed, static_cast<uint64_t>(jobs));
    EXPECT_EQ(statistics.succeeded + statistics.failures(), static_cast<uint64_t>(jobs));
    EXPECT_EQ(statistics.jobs, 0u);
    EXPECT_LE(statistics.peak_jobs, options.max_jobs);
    for (size_t i = 0; i < failed.size(); ++i)
      EXPECT_EQ(statistics.failed[i], static_cast<uint64_t>(failed[i].load()));
  }
  EXPECT_EQ(wrong, 0);
  for (const auto& answer : answers) ASSERT_EQ(answer, 1);
  EXPECT_GT(succeeded, 0);
  EXPECT_GT(failed[static_cast<size_t>(Failure::kStopped)], 0);
  // Where most jobs are refused, it is chance which of them fail otherwise.
  if (when_full == WhenFull::kWait) {
    for (const Failure failure : {Failure::kStage, Failure::kCancelled, Failure::kExpired})
      EXPECT_GT(failed[static_cast<size_t>(failure)], 0) << name_of(failure);
  }
  EXPECT_EQ(Frame::now(), 0);
  EXPECT_EQ(Prepared::now(), 0);
  // Those in the pipeline, one that each producer is about to commit, and those that were refused
  // and that another thread is answering.
  EXPECT_LE(Frame::peak(), static_cast<int>(options.max_jobs) + 2 * kProducers);
  // Those that wait for an instance, those that instances run, and those of jobs that were answered
  // early and are being deleted.
  EXPECT_LE(Prepared::peak(), static_cast<int>(3 * kBatch * kInstances) + kProducers);
}

INSTANTIATE_TEST_SUITE_P(Pipeline, Stress,
                         testing::Combine(testing::Values(WhenFull::kWait, WhenFull::kRefuse,
                                                          WhenFull::kDropOldest),
                                          testing::Bool()));

}  // namespace
}  // namespace tenon::serve
