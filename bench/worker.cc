// Measures Tenon on request: opens a plan, then answers each line "run SECONDS" on standard input
// with a JSON list of milliseconds, one per run, and "processor SECONDS" with those that the
// process's threads computed. bench/run.py keeps one such process per peer. Its last argument is
// how many streams run side by side, each with a context and so many threads of its own; or
// "graph": then a run is the replay of a CUDA graph, and its time the device's.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <tenon/session/session.h>
#include <time.h>

#include <chrono>
#include <cstdio>
#include <fstream>
#include <future>
#include <iostream>
#include <memory>
#include <optional>

#include "error.h"
#include "model.h"
#include "npz.h"

namespace {

using tenon::tool::value_or_fail;
using Clock = std::chrono::steady_clock;

// The engine's work in a CUDA graph, and what a replay takes.
class Replay {
 public:
  explicit Replay(tenon::session::Session& session) : stream_(session.stream()) {
    cudaGraph_t graph = nullptr;
    check(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal));
    value_or_fail(session.enqueue());
    check(cudaStreamEndCapture(stream_, &graph));
    check(cudaGraphInstantiate(&executable_, graph, 0));
    check(cudaGraphDestroy(graph));
    for (cudaEvent_t& event : events_) check(cudaEventCreate(&event));
  }
  Replay(const Replay&) = delete;
  Replay& operator=(const Replay&) = delete;
  ~Replay() {
    cudaGraphExecDestroy(executable_);
    for (cudaEvent_t event : events_) cudaEventDestroy(event);
  }
  double milliseconds() {
    float ms = 0;
    check(cudaEventRecord(events_[0], stream_));
    check(cudaGraphLaunch(executable_, stream_));
    check(cudaEventRecord(events_[1], stream_));
    check(cudaEventSynchronize(events_[1]));
    check(cudaEventElapsedTime(&ms, events_[0], events_[1]));
    return static_cast<double>(ms);
  }

 private:
  static void check(cudaError_t status) {
    if (status != cudaSuccess) tenon::tool::fail("CUDA: {}", cudaGetErrorString(status));
  }
  cudaStream_t stream_;
  cudaGraphExec_t executable_ = nullptr;
  cudaEvent_t events_[2] = {};
};

double milliseconds_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

// Milliseconds on a clock of the system.
double milliseconds_on(clockid_t clock) {
  timespec now;
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) * 1e-6;
}

// Resident megabytes: "VmRSS:" now, "VmHWM:" the most so far. getrusage() would count what the
// process was before it ran this program.
double resident(std::string_view which) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with(which)) return std::stod(line.substr(which.size())) / 1024;
  return 0;
}

// Bytes; on a GPU what others use counts, too.
double free_on_device() {
  size_t free = 0, total = 0;
  cudaMemGetInfo(&free, &total);
  return static_cast<double>(free);
}

// Runs an engine in its own context.
class Stream {
 public:
  Stream(nvinfer1::ICudaEngine& engine, const tenon::session::Arrays& inputs,
         tenon::session::ErrorLog& log)
      : session_(value_or_fail(tenon::session::Session::make(engine, log))) {
    value_or_fail(session_->set_inputs(inputs));
    value_or_fail(session_->copy_in());
    value_or_fail(session_->wait());
    for (int i = 0; i < 4; ++i) once();
  }
  tenon::session::Session& session() { return *session_; }
  void once() { value_or_fail(session_->execute()); }
  /// Milliseconds of each run, in so many seconds.
  template <class F> static std::vector<double> measure(double seconds, const F& milliseconds) {
    std::vector<double> times;
    const auto start = Clock::now();
    while (times.size() < 2 || milliseconds_since(start) < seconds * 1e3)
      times.push_back(milliseconds());
    return times;
  }
  std::vector<double> measure(clockid_t clock, double seconds) {
    return measure(seconds, [&] {
      const double begin = milliseconds_on(clock);
      once();
      return milliseconds_on(clock) - begin;
    });
  }

 private:
  std::unique_ptr<tenon::session::Session> session_;
};

// All streams side by side.
std::vector<double> measure(std::vector<std::unique_ptr<Stream>>& streams, clockid_t clock,
                            double seconds) {
  std::vector<std::future<std::vector<double>>> running;
  for (auto& stream : streams)
    running.push_back(
        std::async(std::launch::async, [&] { return stream->measure(clock, seconds); }));
  std::vector<double> all;
  for (auto& times : running) {
    const std::vector<double> one = times.get();
    all.insert(all.end(), one.begin(), one.end());
  }
  return all;
}

void run(int argc, char** argv) {
  using namespace tenon::tool;
  if (argc != 5 && argc != 6)
    fail("usage: {} PLAN INPUTS.npz OUTPUTS.npz THREADS [STREAMS|graph]", argv[0]);
  const bool with_graph = argc == 6 && std::string_view(argv[5]) == "graph";
  const int count = argc == 6 && !with_graph ? std::stoi(argv[5]) : 1;
  Logger logger;
  CommonOptions common;
  common.threads = std::stoi(argv[4]);
  common.apply(logger);
  const Arrays inputs = read_npz(argv[2]);
  const double before = resident("VmRSS:");
  const double free_before = free_on_device();
  const LoadedModel model = load_model(argv[1], {}, {}, logger, true);
  std::vector<std::unique_ptr<Stream>> streams;
  for (int i = 0; i < count; ++i)
    streams.push_back(std::make_unique<Stream>(*model.engine, inputs, logger));
  tenon::session::Session& first = streams.at(0)->session();
  value_or_fail(first.copy_out());
  value_or_fail(first.wait());
  write_npz(argv[3], first.outputs());
  std::optional<Replay> replay;
  if (with_graph) replay.emplace(first);
  fmt::print("{{\"load_s\": {:.4f}, \"peak_mb\": {:.1f}, \"device_mb\": {:.1f}}}\n", model.seconds,
             resident("VmHWM:") - before, (free_before - free_on_device()) / (1 << 20));
  std::fflush(stdout);
  double seconds = 0;
  for (std::string command; std::cin >> command >> seconds;) {
    const clockid_t clock = command == "run" ? CLOCK_MONOTONIC : CLOCK_PROCESS_CPUTIME_ID;
    const std::vector<double> times =
        replay ? Stream::measure(seconds, [&] { return replay->milliseconds(); })
               : measure(streams, clock, seconds);
    fmt::print("[{:.4f}]\n", fmt::join(times, ", "));
    std::fflush(stdout);
  }
}

}  // namespace

int main(int argc, char** argv) {
  try {
    run(argc, argv);
    return 0;
  } catch (const std::exception& e) {
    fmt::print(stderr, "worker: {}\n", e.what());
    return 1;
  }
}
