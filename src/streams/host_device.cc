#include "streams/host_device.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>

#include "base/error.h"
#include "base/parallel.h"
#include "base/tensor_memory.h"
#include "ops/support/reference.h"
#include "streams/cuda_streams.h"
#include "tenon/cudart/engine.h"

namespace tenon {
namespace {

class HostDevice final : public CudaStreams {
 public:
  bool is_host() const override { return true; }
  void* allocate(size_t bytes) const override {
    void* data =
        nullptr;  // of exactly that size, so that AddressSanitizer sees what is read past it
    if (posix_memalign(&data, 64, bytes) != 0)
      fail(ErrorCode::kFAILED_ALLOCATION, "out of memory: {} bytes", bytes);
    return data;
  }
  void release(void* data) const noexcept override { std::free(data); }
  void copy_in(void* to, const void* from, size_t bytes, Stream*) const override {
    copy_bytes(to, from, bytes);
  }
  void copy_out(void* to, const void* from, size_t bytes, Stream*) const override {
    copy_bytes(to, from, bytes);
  }
  void copy(void* to, const void* from, size_t bytes, Stream*) const override {
    copy_bytes(to, from, bytes);
  }
  void copy_rows(void* to, size_t to_step, const void* from, size_t from_step, size_t bytes,
                 size_t rows, Stream*) const override {
    host_memory().copy_rows(to, to_step, from, from_step, bytes, rows);
  }
  void clear(void* data, size_t bytes, Stream*) const override { host_memory().clear(data, bytes); }
  // A process whose engine is on the CPU may have memory of a GPU all the same.
  bool reaches(const void* data) const override {
    cudaPointerAttributes found{};
    return !cudart::on_gpu() || cudaPointerGetAttributes(&found, data) != cudaSuccess
           || found.type != cudaMemoryTypeDevice;
  }
  bool host_reaches(const void* data) const override { return reaches(data); }
  size_t cache_bytes() const override { return host_caches().largest; }
  // The least of several runs: the machine's noise only ever adds.
  float measure(FunctionRef<void(Stream*)> run, const CacheState& found) const override {
    using Clock = std::chrono::steady_clock;
    float best = 1e30f, total = 0;
    in_arena([&] {
      run(nullptr);
      for (int i = 0; i < 10 && (i < 2 || total < 10); ++i) {
        bring_caches_into(found);
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
