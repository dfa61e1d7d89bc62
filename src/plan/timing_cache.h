// Which kernel was quickest for a layer on this machine; survives processes.
#pragma once

#include <NvInfer.h>

#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/log.h"
#include "target/target.h"

namespace tenon {

/// Identifies a layer on a machine: op, attributes, types, layouts, shapes, fingerprint, and what
/// its kernel adds (Kernel::timing_id).
using TimingKey = std::array<uint8_t, 16>;
TimingKey timing_key(const Target& target, const KernelRequest& request, std::string_view id = "");

struct TimingEntry {
  std::string kernel;  // with its variant, if it has one: "plugin/tactic 3"
  float milliseconds = 0;
};

/// Thread-safe. Serialises sorted by key, so that equal contents are equal bytes.
class TimingCache {
 public:
  std::optional<TimingEntry> find(const TimingKey& key) const;
  void insert(const TimingKey& key, TimingEntry entry);
  void erase(const TimingKey& key);
  std::vector<TimingKey> keys() const;
  /// Takes over entries that are not here yet.
  void combine(const TimingCache& other);
  void reset();

  std::vector<std::byte> write() const;
  /// Throws when the bytes are not an intact timing cache of this version.
  void read(std::span<const std::byte> bytes);

 private:
  mutable std::mutex mutex_;
  std::map<TimingKey, TimingEntry> entries_;
};

}  // namespace tenon
