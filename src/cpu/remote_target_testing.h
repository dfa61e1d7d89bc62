// For tests without a GPU: a target whose memory counts as a device's. It is the host's, so the CPU
// target's kernels work there, but only what this device allocated is within their reach.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <mutex>

#include "backend/target.h"
#include "common/plugin_kernel.h"
#include "cpu/cpu_target.h"
#include "streams/cuda_streams.h"
#include "streams/host_device.h"

namespace tenon::testing {

class RemoteDevice final : public CudaStreams {
 public:
  bool is_host() const override { return false; }
  void* allocate(size_t bytes) const override {
    void* data = host_device().allocate(bytes);
    last_used = current_;
    const std::lock_guard lock(mutex_);
    blocks_[static_cast<std::byte*>(data)] = bytes;
    return data;
  }
  void release(void* data) const noexcept override {
    {
      const std::lock_guard lock(mutex_);
      blocks_.erase(static_cast<std::byte*>(data));
    }
    host_device().release(data);
  }
  bool reaches(const void* data) const override {
    ++questions;
    return owns(data);
  }
  bool host_reaches(const void* data) const override { return !reaches(data); }
  void copy_in(void* to, const void* from, size_t bytes, Stream* stream) const override {
    EXPECT_TRUE(bytes == 0 || owns(to));
    ++copies_in;
    host_device().copy_in(to, from, bytes, stream);
  }
  void copy_out(void* to, const void* from, size_t bytes, Stream* stream) const override {
    EXPECT_TRUE(bytes == 0 || owns(from));
    host_device().copy_out(to, from, bytes, stream);
  }
  void copy(void* to, const void* from, size_t bytes, Stream* stream) const override {
    EXPECT_TRUE(bytes == 0 || (owns(to) && owns(from)));
    host_device().copy(to, from, bytes, stream);
  }
  void copy_rows(void* to, size_t to_step, const void* from, size_t from_step, size_t bytes,
                 size_t rows, Stream* stream) const override {
    EXPECT_TRUE(bytes * rows == 0 || (owns(to) && owns(from)));
    host_device().copy_rows(to, to_step, from, from_step, bytes, rows, stream);
  }
  void clear(void* data, size_t bytes, Stream* stream) const override {
    EXPECT_TRUE(bytes == 0 || owns(data));
    host_device().clear(data, bytes, stream);
  }
  int current() const override { return current_; }
  void make_current(int device) const override { current_ = device; }
  float measure(FunctionRef<void(Stream*)> run, const CacheState& found) const override {
    for (const Tensor& tensor : found.cold) cold_bytes += tensor.bytes();
    written.insert(written.end(), found.written.begin(), found.written.end());
    return host_device().measure(run, found);
  }
  size_t cache_bytes() const override { return cache; }
  mutable size_t cache = 0;
  mutable size_t cold_bytes = 0;             // of weights that kernels were timed with
  mutable std::vector<WrittenRows> written;  // before a kernel was timed
  mutable std::atomic<int> last_used = 0;    // the device that memory was last taken from
  mutable std::atomic<int> copies_in = 0;
  mutable std::atomic<int> questions = 0;  // how often it was asked for an address's memory

 private:
  bool owns(const void* data) const {
    const std::lock_guard lock(mutex_);
    const auto* byte = static_cast<const std::byte*>(data);
    auto block = blocks_.upper_bound(byte);
    return block != blocks_.begin() && byte < (--block, block->first + block->second);
  }

  static inline thread_local int current_ = 0;
  mutable std::mutex mutex_;
  mutable std::map<const std::byte*, size_t> blocks_;
};

class RemoteTarget final : public Target {
 public:
  std::string_view name() const override { return cpu_target().name(); }
  std::string fingerprint() const override { return cpu_target().fingerprint(); }
  std::string instruction_set() const override { return cpu_target().instruction_set(); }
  std::span<const Candidate> candidates(const Op& op) const override {
    static const Candidate plugin[] = {{"plugin", offer_plugin_on_device, load_plugin_on_device},
                                       {"plugin_on_host", offer_host_plugin, load_host_plugin}};
    if (op.is_plugin()) return plugin;
    return cpu_target().candidates(op);
  }
  bool fuses(const Op& op, const PointwiseProgram& epilogue) const override {
    return cpu_target().fuses(op, epilogue);
  }
  const Device& device() const override { return memory; }

  static inline RemoteDevice memory;

 private:
  static Offer offer_host_plugin(const KernelRequest& request) {
    return offer_plugin_beside(memory, request);
  }
  static Offer load_host_plugin(const KernelRequest& request, const StoredKernel& stored) {
    return load_plugin_beside(memory, request, stored);
  }
};

}  // namespace tenon::testing
