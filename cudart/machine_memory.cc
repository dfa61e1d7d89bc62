/// Reads how much memory there is from the kernel's files.
#include <algorithm>
#include <fstream>
#include <limits>
#include <string>

#include "cudart/memory.h"

namespace tenon::cudart {
namespace {

constexpr std::size_t kNoLimit = std::numeric_limits<std::size_t>::max();

/// The first number of a file; `kNoLimit` when there is none, as in "max".
std::size_t number_in(const char* path) {
  std::ifstream file(path);
  std::size_t number;
  return file >> number ? number : kNoLimit;
}

/// The number that follows a word, or `otherwise`.
std::size_t number_after(const char* path, const std::string& word, std::size_t otherwise) {
  std::ifstream file(path);
  std::string read;
  while (file >> read) {
    std::size_t number;
    if (read == word && file >> number) return number;
  }
  return otherwise;
}

struct ControlGroupFiles {
  const char* limit;
  const char* usage;
  const char* statistics;
  const char* reclaimable;
};

constexpr ControlGroupFiles kControlGroups[] = {
    {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current", "/sys/fs/cgroup/memory.stat",
     "inactive_file"},
    {"/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory/memory.usage_in_bytes",
     "/sys/fs/cgroup/memory/memory.stat", "total_inactive_file"},
};

}  // namespace

MachineMemory machine_memory() {
  constexpr std::size_t kKibibyte = 1024;
  MachineMemory memory;
  memory.total = number_after("/proc/meminfo", "MemTotal:", 0) * kKibibyte;
  memory.free = number_after("/proc/meminfo", "MemAvailable:", 0) * kKibibyte;
  for (const ControlGroupFiles& group : kControlGroups) {
    const std::size_t limit = number_in(group.limit);
    const std::size_t usage = number_in(group.usage);
    if (limit >= memory.total || usage == kNoLimit) continue;
    const std::size_t reclaimable = number_after(group.statistics, group.reclaimable, 0);
    const std::size_t held = usage - std::min(usage, reclaimable);
    memory.total = limit;
    memory.free = std::min(memory.free, limit - std::min(limit, held));
  }
  return memory;
}

}  // namespace tenon::cudart
