// Kernel timings that survive a process.
#ifndef TENON_API_TIMING_CACHE_H
#define TENON_API_TIMING_CACHE_H

#include "NvInferRuntime.h"

namespace nvinfer1 {

namespace v_1_0 {
struct TimingCacheKey {
  uint8_t data[16];
};

struct TimingCacheValue {
  uint64_t tacticHash;
  float timingMSec;
  static constexpr uint64_t kINVALID_TACTIC_HASH = UINT64_MAX;
};
}  // namespace v_1_0

class ITimingCache : public INoCopy {
 public:
  ~ITimingCache() noexcept override = default;
  IHostMemory* serialize() const noexcept { return mImpl->serialize(); }
  bool combine(const ITimingCache& inputCache, bool ignoreMismatch) noexcept {
    return mImpl->combine(inputCache, ignoreMismatch);
  }
  bool reset() noexcept { return mImpl->reset(); }
  int64_t queryKeys(TimingCacheKey* keyBuffer, int64_t capacity) const noexcept {
    return mImpl->queryKeys(keyBuffer, capacity);
  }
  TimingCacheValue query(const TimingCacheKey& key) const noexcept { return mImpl->query(key); }
  bool update(const TimingCacheKey& key, const TimingCacheValue& value) noexcept {
    return mImpl->update(key, value);
  }

 protected:
  apiv::VTimingCache* mImpl;
};

}  // namespace nvinfer1

#endif  // TENON_API_TIMING_CACHE_H
