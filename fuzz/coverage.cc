// Coverage for libFuzzer from code that GCC compiled with -fsanitize-coverage=trace-pc: a counter
// for each place that calls, which libFuzzer reads as those of clang's inline counters.
#include <cstddef>
#include <cstdint>

extern "C" void __sanitizer_cov_8bit_counters_init(uint8_t* begin, uint8_t* end);

namespace {

// More than the basic blocks of the engine, so that few share one.
constexpr size_t kCounters = size_t{1} << 18;
uint8_t counters[kCounters];

const bool registered = (__sanitizer_cov_8bit_counters_init(counters, counters + kCounters), true);

}  // namespace

// The linker lets all calls of __sanitizer_cov_trace_pc end here.
extern "C" void __wrap___sanitizer_cov_trace_pc() {
  static_cast<void>(registered);
  const auto caller = reinterpret_cast<uintptr_t>(__builtin_return_address(0));
  uint8_t& count = counters[(caller ^ (caller >> 18)) % kCounters];
  if (count != UINT8_MAX) ++count;
}
