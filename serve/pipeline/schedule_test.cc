// All schedules of a few jobs: each step that a thread of a pipeline can take next is tried in
// every state that can be reached.
#include "schedule.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <functional>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "test_times.h"

namespace tenon::serve {
namespace {

using std::chrono::milliseconds;

struct TestJob final : PipelineJob {
  using PipelineJob::PipelineJob;
  Result<void> preprocess(const JobContext&) noexcept override { return {}; }
  Result<void> postprocess(const JobContext&) noexcept override { return {}; }
  void answer(std::optional<JobError>) noexcept override {}
  uint64_t batch_key() const noexcept override { return key; }

  uint64_t key = 0;
};

JobOptions with_deadline(Clock::time_point deadline) {
  JobOptions options;
  options.deadline = deadline;
  return options;
}

// A pipeline of few jobs and two instances, whose threads are the test's.
class World {
 public:
  static constexpr size_t kInstances = 2;

  World(const PipelineOptions& options, size_t jobs)
      : options_(options), schedule_(options, kInstances), passed_(jobs) {
    // Some have a deadline, and some cannot share a batch with others.
    for (size_t i = 0; i < jobs; ++i)
      jobs_.push_back(std::make_unique<TestJob>(
          i % 3 == 1 ? with_deadline(start_ + milliseconds(100)) : JobOptions{}));
    for (size_t i = 2; i < jobs; i += 3) jobs_[i]->key = 1;
  }

  struct Step {
    std::string name;
    std::function<void()> take;
    bool is_needed = true;  // it has to happen some time, if it can
  };

  // What can happen next.
  std::vector<Step> steps() {
    std::vector<Step> steps;
    if (committed_ < jobs_.size() && !full_)
      steps.push_back({"commit", [this] { commit(committed_++); }, false});
    if (full_) {
      if (schedule_.has_capacity(0) || schedule_.is_stopped() || schedule_.live_instances() == 0)
        steps.push_back({"commit again", [this] { commit(committed_ - 1); }});
      steps.push_back({"give up",
                       [this] {
                         full_ = false;
                         schedule_.refuse(*jobs_[committed_ - 1], Failure::kRefused, "", now_);
                       },
                       false});
    }
    if (preprocessing_ == nullptr && schedule_.has_work_to_preprocess())
      steps.push_back(
          {"pre-process", [this] { preprocessing_ = schedule_.take_to_preprocess(now_); }});
    if (preprocessing_ != nullptr)
      add_results(steps, "pre-processed", [this](const Result<void>& result) {
        pass(preprocessing_);
        schedule_.preprocessed(*std::exchange(preprocessing_, nullptr), result, now_);
      });
    bool is_idle_instance = false;
    for (size_t i = 0; i < kInstances; ++i)
      if (!instances_[i].is_dead
          && (!instances_[i].batch.empty() || !std::exchange(is_idle_instance, true)))
        add_instance(steps, i);
    if (postprocessing_ == nullptr && schedule_.has_work_to_postprocess())
      steps.push_back(
          {"post-process", [this] { postprocessing_ = schedule_.take_to_postprocess(now_); }});
    if (postprocessing_ != nullptr)
      add_results(steps, "post-processed", [this](const Result<void>& result) {
        pass(postprocessing_);
        schedule_.postprocessed(*std::exchange(postprocessing_, nullptr), result, now_);
      });
    for (size_t i = 0; i < committed_; ++i)
      if (left_.count(jobs_[i].get()) == 0 && cancelled_.count(i) == 0)
        steps.push_back({"cancel " + std::to_string(i),
                         [this, i] {
                           cancelled_.insert(i);
                           schedule_.cancel(*jobs_[i], now_);
                         },
                         false});
    if (now_ < start_ + milliseconds(100))
      steps.push_back({"expire",
                       [this] {
                         now_ = start_ + milliseconds(100);
                         schedule_.expire(now_);
                       },
                       false});
    for (const bool abort : {false, true})
      if (!schedule_.is_stopped() || (abort && !aborted_))
        steps.push_back({abort ? "abort" : "drain",
                         [this, abort] {
                           aborted_ = aborted_ || abort;
                           schedule_.stop(abort, now_);
                         },
                         false});
    // Two threads hand out. Which of the idle ones does is the same.
    bool is_idle = false;
    for (PipelineJob*& answering : answering_)
      if (answering != nullptr)
        steps.push_back({"delivered " + number(answering), [this, &answering] {
                           schedule_.delivered(*std::exchange(answering, nullptr));
                         }});
      else if (can_answer_ && !std::exchange(is_idle, true))
        steps.push_back({"answer", [this, &answering] {
                           answering = schedule_.next_answer();
                           can_answer_ = answering != nullptr;
                           if (answering != nullptr) answers_.push_back(answering);
                         }});
    steps.push_back({"leave", [this] {
                       const PipelineJob* const left = schedule_.next_left();
                       if (left == nullptr) return;
                       ASSERT_TRUE(left_.insert(left).second) << "left twice";
                       schedule_.left();
                     }});
    return steps;
  }

