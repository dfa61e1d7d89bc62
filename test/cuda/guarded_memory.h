// Memory of the GPU between zones that nobody may touch.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace tenon::cuda_cases {

inline void require(cudaError_t error, const char* what) {
  if (error != cudaSuccess)
    throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(error));
}

/// Whoever reads a zone finds NaNs and -1, and a write is found afterwards. Zones may be left out:
/// compute-sanitizer then finds each access behind the end.
class GuardedMemory {
 public:
  GuardedMemory(size_t bytes, bool has_zones) : bytes_(bytes), zone_(has_zones ? kZone : 0) {
    require(cudaMalloc(&base_, std::max<size_t>(bytes_ + 2 * zone_, 1)), "cudaMalloc");
    require(cudaMemset(base_, kUntouched, bytes_ + 2 * zone_), "cudaMemset");
  }
  GuardedMemory(GuardedMemory&& other) noexcept
      : base_(std::exchange(other.base_, nullptr)), bytes_(other.bytes_), zone_(other.zone_) {}
  GuardedMemory& operator=(GuardedMemory&&) = delete;
  ~GuardedMemory() { cudaFree(base_); }

  void* data() const { return static_cast<char*>(base_) + zone_; }
  void fill(int byte) { require(cudaMemset(data(), byte, bytes_), "cudaMemset"); }
  void write(const void* from) {
    require(cudaMemcpy(data(), from, bytes_, cudaMemcpyHostToDevice), "cudaMemcpy");
  }
  void read(void* to) const {
    require(cudaMemcpy(to, data(), bytes_, cudaMemcpyDeviceToHost), "cudaMemcpy");
  }
  bool is_intact() const {
    std::vector<unsigned char> zones(2 * zone_);
    const auto* base = static_cast<const char*>(base_);
    require(cudaMemcpy(zones.data(), base, zone_, cudaMemcpyDeviceToHost), "cudaMemcpy");
    require(cudaMemcpy(zones.data() + zone_, base + zone_ + bytes_, zone_, cudaMemcpyDeviceToHost),
            "cudaMemcpy");
    return std::all_of(zones.begin(), zones.end(), [](auto byte) { return byte == kUntouched; });
  }

 private:
  static constexpr size_t kZone = 4096;  // data stay as aligned as cudaMalloc makes them
  static constexpr int kUntouched = 0xff;

  void* base_ = nullptr;
  size_t bytes_, zone_;
};

}  // namespace tenon::cuda_cases
