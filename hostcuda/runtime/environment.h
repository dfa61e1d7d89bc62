/// What the environment says about how kernels run.
#pragma once

#include <cstdint>

namespace tenon::hostcuda {

enum class Order { kForward, kReverse, kRandom };

struct Environment {
  /// TENON_CUDA_ORDER=forward|reverse|random[:SEED]: the order of threads and blocks.
  Order order = Order::kForward;
  std::uint64_t seed = 1;
  /// TENON_THREADS: how many threads of the machine may run blocks.
  unsigned threads = 1;
  /// TENON_CUDA_TIMEOUT: after so many seconds a block that neither ends nor waits ends the
  /// process; 0 for never.
  unsigned timeout = 0;

  /// How many do: reports are the same each time when blocks run one after another.
  unsigned workers() const;
};

/// Read once.
const Environment& environment();

}  // namespace tenon::hostcuda

/// For programs that load kernels and find this by its name: another order, as TENON_CUDA_ORDER has
/// it, for launches from now on. False for a text that is none. No kernel may be running.
extern "C" bool tenonHostcudaSetOrder(const char* order);
