// What a layer finds in the host's caches when it runs between others, for timing it alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/tensor.h"

namespace tenon {

/// Data that the layer before wrote: each thread so many neighbouring rows of every plane.
struct WrittenRows {
  void* data;
  int64_t images, planes;  // planes of an image
  size_t plane_bytes;
};

/// What a layer finds.
struct CacheState {
  /// In no cache of the host.
  std::span<const Tensor> cold = {};
  /// In the caches of the threads that wrote it.
  std::span<const WrittenRows> written = {};
};

/// Bytes of a core's L2 cache; 1 MiB where the system does not say.
size_t second_level_cache_bytes();

/// Bytes of the largest cache of a core, which it may share; 0 where the system does not say.
size_t largest_cache_bytes();

/// Brings the caches of the arena's threads into that state. All else is in a shared cache or in
/// memory. No byte of the data changes; nobody else may use what is written meanwhile.
void bring_caches_into(const CacheState& state);

}  // namespace tenon
