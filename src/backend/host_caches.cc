#include "backend/host_caches.h"

#ifdef __x86_64__
#include <immintrin.h>
#endif
#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <mutex>
#include <sstream>
#include <vector>

#include "base/parallel.h"

namespace tenon {
namespace {

constexpr size_t kCacheLine = 64;

/// How many processors a list names, such as "0-3,8-11"; 1 where it is none.
size_t count_of(const std::string& list) {
  size_t count = 0;
  std::istringstream text(list);
  for (std::string range; std::getline(text, range, ',');) {
    size_t first = 0, last = 0;
    std::istringstream numbers(range);
    if (!(numbers >> first)) continue;
    if (numbers.get() != '-' || !(numbers >> last)) last = first;
    count += last >= first ? last - first + 1 : 0;
  }
  return std::max<size_t>(count, 1);
}

std::string line_of(const std::string& file) {
  std::string line;
  std::getline(std::ifstream(file), line);
  return line;
}

std::mutex mutex;
std::optional<HostCaches> given;

/// Leaves none of it in a cache, where the processor lets programs do that.
void evict([[maybe_unused]] const Tensor& tensor) {
#ifdef __x86_64__
  for (size_t at = 0; at < tensor.bytes(); at += kCacheLine)
    _mm_clflush(static_cast<const std::byte*>(tensor.data<void>()) + at);
  _mm_mfence();
#endif
}

void read_lines(std::span<const std::byte> bytes) {
  for (size_t at = 0; at < bytes.size(); at += kCacheLine)
    static_cast<void>(*static_cast<const volatile std::byte*>(&bytes[at]));
}

/// Each line is this thread's then.
void own_lines(std::byte* data, size_t bytes) {
  for (size_t at = 0; at < bytes; at += kCacheLine) {
    auto* const byte = reinterpret_cast<volatile std::byte*>(data + at);
    *byte = *byte;
  }
}

/// A thread's share of the rows of all images, one after another.
void own_share(const WrittenRows& rows, int64_t share, int64_t shares) {
  const auto bytes = static_cast<int64_t>(rows.plane_bytes);
  const auto [first, end] = share_of(rows.images * bytes, share, shares);
  for (int64_t image = 0; image < rows.images; ++image) {
    const int64_t from = std::max<int64_t>(first - image * bytes, 0),
                  to = std::min(end - image * bytes, bytes);
    if (from >= to) continue;
    for (int64_t plane = 0; plane < rows.planes; ++plane)
      own_lines(static_cast<std::byte*>(rows.data) + (image * rows.planes + plane) * bytes + from,
                static_cast<size_t>(to - from));
  }
}

}  // namespace

HostCaches read_host_caches(const std::string& folder) {
  HostCaches caches;
  size_t threads_of_core = 1;
  for (int i = 0;; ++i) {
    const auto file = fmt::format("{}/index{}/", folder, i);
    const std::string level = line_of(file + "level");
    size_t kilobytes = 0;
    if (!(std::istringstream(line_of(file + "size")) >> kilobytes)) return caches;
    if (line_of(file + "type") == "Instruction" || kilobytes == 0) continue;
    const size_t bytes = kilobytes << 10, sharers = count_of(line_of(file + "shared_cpu_list"));
    // The first level is a core's own.
    if (level == "1") {
      caches.first_level = bytes;
      threads_of_core = sharers;
    } else if (level == "2") {
      caches.second_level = bytes / std::max<size_t>(sharers / threads_of_core, 1);
    }
    caches.largest = std::max(caches.largest, bytes);
  }
}

HostCaches host_caches() {
  static const HostCaches own = read_host_caches("/sys/devices/system/cpu/cpu0/cache");
  const std::lock_guard lock(mutex);
  return given.value_or(own);
}

void set_host_caches(const std::optional<HostCaches>& caches) {
  const std::lock_guard lock(mutex);
  given = caches;
}

void bring_caches_into(const CacheState& state) {
  for (const Tensor& tensor : state.cold) evict(tensor);
  const int64_t threads = thread_count();
  static const std::vector<std::byte> other(host_caches().second_level);
  parallel_for(threads, 1, [&](int64_t first, int64_t end) {
    for (int64_t share = first; share < end; ++share) {
      read_lines(other);
      for (const WrittenRows& rows : state.written) own_share(rows, share, threads);
    }
  });
}

}  // namespace tenon
