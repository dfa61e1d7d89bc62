#include "backend/host_caches.h"

#ifdef __x86_64__
#include <immintrin.h>
#endif
#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <vector>

#include "base/parallel.h"

namespace tenon {
namespace {

constexpr size_t kCacheLine = 64;

/// Bytes of a core's caches, which it may share. sysconf() gives what all cores have together.
struct CacheSizes {
  size_t second_level = size_t{1} << 20;  // if the system does not say
  size_t largest = 0;
};

CacheSizes cache_sizes() {
  CacheSizes sizes;
  size_t kilobytes = 0;
  for (int i = 0, level = 0;; ++i) {
    const auto file = fmt::format("/sys/devices/system/cpu/cpu0/cache/index{}/", i);
    std::ifstream size(file + "size"), number(file + "level");
    if (!(size >> kilobytes)) return sizes;
    sizes.largest = std::max(sizes.largest, kilobytes << 10);
    if (number >> level && level == 2) sizes.second_level = kilobytes << 10;
  }
}

const CacheSizes& sizes() {
  static const CacheSizes sizes = cache_sizes();
  return sizes;
}

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

size_t second_level_cache_bytes() {
  return sizes().second_level;
}

size_t largest_cache_bytes() {
  return sizes().largest;
}

void bring_caches_into(const CacheState& state) {
  for (const Tensor& tensor : state.cold) evict(tensor);
  const int64_t threads = thread_count();
  static const std::vector<std::byte> other(sizes().second_level);
  parallel_for(threads, 1, [&](int64_t first, int64_t end) {
    for (int64_t share = first; share < end; ++share) {
      read_lines(other);
      for (const WrittenRows& rows : state.written) own_share(rows, share, threads);
    }
  });
}

}  // namespace tenon
