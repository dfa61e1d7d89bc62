// What a layer finds in the host's caches when it runs between others, for timing it alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

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

/// Bytes of the data caches that a core has for itself: what several cores share is divided.
/// Threads of one core count as one.
struct HostCaches {
  size_t first_level = size_t{32} << 10, second_level = size_t{1} << 20;  // if nobody says
  size_t largest = 0;  // of all cores that share it
  bool operator==(const HostCaches&) const = default;
};

/// What a folder like /sys/devices/system/cpu/cpu0/cache says.
HostCaches read_host_caches(const std::string& folder);

/// Those of this machine. Blocks of work are made for them when a plan is loaded, so a plan is the
/// same for all machines.
HostCaches host_caches();

/// Sets what host_caches() gives; nothing: what the system says.
void set_host_caches(const std::optional<HostCaches>& caches);

/// Brings the caches of the arena's threads into that state. All else is in a shared cache or in
/// memory. No byte of the data changes; nobody else may use what is written meanwhile.
void bring_caches_into(const CacheState& state);

}  // namespace tenon
