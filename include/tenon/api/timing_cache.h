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

/// Kernel timings. The caller deletes it, after the configuration that uses it.
class ITimingCache : public INoCopy {
 public:
  ~ITimingCache() noexcept override = default;

  /// The cache as bytes, which the caller deletes.
  IHostMemory* serialize() const noexcept { return mImpl->serialize(); }

  /// Adds the timings of another cache; false if it is of another device or version and
  /// `ignoreMismatch` is false.
  bool combine(const ITimingCache& inputCache, bool ignoreMismatch) noexcept {
    return mImpl->combine(inputCache, ignoreMismatch);
  }

  /// Forgets all timings; false on failure.
  bool reset() noexcept { return mImpl->reset(); }

  /// Writes up to `capacity` keys and returns how many there are; -1 on failure.
  int64_t queryKeys(TimingCacheKey* keyBuffer, int64_t capacity) const noexcept {
    return mImpl->queryKeys(keyBuffer, capacity);
  }

  /// The timing under a key; its hash is kINVALID_TACTIC_HASH if there is none.
  TimingCacheValue query(const TimingCacheKey& key) const noexcept { return mImpl->query(key); }

  /// Sets the timing under a key that is there; false if it is not, or the cache is not editable.
  bool update(const TimingCacheKey& key, const TimingCacheValue& value) noexcept {
    return mImpl->update(key, value);
  }

 protected:
  apiv::VTimingCache* mImpl;
};

}  // namespace nvinfer1

#endif  // TENON_API_TIMING_CACHE_H
