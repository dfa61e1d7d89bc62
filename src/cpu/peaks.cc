#include "cpu/peaks.h"

#include <algorithm>
#include <chrono>
#include <memory>

#include "base/function_ref.h"
#include "base/parallel.h"
#include "cpu/simd/kernels.h"

namespace tenon::cpu {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kSeconds = 0.1;  // for each of the two
// Each thread takes many, so that none of them waits for long at the end.
constexpr int64_t kChunks = 64;
constexpr int64_t kRounds = 2000;                     // of multiply-adds: some 20 microseconds
constexpr int64_t kFloats = int64_t{256} << 20 >> 2;  // more than caches hold

// The most that one of many passes does in a second.
double best_rate(double amount, FunctionRef<void()> pass) {
  pass();  // threads start, and pages are mapped
  double best = 0;
  const auto begin = Clock::now();
  for (auto from = begin; from - begin < std::chrono::duration<double>(kSeconds);) {
    pass();
    const auto to = Clock::now();
    best = std::max(best, amount / std::chrono::duration<double>(to - from).count());
    from = to;
  }
  return best;
}

// Has a result computed.
void use(float value) {
  asm volatile("" : : "g"(value) : "memory");
}

}  // namespace

Peaks measure_peaks() {
  const SimdKernels& simd = simd_kernels();
  const int64_t chunks = kChunks * thread_count();
  const double operations =
      static_cast<double>(chunks * kRounds * simd.multiply_add.operations_per_round);
  Peaks peaks;
  peaks.operations_per_second = best_rate(operations, [&] {
    parallel_for(chunks, 1, [&](int64_t begin, int64_t end) {
      use(simd.multiply_add.run(kRounds * (end - begin)));
    });
  });
  const std::unique_ptr<float[]> memory(new float[kFloats]);
  const int64_t chunk = kFloats / chunks;
  parallel_for(chunks, 1, [&](int64_t begin, int64_t end) {
    std::fill(memory.get() + begin * chunk, memory.get() + end * chunk, 1.f);
  });
  peaks.bytes_per_second = best_rate(static_cast<double>(chunks * chunk) * sizeof(float), [&] {
    parallel_for(chunks, 1, [&](int64_t begin, int64_t end) {
      use(simd.sum(memory.get() + begin * chunk, (end - begin) * chunk));
    });
  });
  return peaks;
}

}  // namespace tenon::cpu
