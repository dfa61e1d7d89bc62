// Runs this program again in a process of its own.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

namespace tenon::tool::check {

/// Where that process finds the pipe to write to.
constexpr int kReportDescriptor = 3;

/// How a process ended; `text` is for messages, as "it was ended by signal SIGSEGV".
struct Ending {
  bool hung = false;
  std::string text;
};

/// Starts this program with `arguments` and calls `on_line` with each line it writes to
/// kReportDescriptor. When none comes for `limit`, it is killed. What it prints is dropped unless
/// `prints`, and goes to standard error then. `preload` is a library that it loads before all
/// others, or "". Throws Failure when it cannot be started.
Ending run_again(const std::vector<std::string>& arguments, const std::string& preload, bool prints,
                 std::chrono::seconds limit,
                 const std::function<void(const std::string&)>& on_line);

}  // namespace tenon::tool::check
