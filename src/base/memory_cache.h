// Memory of tensors that are made again and again as a whole, as those of a refit are.
#pragma once

#include <cstddef>
#include <memory>

namespace tenon {

/// Keeps memory that its tensors no longer use for later ones of the same size: pages that were
/// never touched cost many times what is written into them. Used by any number of threads.
class MemoryCache {
 public:
  MemoryCache();
  /// Frees what nobody uses. The rest is freed when its last user goes.
  ~MemoryCache();
  MemoryCache(const MemoryCache&) = delete;
  MemoryCache& operator=(const MemoryCache&) = delete;

  /// Uninitialised, 64-byte aligned; in use as long as a copy of the pointer lives. Throws
  /// Error(kFAILED_ALLOCATION) when there is none.
  std::shared_ptr<std::byte> take(size_t bytes);
  /// Bytes that nobody uses.
  size_t unused_bytes() const;

  /// While it lives, allocate_aligned() of this thread takes large pieces from the cache.
  class Scope {
   public:
    explicit Scope(MemoryCache& cache);
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    MemoryCache* before_;
  };
  /// That of the innermost scope of this thread; null for none.
  static MemoryCache* current();

 private:
  struct Unused;
  std::shared_ptr<Unused> unused_;
};

}  // namespace tenon
