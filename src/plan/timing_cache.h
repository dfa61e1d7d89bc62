// What builds leave to later ones: which kernel was fastest for a layer on this machine, and the
// code that was generated. Survives processes.
#pragma once

#include <NvInfer.h>

#include <atomic>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "backend/code_cache.h"
#include "backend/target.h"
#include "base/digest.h"
#include "base/log.h"

namespace tenon {

/// Identifies a layer on a machine: op, attributes, types, layouts, shapes, fingerprint, and what
/// its kernel adds (Kernel::timing_id).
using TimingKey = Digest;
TimingKey timing_key(const Target& target, const KernelRequest& request, std::string_view id = "");

/// "plugin/tactic 3": a kernel with its variant, if it has one.
std::string tactic_name(std::string_view kernel, std::string_view variant);

/// The number by which applications know what tactic_name() names: TensorRT's tactic hash. "#HEX"
/// is the name of a number alone.
uint64_t tactic_number(std::string_view name);
std::string name_of_tactic(uint64_t number);

struct TimingEntry {
  std::string kernel;      // tactic_name(), or name_of_tactic() where an application chose it
  float milliseconds = 0;  // with the reorders of its inputs
};

/// Thread-safe. Serialises sorted by key, so that equal contents are equal bytes.
class TimingCache final : public CodeCache {
 public:
  static constexpr size_t kMaxCodeBytes = size_t{64} << 20;

  /// @param max_code_bytes What all code together may have. Code that does not fit takes the place
  ///     of that which no build has asked for since it was read, or is not kept.
  explicit TimingCache(size_t max_code_bytes = kMaxCodeBytes) : max_code_bytes_(max_code_bytes) {}

  std::optional<TimingEntry> find(const TimingKey& key) const;
  void insert(const TimingKey& key, TimingEntry entry);
  void erase(const TimingKey& key);
  /// Whether applications may choose kernels in it; at first not.
  void make_editable() { editable_ = true; }
  bool is_editable() const { return editable_; }
  std::vector<TimingKey> keys() const;  // of timings
  std::optional<Tensor> find_code(const Digest& key) override;
  void keep_code(const Digest& key, const Tensor& code) override;
  /// Takes over what is not here yet, and code only while it fits.
  void combine(const TimingCache& other);
  void reset();

  std::vector<std::byte> write() const;
  /// Throws when the bytes are not an intact timing cache of this version.
  void read(std::span<const std::byte> bytes);

 private:
  struct Code {
    Tensor bytes;
    bool is_used = false;  // by a build, since it was read
  };
  bool fits(const Tensor& code) const;

  std::atomic<bool> editable_ = false;
  mutable std::mutex mutex_;
  size_t max_code_bytes_;
  std::map<TimingKey, TimingEntry> entries_;
  std::map<Digest, Code> code_;
};

}  // namespace tenon
