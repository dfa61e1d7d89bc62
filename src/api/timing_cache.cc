#include "api/timing_cache.h"

#include <algorithm>
#include <cstring>

#include "api/host_memory.h"

namespace tenon {
namespace {

TimingKey key_of(const nvinfer1::TimingCacheKey& key) {
  TimingKey ours;
  static_assert(sizeof ours == sizeof key.data);
  std::memcpy(ours.data(), key.data, sizeof key.data);
  return ours;
}

}  // namespace

TimingCacheView::TimingCacheView(const Reporter& reporter, std::shared_ptr<TimingCache> cache)
    : Live(this, this), reporter_(reporter), cache_(std::move(cache)) {
  mImpl = this;
}

nvinfer1::IHostMemory* TimingCacheView::serialize() const noexcept {
  return reporter_.guard<nvinfer1::IHostMemory*>(
      nullptr, [&] { return new HostMemory(cache_->write()); }, "ITimingCache::serialize");
}

bool TimingCacheView::combine(const nvinfer1::ITimingCache& inputCache, bool) noexcept {
  return reporter_.run(
      [&] {
        const TimingCacheView* other = find(&inputCache);
        require(other != nullptr, "the other timing cache is not one of this library");
        if (other->cache_ != cache_) cache_->combine(*other->cache_);
      },
      "ITimingCache::combine");
}

bool TimingCacheView::reset() noexcept {
  return reporter_.run([&] { cache_->reset(); }, "ITimingCache::reset");
}

int64_t TimingCacheView::queryKeys(nvinfer1::TimingCacheKey* keyBuffer,
                                   int64_t capacity) const noexcept {
  return reporter_.guard<int64_t>(-1, [&] {
    require(capacity >= 0 && (keyBuffer != nullptr || capacity == 0),
            "there is no buffer for {} keys", capacity);
    const auto keys = cache_->keys();
    const auto count = std::min<int64_t>(capacity, static_cast<int64_t>(keys.size()));
    for (int64_t i = 0; i < count; ++i)
      std::memcpy(keyBuffer[i].data, keys[static_cast<size_t>(i)].data(), sizeof keyBuffer[i].data);
    return static_cast<int64_t>(keys.size());
  });
}

nvinfer1::TimingCacheValue TimingCacheView::query(
    const nvinfer1::TimingCacheKey& key) const noexcept {
  constexpr nvinfer1::TimingCacheValue kNone{nvinfer1::TimingCacheValue::kINVALID_TACTIC_HASH,
                                             -1.0f};
  return reporter_.guard(kNone, [&] {
    const auto entry = cache_->find(key_of(key));
    if (!entry) return kNone;
    return nvinfer1::TimingCacheValue{tactic_number(entry->kernel), entry->milliseconds};
  });
}

bool TimingCacheView::update(const nvinfer1::TimingCacheKey& key,
                             const nvinfer1::TimingCacheValue& value) noexcept {
  return reporter_.run(
      [&] {
        require(
            cache_->is_editable(),
            "the timing cache is not editable: set BuilderFlag::kEDITABLE_TIMING_CACHE before it "
            "is made");
        auto entry = cache_->find(key_of(key));
        require(entry.has_value(), "the timing cache has no such key");
        if (value.tacticHash == nvinfer1::TimingCacheValue::kINVALID_TACTIC_HASH) {
          cache_->erase(key_of(key));
          return;
        }
        if (value.tacticHash != tactic_number(entry->kernel))
          entry->kernel = name_of_tactic(value.tacticHash);
        entry->milliseconds = value.timingMSec;
        cache_->insert(key_of(key), *entry);
      },
      "ITimingCache::update");
}

}  // namespace tenon
