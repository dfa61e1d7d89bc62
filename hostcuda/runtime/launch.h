/// A kernel that was launched: it waits in a stream, and workers take its blocks.
#pragma once

#include <atomic>
#include <cstdint>

#include "tenon/hostcuda/launch.h"

namespace tenon::hostcuda {

struct Launch {
  Recorded body{};
  Site site{};
  dim3 grid, block;
  std::size_t dynamic_bytes = 0;

  std::uint64_t blocks() const { return std::uint64_t{grid.x} * grid.y * grid.z; }
  unsigned threads() const { return block.x * block.y * block.z; }

  /// Gives a block that nobody has taken yet; false when there is none.
  bool take_block(uint3& index);
  /// Workers stop after their current blocks. The first error counts.
  void fail(cudaError_t error);
  cudaError_t error() const { return error_; }
  /// A captured launch runs at each launch of its graph.
  void begin();

 private:
  std::atomic<std::uint64_t> taken_{0};
  std::atomic<cudaError_t> error_{cudaSuccess};
  std::uint64_t step_ = 1, offset_ = 0;  // of a random order
};

}  // namespace tenon::hostcuda
