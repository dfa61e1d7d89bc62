#include "plan/timing_cache.h"

#include <xxhash.h>

#include <cstring>

#include "base/error.h"

namespace tenon {
namespace {

constexpr char kMagic[8] = {'T', 'E', 'N', 'O', 'N', 'T', 'C', '1'};

void append(std::vector<std::byte>& out, const void* data, size_t size) {
  const auto* bytes = static_cast<const std::byte*>(data);
  out.insert(out.end(), bytes, bytes + size);
}

}  // namespace

TimingKey timing_key(const Target& target, const KernelRequest& request, std::string_view id) {
  std::string text =
      fmt::format("{}|{}|{}", target.name(), target.fingerprint(), request.op.name());
  for (const auto& [name, value] : fields_of(request.op))
    text += fmt::format("|{}={}", name, text_of(value));
  for (const auto& specs : {request.inputs, request.outputs})
    for (const TensorSpec& s : specs)
      text += s.present ? fmt::format("|{} {} {}", name_of(s.type), name_of(s.layout), s.shape)
                        : std::string("|-");
  for (const Tensor* constant : request.constants) text += constant != nullptr ? "|c" : "|v";
  if (request.tf32) text += "|tf32";
  if (!id.empty()) text += fmt::format("|id {}", id);
  XXH128_canonical_t digest;
  XXH128_canonicalFromHash(&digest, XXH3_128bits(text.data(), text.size()));
  TimingKey key;
  std::memcpy(key.data(), digest.digest, key.size());
  return key;
}

std::optional<TimingEntry> TimingCache::find(const TimingKey& key) const {
  const std::lock_guard lock(mutex_);
  const auto it = entries_.find(key);
  return it == entries_.end() ? std::nullopt : std::optional(it->second);
}

void TimingCache::insert(const TimingKey& key, TimingEntry entry) {
  const std::lock_guard lock(mutex_);
  entries_[key] = std::move(entry);
}

void TimingCache::erase(const TimingKey& key) {
  const std::lock_guard lock(mutex_);
  entries_.erase(key);
}

std::vector<TimingKey> TimingCache::keys() const {
  const std::lock_guard lock(mutex_);
  std::vector<TimingKey> keys;
  for (const auto& [key, entry] : entries_) keys.push_back(key);
  return keys;
}

void TimingCache::combine(const TimingCache& other) {
  const std::scoped_lock lock(mutex_, other.mutex_);
  entries_.insert(other.entries_.begin(), other.entries_.end());
}

void TimingCache::reset() {
  const std::lock_guard lock(mutex_);
  entries_.clear();
}

std::vector<std::byte> TimingCache::write() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::byte> out;
  append(out, kMagic, sizeof kMagic);
  const auto count = static_cast<uint32_t>(entries_.size());
  append(out, &count, sizeof count);
  for (const auto& [key, entry] : entries_) {
    append(out, key.data(), key.size());
    append(out, &entry.milliseconds, sizeof entry.milliseconds);
    const auto length = static_cast<uint32_t>(entry.kernel.size());
    append(out, &length, sizeof length);
    append(out, entry.kernel.data(), length);
  }
  const XXH64_hash_t sum = XXH3_64bits(out.data(), out.size());
  append(out, &sum, sizeof sum);
  return out;
}

void TimingCache::read(std::span<const std::byte> bytes) {
  const std::byte* at = bytes.data();
  size_t left = bytes.size();
  const auto take = [&](void* to, size_t size) {
    require(size <= left, "the timing cache is truncated");
    std::memcpy(to, at, size);
    at += size;
    left -= size;
  };
  char magic[sizeof kMagic];
  take(magic, sizeof magic);
  require(std::memcmp(magic, kMagic, sizeof magic) == 0,
          "these bytes are not a timing cache of this version");
  XXH64_hash_t sum = 0;
  require(left >= sizeof sum, "the timing cache is truncated");
  std::memcpy(&sum, bytes.data() + bytes.size() - sizeof sum, sizeof sum);
  require(sum == XXH3_64bits(bytes.data(), bytes.size() - sizeof sum),
          "the timing cache is damaged: its checksum does not match");
  left -= sizeof sum;
  uint32_t count = 0;
  take(&count, sizeof count);
  std::map<TimingKey, TimingEntry> entries;
  for (uint32_t i = 0; i < count; ++i) {
    TimingKey key;
    TimingEntry entry;
    uint32_t length = 0;
    take(key.data(), key.size());
    take(&entry.milliseconds, sizeof entry.milliseconds);
    take(&length, sizeof length);
    require(length <= left, "the timing cache is truncated");
    entry.kernel.resize(length);
    take(entry.kernel.data(), length);
    entries.emplace(key, std::move(entry));
  }
  require(left == 0, "the timing cache has {} bytes too many", left);
  const std::lock_guard lock(mutex_);
  entries_ = std::move(entries);
}

}  // namespace tenon
