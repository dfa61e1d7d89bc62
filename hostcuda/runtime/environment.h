/// What the environment says about how kernels run.
#pragma once

#include <cstdint>

namespace tenon::hostcuda {

enum class Order { kForward, kReverse, kRandom };

struct Environment {
  /// TENON_CUDA_ORDER=forward|reverse|random[:SEED]: the order of threads and blocks.
  Order order = Order::kForward;
  std::uint64_t seed = 1;
  /// TENON_THREADS: how many threads of the machine run blocks.
  unsigned workers = 1;
};

/// Read once.
const Environment& environment();

}  // namespace tenon::hostcuda
