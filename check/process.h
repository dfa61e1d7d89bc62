// Runs the worker in a process of its own.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

namespace tenon::check {

/// Where that process finds the pipe to write to.
constexpr int kReportDescriptor = 3;

/// How to start a process.
struct Start {
  std::vector<std::string> command;  // a program and its arguments
  std::string preload;               // a library that it loads before all others, or ""
  std::string environment;           // NAME=VALUE, or ""
  bool prints = false;               // to this process's standard error
};

/// How a process ended; `text` is for messages, as "it was ended by signal SIGSEGV".
struct Ending {
  bool hung = false;
  bool succeeded = false;  // with exit code 0
  std::string text;
  std::string errors;  // what it wrote to standard error, as much as fits
};

/// Starts the program and calls `on_line` with each line it writes to kReportDescriptor. When none
/// comes for `limit`, it is killed. Throws Failure when it cannot be started.
Ending run_process(const Start& start, std::chrono::seconds limit,
                   const std::function<void(const std::string&)>& on_line);

}  // namespace tenon::check