  void take(const Step& step) {
    if (step.name != "answer" && step.name != "leave") can_answer_ = true;
    constexpr size_t kShown = 2000;
    if (history_.size() < kShown) history_ += (history_.empty() ? "" : ", ") + step.name;
    step.take();
    check();
  }

  // What decides what can come of it: not what led to it.
  std::string key() const {
    std::string key;
    int dead = 0;
    const Statistics statistics = schedule_.statistics();
    for (size_t i = 0; i < jobs_.size(); ++i) {
      const PipelineJob* const job = jobs_[i].get();
      const bool is_answered = std::find(answers_.begin(), answers_.end(), job) != answers_.end();
      key += std::to_string(passed_[i]) + places_of(job) + (is_answered ? "!" : "")
             + (left_.count(jobs_[i].get()) > 0 ? "l" : "") + (job->context().is_over() ? "o" : "")
             + (cancelled_.count(i) > 0 ? "c" : "") + ",";
    }
    for (const Instance& instance : instances_) dead += instance.is_dead;
    key += std::to_string(dead);
    return key + std::to_string(committed_) + (full_ ? "f" : "") + (aborted_ ? "a" : "")
           + (schedule_.is_stopped() ? "s" : "") + (now_ > start_ ? "t" : "")
           + std::to_string(statistics.jobs);
  }

  // Lets what has begun come to its end.
  void finish() {
    for (size_t round = 0; round < 1000 && (full_ || !schedule_.is_empty()); ++round) {
      auto steps = this->steps();
      std::erase_if(steps, [](const Step& step) { return !step.is_needed; });
      take(steps[round % steps.size()]);
    }
    ASSERT_FALSE(full_) << history_;
    EXPECT_TRUE(schedule_.is_empty()) << history_;
    EXPECT_EQ(answers_.size(), committed_) << history_;
    EXPECT_EQ(left_.size(), committed_) << history_;
    const Statistics statistics = schedule_.statistics();
    EXPECT_EQ(statistics.succeeded + statistics.failures(), committed_) << history_;
    EXPECT_EQ(statistics.jobs, 0u) << history_;
  }

  const std::string& history() const { return history_; }

 private:
  void commit(size_t i) {
    full_ = schedule_.admit(*jobs_[i], now_, true) == Schedule::Admission::kFull;
  }

  static std::string number(const PipelineJob* job) {
    return std::to_string(static_cast<const TestJob*>(job)->key);
  }

  static void add_results(std::vector<Step>& steps, const std::string& name,
                          const std::function<void(const Result<void>&)>& give) {
    steps.push_back({name, [give] { give({}); }});
    steps.push_back({name + " badly", [give] { give(Error{"bad"}); }, false});
  }

  void add_instance(std::vector<Step>& steps, size_t i) {
    Instance& instance = instances_[i];
    const std::string name = std::to_string(i);
    if (instance.batch.empty()) {
      if (!schedule_.has_work_to_run()) return;
      steps.push_back({"run " + name, [this, &instance] {
                         Clock::time_point look_again;
                         schedule_.take_batch(instance.batch, now_, look_again);
                       }});
      return;
    }
    const auto give_all = [this, &instance](const Result<void>& result) {
      for (PipelineJob* const job : instance.batch) {
        pass(job);
        schedule_.inferred(*job, result, now_);
      }
      instance.batch.clear();
    };
    add_results(steps, "ran " + name, give_all);
    steps.push_back({"die " + name,
                     [this, &instance] {
                       instance.is_dead = true;
                       schedule_.instance_died(instance.batch, "dead", now_);
                       instance.batch.clear();
                     },
                     false});
  }

  void pass(const PipelineJob* job) {
    for (size_t i = 0; i < jobs_.size(); ++i)
      if (jobs_[i].get() == job) ++passed_[i];
  }

