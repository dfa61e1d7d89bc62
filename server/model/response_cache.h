// Responses of models that answer the same request alike, in memory of bounded size.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "model.h"

namespace tenon::server {

/// What responses depend on: the model, and a request's tensors and wanted outputs. It shares the
/// tensors' memory.
class CacheKey {
 public:
  /// @param model no other model, and no other version of it, has this number.
  /// Throws an Error.
  CacheKey(uint64_t model, InferRequest& request);

  uint64_t model() const { return model_; }
  uint64_t hash() const { return hash_; }
  size_t bytes() const;
  /// All of it, one behind the other.
  std::string text();
  bool is(const std::string& text);

 private:
  uint64_t model_, hash_ = 0;
  std::string head_;  // names, types and shapes
  std::vector<Tensor> tensors_;
};

/// Drops what was not asked for longest. All members may be called from any thread.
class ResponseCache {
 public:
  /// @param bytes that requests and responses may take together.
  explicit ResponseCache(size_t bytes) : max_bytes_(bytes) {}

  /// The outputs that were kept for this key; hashes of 64 bits lead to an entry, whose request is
  /// compared byte by byte.
  std::optional<std::vector<NamedTensor>> find(CacheKey& key);
  /// Keeps a copy, if it is not larger than the cache.
  void insert(CacheKey& key, std::vector<NamedTensor>& outputs);
  void erase(uint64_t model);
  size_t bytes() const;

 private:
  struct Entry {
    uint64_t model, hash;
    std::string request;
    std::vector<NamedTensor> outputs;
    size_t bytes;
  };
  using Entries = std::list<Entry>;

  Entries::iterator find_entry(CacheKey& key);
  void erase(Entries::iterator entry);

  const size_t max_bytes_;
  mutable std::mutex mutex_;
  Entries entries_;  // the one that was asked for last is the first
  std::unordered_multimap<uint64_t, Entries::iterator> by_hash_;
  size_t bytes_ = 0;
};

}  // namespace tenon::server
