// What one process is to do, as the argument that it is started with.
#pragma once

#include <optional>
#include <set>
#include <string>

#include "check/check.h"

namespace tenon::check {

struct Job {
  Options options;
  /// The position in the library's list of the creator to check; without one, the creators are
  /// listed.
  std::optional<size_t> creator;
  std::set<std::string> left_out;  // checks that ended the processes before: Report::key()

  /// As work() takes it.
  std::string argument() const;
  /// Throws Failure for a text that argument() did not give.
  static Job read(const std::string& argument);
};

inline bool wants_gpu(const Options& options) {
  return options.device != "cpu";
}

}  // namespace tenon::check
