// ITimingCache: a view of a TimingCache that configurations share.
#pragma once

#include <NvInfer.h>

#include <memory>

#include "api/guard.h"
#include "api/live.h"
#include "plan/timing_cache.h"

namespace tenon {

class TimingCacheView final : public nvinfer1::ITimingCache,
                              public nvinfer1::apiv::VTimingCache,
                              public Live<TimingCacheView, nvinfer1::ITimingCache> {
 public:
  TimingCacheView(const Reporter& reporter, std::shared_ptr<TimingCache> cache);
  const std::shared_ptr<TimingCache>& cache() const { return cache_; }

  nvinfer1::IHostMemory* serialize() const noexcept override;
  bool combine(const nvinfer1::ITimingCache& inputCache, bool ignoreMismatch) noexcept override;
  bool reset() noexcept override;
  int64_t queryKeys(nvinfer1::TimingCacheKey* keyBuffer, int64_t capacity) const noexcept override;
  nvinfer1::TimingCacheValue query(const nvinfer1::TimingCacheKey& key) const noexcept override;
  bool update(const nvinfer1::TimingCacheKey& key,
              const nvinfer1::TimingCacheValue& value) noexcept override;

 private:
  Reporter reporter_;
  std::shared_ptr<TimingCache> cache_;
};

}  // namespace tenon
