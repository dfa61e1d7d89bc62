#include "generator.h"

#include <gtest/gtest.h>
#include <tenon/session/result.h>

#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

namespace tenon::load {
namespace {

using std::chrono::milliseconds;

// A server of one worker, which takes some time for a request and has a queue that is bounded.
struct FakeServer {
  milliseconds service{1};
  size_t max_queue = 1000;
  Outcome outcome = Outcome::kAnswered;
  milliseconds stall{0};  // once, in the fiftieth request
  std::atomic<size_t> came = 0, most = 0;
};

class FakeTransport final : public Transport {
 public:
  FakeTransport(FakeServer& server, Receive receive)
      : server_(server), receive_(std::move(receive)), worker_([this] { work(); }) {}
  ~FakeTransport() override {
    {
      const std::lock_guard lock(mutex_);
      is_over_ = true;
    }
    changed_.notify_all();
    worker_.join();
  }

  void send(Clock::time_point intended) override {
    const auto now = Clock::now();
    ++server_.came;
    {
      const std::lock_guard lock(mutex_);
      if (queue_.size() < server_.max_queue) {
        queue_.push_back({intended, now, server_.outcome, "as it was told"});
        server_.most = std::max<size_t>(server_.most, queue_.size());
        changed_.notify_all();
        return;
      }
    }
    receive_({intended, now, Outcome::kRefused, "full"});
  }

 private:
  void work() {
    for (size_t i = 0;; ++i) {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return is_over_ || !queue_.empty(); });
      if (is_over_) return;
      lock.unlock();
      std::this_thread::sleep_for(i == 50 ? server_.stall : server_.service);
      lock.lock();
      Sent sent = queue_.front();
      queue_.pop_front();
      lock.unlock();
      receive_(std::move(sent));
    }
  }

  FakeServer& server_;
  Receive receive_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Sent> queue_;
  bool is_over_ = false;
  std::thread worker_;
};

LevelResult run(FakeServer& server, const Level& level, const GeneratorOptions& options) {
  return run_level(level, options, [&](const TransportOptions&, Receive receive) {
    return std::make_unique<FakeTransport>(server, std::move(receive));
  });
}

GeneratorOptions short_windows() {
  GeneratorOptions options;
  options.warm_up = milliseconds(20);
  options.interval = milliseconds(100);
  options.max_windows = 3;
  return options;
}

TEST(Generator, AClosedLoopKeepsAsManyRequestsUnderWay) {
  FakeServer server;
  const LevelResult result = run(server, {Loop::kClosed, 4}, short_windows());
  EXPECT_EQ(server.most, 4U);
  EXPECT_EQ(result.windows, 3);
  EXPECT_GT(result.measurement.answered, 20U);
  // Little's law.
  EXPECT_NEAR(result.measurement.requests_per_second * result.measurement.latency.mean, 4, 0.5);
  EXPECT_EQ(result.requests.size(), result.measurement.answered);
}

TEST(Generator, SendsExactlyAsManyRequestsAsAreWanted) {
  for (const Loop loop : {Loop::kClosed, Loop::kOpen}) {
    FakeServer server;
    server.service = milliseconds(0);
    GeneratorOptions options;
    options.requests = 321;
    const LevelResult result = run(server, {loop, loop == Loop::kOpen ? 5000.0 : 7}, options);
    EXPECT_EQ(server.came, 321U);
    EXPECT_EQ(result.measurement.answered, 321U);
    EXPECT_EQ(result.requests.size(), 321U);
  }
}

TEST(Generator, AnOpenLoopKeepsItsRateAndCountsRefusals) {
  FakeServer server;
  server.service = milliseconds(5);
  server.max_queue = 4;
  GeneratorOptions options;
  options.requests = 600;
  options.distribution = Distribution::kPoisson;
  const LevelResult result = run(server, {Loop::kOpen, 1000}, options);
  const Measurement& made = result.measurement;
  EXPECT_EQ(made.answered + made.refused, 600U);
  EXPECT_GT(made.refused, 300U);  // three of four
  EXPECT_GT(made.answered, 30U);
}

// Nobody is served for 300 ms: half of 500 requests at one in 2 ms come meanwhile or just behind.
TEST(Generator, AnOpenLoopSeesAStallInManyRequests) {
  FakeServer server;
  server.service = milliseconds(0);
  server.stall = milliseconds(300);
  GeneratorOptions options;
  options.requests = 500;
  options.percentiles = {90};
  const double open =
      run(server, {Loop::kOpen, 500}, options).measurement.latency.percentiles[0].second;
  EXPECT_GT(open, 0.1);
  const double closed =
      run(server, {Loop::kClosed, 1}, options).measurement.latency.percentiles[0].second;
  EXPECT_LT(closed, 0.1);
}

TEST(Generator, GivesUpWhereRequestsOnlyFail) {
  FakeServer server;
  server.service = milliseconds(0);
  server.outcome = Outcome::kFailed;
  GeneratorOptions options = short_windows();
  options.interval = std::chrono::seconds(20);
  try {
    run(server, {Loop::kClosed, 2}, options);
    ADD_FAILURE();
  } catch (const session::Error& error) {
    EXPECT_NE(error.text.find("as it was told"), std::string::npos) << error.text;
  }
  EXPECT_LT(server.came, 3000U);  // 200 a second, and not as many as it can
}

}  // namespace
}  // namespace tenon::load
