// Measures Tenon on request: opens a plan, then answers each line "run SECONDS" on standard input
// with a JSON list of milliseconds, one per run. bench/run.py keeps one such process per peer.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <chrono>
#include <cstdio>
#include <fstream>
#include <iostream>

#include "error.h"
#include "npz.h"
#include "session.h"

namespace {

using Clock = std::chrono::steady_clock;

double milliseconds_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

// Resident megabytes: "VmRSS:" now, "VmHWM:" the most so far. getrusage() would count what the
// process was before it ran this program.
double resident(std::string_view which) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with(which)) return std::stod(line.substr(which.size())) / 1024;
  return 0;
}

void run(int argc, char** argv) {
  using namespace tenon::tool;
  if (argc != 5) fail("usage: {} PLAN INPUTS.npz OUTPUTS.npz THREADS", argv[0]);
  Logger logger;
  CommonOptions common;
  common.threads = std::stoi(argv[4]);
  common.apply(logger);
  const Arrays inputs = read_npz(argv[2]);
  const double before = resident("VmRSS:");
  const Model model = load_model(argv[1], {}, {}, logger, true);
  Session session(*model.engine, logger);
  session.set_inputs(inputs, {});
  session.copy_in();
  session.wait();
  const auto once = [&] {
    if (!session.context().executeV2(session.bindings().data()))
      fail_with_log(logger, "executeV2 failed");
  };
  for (int i = 0; i < 4; ++i) once();
  session.copy_out();
  session.wait();
  write_npz(argv[3], session.outputs());
  fmt::print("{{\"load_s\": {:.4f}, \"peak_mb\": {:.1f}}}\n", model.seconds,
             resident("VmHWM:") - before);
  std::fflush(stdout);
  double seconds = 0;
  for (std::string command; std::cin >> command >> seconds && command == "run";) {
    std::vector<double> times;
    const auto start = Clock::now();
    while (times.size() < 2 || milliseconds_since(start) < seconds * 1e3) {
      const auto begin = Clock::now();
      once();
      times.push_back(milliseconds_since(begin));
    }
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
