#include "machine_limits.h"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fstream>
#include <iterator>
#include <sstream>
#include <thread>

namespace tenon::tool {
namespace {

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

std::optional<double> number(const std::string& text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end != text.data() ? std::optional(value) : std::nullopt;
}

// The processors that the process may run on; none where there are more than such a set holds.
std::optional<cpu_set_t> affinity() {
  cpu_set_t set;
  CPU_ZERO(&set);
  return ::sched_getaffinity(0, sizeof set, &set) == 0 ? std::optional(set) : std::nullopt;
}

// The least of a control group and those around it: "/a/b", "/a", "".
template <class Read> std::optional<double> smallest(std::string group, const Read& read) {
  std::optional<double> value;
  for (;;) {
    if (const std::optional<double> own = read(group); own && (!value || *own < *value))
      value = own;
    if (group.empty()) return value;
    group.resize(group.rfind('/') == std::string::npos ? 0 : group.rfind('/'));
  }
}

// Lines of /proc/self/cgroup are "0::/path", and of version 1 "4:cpu,cpuacct:/path".
struct Group {
  std::string path;
  bool is_version_2 = false;
};
std::optional<Group> group_of(const std::string& root, const std::string& controller) {
  std::istringstream lines(text_of(root + "proc/self/cgroup"));
  std::optional<Group> group;
  for (std::string line; std::getline(lines, line);) {
    const size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string names = "," + line.substr(first + 1, second - first - 1) + ",";
    const std::string path = line.substr(second + 1) == "/" ? "" : line.substr(second + 1);
    if (names == ",,") group = group ? group : Group{path, true};
    if (names.find("," + controller + ",") != std::string::npos) group = Group{path, false};
  }
  return group;
}

std::optional<double> cpu_quota(const std::string& root) {
  const auto group = group_of(root, "cpu");
  if (!group) return std::nullopt;
  return smallest(group->path, [&](const std::string& path) -> std::optional<double> {
    if (group->is_version_2) {  // "200000 100000", or "max 100000"
      std::istringstream words(text_of(root + "sys/fs/cgroup" + path + "/cpu.max"));
      std::string quota, period;
      words >> quota >> period;
      const auto q = number(quota), p = number(period);
      return q && p && *p > 0 ? std::optional(*q / *p) : std::nullopt;
    }
    const std::string folder = root + "sys/fs/cgroup/cpu" + path;
    const auto q = number(text_of(folder + "/cpu.cfs_quota_us")),
               p = number(text_of(folder + "/cpu.cfs_period_us"));
    return q && p && *q > 0 && *p > 0 ? std::optional(*q / *p) : std::nullopt;
  });
}

std::optional<int64_t> memory_max(const std::string& root) {
  constexpr double kNoLimit = 1e18;  // what version 1 says where there is none is larger
  const auto group = group_of(root, "memory");
  if (!group) return std::nullopt;
  const auto bytes = smallest(group->path, [&](const std::string& path) {
    const auto value = number(text_of(
        group->is_version_2 ? root + "sys/fs/cgroup" + path + "/memory.max"
                            : root + "sys/fs/cgroup/memory" + path + "/memory.limit_in_bytes"));
    return value && *value < kNoLimit ? value : std::nullopt;
  });
  return bytes ? std::optional(static_cast<int64_t>(*bytes)) : std::nullopt;
}

// "0-1,4" is 0, 1 and 4.
std::vector<int> numbers_of_list(const std::string& text) {
  constexpr double kLargest = 1 << 16;
  std::vector<int> numbers;
  std::istringstream parts(text);
  for (std::string part; std::getline(parts, part, ',');) {
    const auto first = number(part);
    const size_t dash = part.find('-');
    const auto last = dash != std::string::npos ? number(part.substr(dash + 1)) : first;
    if (!first || !last || *first < 0) continue;
    for (double n = *first; n <= std::min(*last, kLargest); ++n)
      numbers.push_back(static_cast<int>(n));
  }
  return numbers;
}

// Nodes with processors that the process may run on: others are only memory, or for others.
int numa_nodes(const std::string& root, const std::optional<cpu_set_t>& processors) {
  const std::string folder = root + "sys/devices/system/node/";
  const auto is_used = [&](int node) {
    const auto own = numbers_of_list(text_of(folder + fmt::format("node{}/cpulist", node)));
    return !processors || own.empty() || std::ranges::any_of(own, [&](int processor) {
      return processor < CPU_SETSIZE && CPU_ISSET(static_cast<size_t>(processor), &*processors);
    });
  };
  const auto nodes = numbers_of_list(text_of(folder + "has_cpu"));
  return std::max(1, static_cast<int>(std::ranges::count_if(nodes, is_used)));
}

// "always [madvise] never": what stands in brackets.
std::string chosen_word(const std::string& text) {
  const size_t begin = text.find('['), end = text.find(']');
  return begin != std::string::npos && end != std::string::npos && end > begin
             ? text.substr(begin + 1, end - begin - 1)
             : "unknown";
}

}  // namespace

MachineLimits read_machine_limits(const std::string& root) {
  MachineLimits limits;
  const std::optional<cpu_set_t> processors = affinity();
  limits.processors = processors
                          ? CPU_COUNT(&*processors)
                          : std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  limits.cpu_quota = cpu_quota(root);
  limits.memory_max = memory_max(root);
  limits.numa_nodes = numa_nodes(root, processors);
  limits.huge_pages = chosen_word(text_of(root + "sys/kernel/mm/transparent_hugepage/enabled"));
  return limits;
}

std::vector<Finding> findings_of(const MachineLimits& limits, int threads) {
  using Level = Finding::Level;
  std::vector<Finding> findings;
  if (threads > limits.processors)
    findings.push_back({Level::kWarning,
                        fmt::format("engines compute with {} threads, and this process may use {} "
                                    "processor{}: threads wait for each other",
                                    threads, limits.processors, limits.processors == 1 ? "" : "s"),
                        fmt::format("set TENON_THREADS={}, or leave it out", limits.processors)});
  if (limits.cpu_quota && threads > std::ceil(*limits.cpu_quota))
    findings.push_back(
        {Level::kWarning,
         fmt::format("engines compute with {} threads, and the control group of this process (a "
                     "container's limit) has a quota of {:g} processors: threads are stopped for "
                     "parts of each period",
                     threads, *limits.cpu_quota),
         fmt::format("set TENON_THREADS={}, or raise the limit",
                     std::max(1, static_cast<int>(*limits.cpu_quota)))});
  constexpr int64_t kLittle = int64_t{512} << 20;
  if (limits.memory_max && *limits.memory_max < kLittle)
    findings.push_back(
        {Level::kWarning,
         fmt::format("the control group of this process has {} MiB of memory: builds "
                     "of larger models are killed",
                     *limits.memory_max >> 20),
         "raise the container's memory limit, or build on another machine and run "
         "the plan here"});
  if (limits.numa_nodes > 1)
    findings.push_back({Level::kWarning,
                        fmt::format("the processors are of {} NUMA nodes, and threads may run far "
                                    "from their data",
                                    limits.numa_nodes),
                        "run a process on each: numactl --cpunodebind=N --membind=N"});
  return findings;
}

}  // namespace tenon::tool
