// What the system leaves this process of the machine: processors and memory.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "finding.h"

namespace tenon::tool {

struct MachineLimits {
  int processors = 1;  // that the process may run on
  std::optional<double> cpu_quota =
      std::nullopt;  // processors' worth of time, of the control group
  std::optional<int64_t> memory_max = std::nullopt;  // bytes, of the control group
  int numa_nodes = 1;                  // memories, each near to some of these processors
  std::string huge_pages = "unknown";  // the system's setting for transparent ones
};

/// @param root where proc/ and sys/ are: "/".
MachineLimits read_machine_limits(const std::string& root);

/// @param threads that engines compute with.
std::vector<Finding> findings_of(const MachineLimits& limits, int threads);

}  // namespace tenon::tool