  // In whose hands a job is.
  std::string places_of(const PipelineJob* job) const {
    std::string places;
    if (job == preprocessing_ || job == postprocessing_) places += "w";
    for (const Instance& instance : instances_)
      if (std::find(instance.batch.begin(), instance.batch.end(), job) != instance.batch.end())
        places += "i";
    for (const PipelineJob* answering : answering_)
      if (answering == job) places += "a";
    return places;
  }

  void check() {
    const Statistics statistics = schedule_.statistics();
    ASSERT_LE(statistics.jobs, options_.max_jobs) << history_;
    for (size_t i = 0; i < answers_.size(); ++i)
      for (size_t j = i + 1; j < answers_.size(); ++j)
        ASSERT_NE(answers_[i], answers_[j]) << "answered twice: " << history_;
    for (const Instance& instance : instances_) {
      ASSERT_LE(instance.batch.size(), options_.max_batch) << history_;
      for (const PipelineJob* job : instance.batch)
        ASSERT_EQ(job->batch_key(), instance.batch[0]->batch_key()) << history_;
    }
  }

  struct Instance {
    std::vector<PipelineJob*> batch;
    bool is_dead = false;
  };

  const PipelineOptions options_;
  const Clock::time_point start_{milliseconds(1000)};
  Clock::time_point now_ = start_;
  std::vector<std::unique_ptr<TestJob>> jobs_;
  Schedule schedule_;
  size_t committed_ = 0;
  bool full_ = false, aborted_ = false, can_answer_ = true;
  PipelineJob* preprocessing_ = nullptr;
  PipelineJob* postprocessing_ = nullptr;
  Instance instances_[kInstances];
  std::vector<int> passed_;  // stages, by job
  PipelineJob* answering_[2] = {nullptr, nullptr};
  std::vector<PipelineJob*> answers_;
  std::set<const PipelineJob*> left_;
  std::set<size_t> cancelled_;
  std::string history_;
};

// Tries all steps in all states; a state is reached again by the steps that led to it.
size_t explore(const PipelineOptions& options, size_t jobs) {
  std::set<std::string> seen;
  std::deque<std::vector<size_t>> pending{{}};
  while (!pending.empty() && !testing::Test::HasFailure()) {
    const std::vector<size_t> path = pending.front();
    pending.pop_front();
    World world(options, jobs);
    for (const size_t choice : path) world.take(world.steps()[choice]);
    if (!seen.insert(world.key()).second) continue;
    const size_t choices = world.steps().size();
    world.finish();
    for (size_t choice = 0; choice < choices; ++choice) {
      pending.push_back(path);
      pending.back().push_back(choice);
    }
  }
  return seen.size();
}

using Case = std::tuple<WhenFull, bool, size_t>;

PipelineOptions small(const Case& parameter) {
  PipelineOptions options;
  options.max_batch = 2;
  options.max_prepared = 2;
  options.max_wait = {};
  std::tie(options.when_full, options.ordered, options.max_jobs) = parameter;
  return options;
}

class AllSchedules : public testing::TestWithParam<Case> {};

// Two jobs where there is room for one, in CI.
TEST(Schedule, AnswersEachOfTwoJobsOnceAndKeepsTheBounds) {
  for (const bool ordered : {false, true})
    for (const WhenFull when_full : {WhenFull::kWait, WhenFull::kDropOldest})
      EXPECT_GT(explore(small({when_full, ordered, 1}), 2), 1000u);
}

// With room for both there are many more states: one job in CI, two at night.
TEST_P(AllSchedules, AnswerEachJobOnceAndKeepTheBounds) {
  EXPECT_GT(explore(small(GetParam()), test_times() > 1 ? 2 : 1), 100u);
}

TEST_P(AllSchedules, OfManyJobsDoByChance) {
  const unsigned seed = std::random_device()();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  for (int walk = 0; walk < 300 * test_times() && !HasFailure(); ++walk) {
    World world(small(GetParam()), 8);
    for (unsigned left = random() % 150; left > 0; --left) {
      const auto steps = world.steps();
      const auto& step = steps[random() % steps.size()];
      // What ends everything comes late.
      if ((step.name == "abort" || step.name == "drain") && random() % 20 > 0) continue;
      world.take(step);
    }
    world.finish();
  }
}

INSTANTIATE_TEST_SUITE_P(Schedule, AllSchedules,
                         testing::Combine(testing::Values(WhenFull::kWait, WhenFull::kRefuse,
                                                          WhenFull::kDropOldest),
                                          testing::Bool(), testing::Values(1, 2)));

}  // namespace
}  // namespace tenon::serve
