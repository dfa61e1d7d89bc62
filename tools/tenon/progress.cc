#include "progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>

namespace tenon::tool {
namespace {

volatile std::sig_atomic_t interrupted = 0;
void on_interrupt(int) {
  interrupted = 1;
}

}  // namespace

Progress::Progress(bool quiet) : quiet_(quiet), terminal_(::isatty(STDERR_FILENO) != 0) {
  interrupted = 0;
  std::signal(SIGINT, on_interrupt);
}

Progress::~Progress() noexcept {
  std::signal(SIGINT, SIG_DFL);
  clear();
}

void Progress::phaseStart(const char* phase, const char*, int32_t steps) noexcept {
  const std::lock_guard lock(mutex_);
  phases_.push_back({phase, steps, 0, std::chrono::steady_clock::now()});
  draw();
}

bool Progress::stepComplete(const char* phase, int32_t step) noexcept {
  const std::lock_guard lock(mutex_);
  for (Phase& p : phases_)
    if (p.name == phase) p.done = std::max(p.done, step + 1);
  draw();
  return interrupted == 0;
}

void Progress::phaseFinish(const char* phase) noexcept {
  const std::lock_guard lock(mutex_);
  std::erase_if(phases_, [&](const Phase& p) {
    if (p.name != phase) return false;
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - p.start;
    // The command says how long all phases together took.
    if (!quiet_ && !terminal_ && phases_.size() > 1)
      std::fprintf(stderr, "%s: %.2f s\n", phase, took.count());
    return true;
  });
  draw();
}

void Progress::draw() {
  if (quiet_ || !terminal_) return;
  clear();
  if (phases_.empty()) return;
  const Phase& p = phases_.back();
  constexpr int kWidth = 30;
  const int filled = p.steps > 0 ? std::min(kWidth, kWidth * p.done / p.steps) : 0;
  std::fprintf(stderr, "%s [%s%s] %d/%d", p.name.c_str(),
               std::string(static_cast<size_t>(filled), '=').c_str(),
               std::string(static_cast<size_t>(kWidth - filled), ' ').c_str(), p.done, p.steps);
  std::fflush(stderr);
}

void Progress::clear() {
  if (!quiet_ && terminal_) std::fprintf(stderr, "\r\033[K");
}

}  // namespace tenon::tool
