#include "generator.h"

#include <sys/prctl.h>
#include <tenon/session/result.h>

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

namespace tenon::load {
namespace {

constexpr auto kPause = std::chrono::milliseconds(10);  // before one that failed is followed
constexpr auto kPatience = std::chrono::seconds(5);     // with a server that only fails
constexpr size_t kMaxOpen = 1 << 16;                    // requests under way in an open loop

class LevelRun {
 public:
  LevelRun(const Level& level, const GeneratorOptions& options, const MakeTransport& make_transport)
      : level_(level), options_(options) {
    TransportOptions of_transport;
    of_transport.threads = options.threads;
    of_transport.timeout = options.timeout;
    of_transport.connections = is_open() ? options.connections : static_cast<size_t>(level.value);
    if (options.requests > 0) remaining_ = options.requests;
    transport_ = make_transport(of_transport, [this](Sent sent) { receive(std::move(sent)); });
  }

  LevelResult run() {
    start_ = last_answer_ = Clock::now();
    std::jthread pacer;
    if (is_open())
      pacer = std::jthread([this](const std::stop_token& stop) { send_at_rate(stop); });
    else
      for (size_t i = 0; i < static_cast<size_t>(level_.value); ++i) send_next();
    LevelResult result = remaining_ ? count_requests() : watch_windows();
    {
      const std::lock_guard lock(mutex_);
      is_over_ = true;
    }
    pacer.request_stop();
    if (pacer.joinable()) pacer.join();
    drain();
    finish(result);
    return result;
  }

 private:
  bool is_open() const { return level_.loop == Loop::kOpen; }
  double seconds(Clock::time_point time) const {
    return std::chrono::duration<double>(time - start_).count();
  }

  void send_next() { send(Clock::now()); }

  // False where no more are to be sent.
  bool send(Clock::time_point intended) {
    bool is_too_many = false;
    {
      const std::lock_guard lock(mutex_);
      if (is_over_ || (remaining_ && *remaining_ == 0)) return false;
      if (remaining_) --*remaining_;
      is_too_many = is_open() && under_way_ >= kMaxOpen;
      ++under_way_;
    }
    if (is_too_many)
      receive({intended, intended, Outcome::kFailed,
               "not sent: " + std::to_string(kMaxOpen) + " requests are not answered yet"});
    else
      transport_->send(intended);
    return true;
  }

  void receive(Sent sent) {
    const auto now = Clock::now();
    bool sends = false;
    {
      const std::lock_guard lock(mutex_);
      new_records_.push_back(
          {seconds(sent.intended), seconds(sent.sent), seconds(now), sent.outcome});
      --under_way_;
      if (sent.outcome == Outcome::kFailed) {
        ++failures_;
        if (first_failure_.empty()) first_failure_ = std::move(sent.text);
        if (!is_open()) ++paused_;
      } else {
        failures_ = 0;
        last_answer_ = now;
        sends = !is_open() && !is_over_;
      }
      if (under_way_ == 0) changed_.notify_all();
    }
    if (sends) send_next();
  }

  void send_at_rate(const std::stop_token& stop) {
    ::prctl(PR_SET_TIMERSLACK, 1000UL);  // nanoseconds; 50 us by default
    Arrivals arrivals(options_.distribution, level_.value, options_.seed);
    auto next = start_;
    while (!stop.stop_requested()) {
      next += arrivals.next();
      // In slices, so that a rate of one in an hour can be stopped.
      while (Clock::now() < next && !stop.stop_requested())
        std::this_thread::sleep_until(std::min(next, Clock::now() + kPause));
      if (stop.stop_requested() || !send(next)) return;
    }
  }

  // Requests that failed are followed by others meanwhile, but not at once: a server that refuses
  // connections would be asked without end.
  void wait_until(Clock::time_point end) {
    while (Clock::now() < end) tick(std::min(end, Clock::now() + kPause));
  }

  void tick(Clock::time_point end) {
    size_t paused = 0;
    {
      std::unique_lock lock(mutex_);
      changed_.wait_until(lock, end, [this] { return is_done(); });
      if (failures_ > 100 && Clock::now() - last_answer_ > kPatience) fail();
      paused = std::exchange(paused_, 0);
    }
    for (size_t i = 0; i < paused; ++i) send_next();
  }

  bool is_done() const { return remaining_ && *remaining_ == 0 && under_way_ == 0; }

  [[noreturn]] void fail() const {
    throw session::Error{"requests only fail since " + std::to_string(kPatience.count())
                         + " seconds: " + first_failure_};
  }

  LevelResult count_requests() {
    for (bool is_done = false; !is_done;) {
      tick(Clock::now() + kPause);
      const std::lock_guard lock(mutex_);
      is_done = this->is_done();
    }
    window_ = {0, seconds(Clock::now())};
    LevelResult result;
    result.windows = 1;
    return result;
  }

  LevelResult watch_windows() {
    wait_until(start_ + options_.warm_up);
    LevelResult result;
    std::vector<Window> windows;
    for (; result.windows < options_.max_windows && !result.is_stable; ++result.windows) {
      Window window{seconds(Clock::now()), 0};
      wait_until(Clock::now() + options_.interval);
      window.end = seconds(Clock::now());
      windows.push_back(window);
      if (windows.size() >= 3) result.is_stable = agree(windows);
    }
    window_ = {windows[windows.size() - std::min<size_t>(windows.size(), 3)].begin,
               windows.back().end};
    return result;
  }

  // Takes the records without the lock for longer than a moment.
  void take_records() {
    std::vector<Record> taken;
    {
      const std::lock_guard lock(mutex_);
      taken.swap(new_records_);
    }
    records_.insert(records_.end(), taken.begin(), taken.end());
  }

  bool agree(const std::vector<Window>& windows) {
    take_records();
    std::array<Measurement, 3> last;
    for (size_t i = 0; i < 3; ++i)
      last[i] = measure(records_, windows[windows.size() - 3 + i], level_.loop, {});
    return load::is_stable(last, options_.tolerance);
  }

  // Each request ends by its timeout.
  void drain() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return under_way_ == 0; });
  }

  void finish(LevelResult& result) {
    transport_.reset();
    take_records();
    result.level = level_;
    result.measurement = measure(records_, window_, level_.loop, options_.percentiles);
    result.first_failure = first_failure_;
    std::erase_if(records_, [this](const Record& record) {
      const double time = is_open() ? record.intended : record.done;
      return time < window_.begin || time >= window_.end;
    });
    result.requests = std::move(records_);
  }

  const Level level_;
  const GeneratorOptions& options_;
  std::mutex mutex_;
  std::condition_variable changed_;
  Clock::time_point start_, last_answer_;
  Window window_;
  std::vector<Record> records_, new_records_;  // only the latter are added to by other threads
  std::string first_failure_;
  std::optional<size_t> remaining_;  // to be sent; nothing where windows end it
  size_t under_way_ = 0, paused_ = 0, failures_ = 0;
  bool is_over_ = false;
  std::unique_ptr<Transport> transport_;  // last: its threads use what is above
};

}  // namespace

LevelResult run_level(const Level& level, const GeneratorOptions& options,
                      const MakeTransport& make_transport) {
  return LevelRun(level, options, make_transport).run();
}

}  // namespace tenon::load
