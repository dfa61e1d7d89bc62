// Memory of the device between zones that nobody may touch.
#pragma once

#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>

#include "check/sanitizer.h"
#include "check/subject.h"

namespace tenon::check {

/// What uses memory fails only after an access that was wrong.
inline void require_usable(cudaError_t error) {
  if (error != cudaSuccess)
    throw Lost{{"work that leaves the device usable", cudaGetErrorString(error)}};
}

class Guarded {
 public:
  explicit Guarded(size_t bytes) : bytes_(bytes) {
    if (cudaMalloc(&base_, bytes + 2 * kZone) != cudaSuccess)
      throw std::runtime_error(fmt::format("no memory for a tensor of {} bytes", bytes));
  }
  Guarded(Guarded&& other) noexcept
      : base_(std::exchange(other.base_, nullptr)), bytes_(other.bytes_), fill_(other.fill_) {}
  Guarded& operator=(Guarded&&) = delete;
  ~Guarded() {
    if (base_ == nullptr) return;  // moved from
    open_zones();
    cudaFree(base_);
  }

  void* data() const { return static_cast<char*>(base_) + kZone; }
  size_t bytes() const { return bytes_; }
  /// Sets the memory and its zones, in no stream.
  void fill(unsigned char byte) {
    fill_ = byte;
    open_zones();
    require_usable(cudaMemset(base_, byte, bytes_ + 2 * kZone));
  }
  /// From now on AddressSanitizer, if it is there, reports who touches the zones. Filling must be
  /// over.
  void close_zones() const {
    close_memory(base_, kZone);
    close_memory(behind(), kZone);
  }
  void write(const std::string& from) {
    require_usable(
        cudaMemcpy(data(), from.data(), std::min(from.size(), bytes_), cudaMemcpyHostToDevice));
  }
  std::string read() const { return read(kZone, bytes_); }
  /// What was written to the zones, as "16 bytes written, the first 0 bytes behind the end"; "" if
  /// nothing was.
  std::string damage() const {
    open_zones();
    const std::string before = read(0, kZone), behind = read(kZone + bytes_, kZone);
    const auto touched = [this](char c) { return static_cast<unsigned char>(c) != fill_; };
    const auto count = [&](const std::string& zone) {
      return std::count_if(zone.begin(), zone.end(), touched);
    };
    if (const auto n = count(behind); n > 0)
      return fmt::format("{} bytes written, the first {} bytes behind the end", n,
                         std::find_if(behind.begin(), behind.end(), touched) - behind.begin());
    if (const auto n = count(before); n > 0)
      return fmt::format(
          "{} bytes written, the last {} bytes before the start", n,
          std::find_if(before.rbegin(), before.rend(), touched) - before.rbegin() + 1);
    return "";
  }

 private:
  const void* behind() const { return static_cast<const char*>(data()) + bytes_; }
  void open_zones() const {
    open_memory(base_, kZone);
    open_memory(behind(), kZone);
  }

  static constexpr size_t kZone = size_t{1} << 16;  // data stay as aligned as cudaMalloc makes them

  std::string read(size_t from, size_t bytes) const {
    std::string copy(bytes, '\0');
    require_usable(cudaMemcpy(copy.data(), static_cast<const char*>(base_) + from, bytes,
                              cudaMemcpyDeviceToHost));
    return copy;
  }

  void* base_ = nullptr;
  size_t bytes_;
  unsigned char fill_ = 0;
};

}  // namespace tenon::check
