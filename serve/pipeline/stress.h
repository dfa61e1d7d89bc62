// Many producers, failures of all kinds, and a stop in the middle: what tests of different engines
// have in common.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include "tenon/serve/pipeline.h"
#include "test_times.h"

namespace tenon::serve {

inline constexpr int kProducers = 16;

/// Of every stage some jobs fail, known by their number.
inline bool fails(int job, int stage) {
  return job % 101 == 17 + stage;
}

struct StressCounts {
  std::atomic<int> succeeded{0};
  std::array<std::atomic<int>, kFailures> failed{};
};

/// Commits Input(0) to Input(jobs - 1), of which the answer is twice the number, and stops when two
/// thirds are there. Expects that each is answered once, and right.
template <class Input, class... Between>
void stress(const PipelineOptions& options, Stages<Input, int, Between...> stages, int jobs,
            bool abort, StressCounts& counts) {
  using std::chrono::microseconds;
  std::vector<std::atomic<int>> answers(static_cast<size_t>(jobs));
  std::atomic<int> wrong{0}, committed{0};
  {
    auto started = Pipeline<Input, int>::start(options, std::move(stages));
    ASSERT_TRUE(started) << started.error();
    Pipeline<Input, int>& pipeline = **started;
    const auto produce = [&](int producer) {
      std::mt19937 random(static_cast<unsigned>(producer));
      for (int i = producer; i < jobs; i += kProducers) {
        // However busy the machine is, some jobs succeed before the stop.
        while (i > jobs / 2 && counts.succeeded == 0)
          std::this_thread::sleep_for(microseconds(100));
        std::stop_source stop;
        JobOptions job;
        const bool is_cancelled = random() % 50 == 0;
        if (is_cancelled) job.stop = stop.get_token();
        const bool has_deadline = random() % 20 == 0;
        if (has_deadline) job.deadline = Clock::now() + microseconds(random() % 5000);
        job.priority = static_cast<int>(random() % 3);
        pipeline.submit(Input(i), job, [&, i](const Answer<int>& answer) {
          ++answers[static_cast<size_t>(i)];
          if (answer) {
            ++counts.succeeded;
            wrong += *answer != 2 * i || fails(i, 0) || fails(i, 1) || fails(i, 2);
          } else {
            ++counts.failed[static_cast<size_t>(answer.error().failure)];
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
    for (size_t i = 0; i < counts.failed.size(); ++i)
      EXPECT_EQ(statistics.failed[i], static_cast<uint64_t>(counts.failed[i].load()));
  }
  EXPECT_EQ(wrong, 0);
  for (const auto& answer : answers) ASSERT_EQ(answer, 1);
}

}  // namespace tenon::serve
