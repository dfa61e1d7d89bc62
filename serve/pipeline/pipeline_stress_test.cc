// Nothing is lost: many producers, a slow engine, failures of all kinds, and a stop in the middle.
#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include "stress.h"

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

constexpr size_t kInstances = 2, kBatch = 32;

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

enum Mode { kWorkers, kWithoutWorkers, kInline };
class Stress : public testing::TestWithParam<std::tuple<WhenFull, bool, Mode>> {};

TEST_P(Stress, EachJobIsAnsweredOnceAndRight) {
  const auto [when_full, abort, mode] = GetParam();
  PipelineOptions options;
  options.max_jobs = 200;
  options.max_batch = kBatch;
  options.when_full = when_full;
  options.preprocess_workers = options.postprocess_workers = mode == kWorkers ? 2 : 0;
  if (mode == kInline) options.inline_below = std::chrono::hours(1);
  Frame::reset();
  Prepared::reset();
  StressCounts counts;
  stress(options, stages(), 20000 * test_times() / kProducers * kProducers, abort, counts);
  const auto failed = [&](Failure failure) {
    return counts.failed[static_cast<size_t>(failure)].load();
  };
  EXPECT_GT(counts.succeeded, 0);
  EXPECT_GT(failed(Failure::kStopped), 0);
  // Where most jobs are refused, it is chance which of them fail otherwise.
  if (when_full == WhenFull::kWait) {
    for (const Failure failure : {Failure::kStage, Failure::kCancelled, Failure::kExpired})
      EXPECT_GT(failed(failure), 0) << name_of(failure);
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

INSTANTIATE_TEST_SUITE_P(
    Pipeline, Stress,
    testing::Combine(testing::Values(WhenFull::kWait, WhenFull::kRefuse, WhenFull::kDropOldest),
                     testing::Bool(), testing::Values(kWorkers, kWithoutWorkers, kInline)));

}  // namespace
}  // namespace tenon::serve
