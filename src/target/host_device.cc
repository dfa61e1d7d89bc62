#ifdef __x86_64__
#include <immintrin.h>
#endif
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>

#include "base/error.h"
#include "base/parallel.h"
#include "base/tensor_memory.h"
#include "ops/reference.h"
#include "target/device.h"
#include "tenon/cudart/engine.h"

namespace tenon {
namespace {

constexpr size_t kCacheLine = 64;

/// Leaves none of it in a cache, where the processor lets programs do that.
void evict([[maybe_unused]] const void* data, [[maybe_unused]] size_t bytes) {
#ifdef __x86_64__
  for (size_t at = 0; at < bytes; at += kCacheLine)
    _mm_clflush(static_cast<const std::byte*>(data) + at);
  _mm_mfence();
#endif
}

/// Bytes of the largest cache of a core, which it may share; 0 where the system does not say.
/// sysconf() gives what all cores have together.
size_t largest_cache() {
  size_t largest = 0, kilobytes = 0;
  for (int i = 0;; ++i) {
    std::ifstream size(fmt::format("/sys/devices/system/cpu/cpu0/cache/index{}/size", i));
    if (!(size >> kilobytes)) return largest;
    largest = std::max(largest, kilobytes << 10);
  }
}

class HostDevice final : public Device {
 public:
  bool is_host() const override { return true; }
  void* allocate(size_t bytes) const override {
    void* data = std::aligned_alloc(64, (bytes + 63) / 64 * 64);
    if (data == nullptr) fail(ErrorCode::kFAILED_ALLOCATION, "out of memory: {} bytes", bytes);
    return data;
  }
  void release(void* data) const noexcept override { std::free(data); }
  void copy_in(void* to, const void* from, size_t bytes, cudaStream_t) const override {
    copy_bytes(to, from, bytes);
  }
  void copy_out(void* to, const void* from, size_t bytes, cudaStream_t) const override {
    copy_bytes(to, from, bytes);
  }
  void copy(void* to, const void* from, size_t bytes, cudaStream_t) const override {
    copy_bytes(to, from, bytes);
  }
  void copy_rows(void* to, size_t to_step, const void* from, size_t from_step, size_t bytes,
                 size_t rows, cudaStream_t) const override {
    host_memory().copy_rows(to, to_step, from, from_step, bytes, rows);
  }
  void clear(void* data, size_t bytes, cudaStream_t) const override {
    host_memory().clear(data, bytes);
  }
  // A process whose engine is on the CPU may have memory of a GPU all the same.
  bool reaches(const void* data) const override {
    cudaPointerAttributes found{};
    return !cudart::on_gpu() || cudaPointerGetAttributes(&found, data) != cudaSuccess
           || found.type != cudaMemoryTypeDevice;
  }
  bool host_reaches(const void* data) const override { return reaches(data); }
  size_t cache_bytes() const override {
    static const size_t bytes = largest_cache();
    return bytes;
  }
  // The least of several runs: the machine's noise only ever adds.
  float measure(FunctionRef<void(cudaStream_t)> run, std::span<const Tensor> cold) const override {
    using Clock = std::chrono::steady_clock;
    float best = 1e30f, total = 0;
    in_arena([&] {
      run(nullptr);
      for (int i = 0; i < 20 && (i < 2 || total < 20); ++i) {
        for (const Tensor& tensor : cold) evict(tensor.data<void>(), tensor.bytes());
        const auto start = Clock::now();
        run(nullptr);
        const float ms = std::chrono::duration<float, std::milli>(Clock::now() - start).count();
        best = std::min(best, ms);
        total += ms;
      }
    });
    return best;
  }
};

}  // namespace

const Device& host_device() {
  static const auto& device = *new HostDevice;  // never destroyed
  return device;
}

}  // namespace tenon
