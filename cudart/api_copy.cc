/// The API of copies and fills.
#include <cstdlib>
#include <cstring>

#include "cudart/memory.h"
#include "cudart/runtime.h"

namespace tenon::cudart {
namespace {

/// A copy out of pageable memory up to this size is staged, so that the caller goes on at once.
constexpr std::size_t kStagedBytes = std::size_t{64} << 10;

enum class Timing {
  /// The caller goes on when the copy is done.
  kSynchronous,
  kAsynchronous,
};

/// Bytes from the first to the last one that a pitched block touches.
std::size_t extent(std::size_t pitch, std::size_t width, std::size_t height) {
  return pitch * (height - 1) + width;
}

bool pageable(const void* pointer) {
  return !memory_registry().find(pointer);
}

/// What is known of a block is checked to its end. Work that an engine runs in place is given the
/// engine's tensors as memory of the device, and on the CPU these may lie anywhere.
bool device_can_access(const void* pointer, std::size_t size) {
  return (thread_context().inline_stream && pageable(pointer))
         || memory_registry().device_can_access(pointer, size);
}

cudaError_t check_copy(const Copy& copy, cudaMemcpyKind kind) {
  if (kind < cudaMemcpyHostToHost || kind > cudaMemcpyDefault) {
    return cudaErrorInvalidMemcpyDirection;
  }
  if (copy.width == 0 || copy.height == 0) return cudaSuccess;
  if (copy.width > copy.destination_pitch || copy.width > copy.source_pitch) {
    return cudaErrorInvalidPitchValue;
  }
  const std::size_t most = SIZE_MAX / 2 / copy.height;
  if (!copy.destination || !copy.source || copy.destination_pitch > most
      || copy.source_pitch > most) {
    return cudaErrorInvalidValue;
  }
  // A side that is said to be the device's must be memory that a device could touch; a host side
  // may be anything.
  const auto accessible = [&](const void* side, std::size_t pitch, bool device) {
    if (!device && pageable(side)) return true;
    return device_can_access(side, extent(pitch, copy.width, copy.height));
  };
  const bool to_device = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
  const bool from_device = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
  return accessible(copy.destination, copy.destination_pitch, to_device)
                 && accessible(copy.source, copy.source_pitch, from_device)
             ? cudaSuccess
             : cudaErrorInvalidValue;
}

/// Moves the source of a small pageable copy into a block of its own.
void stage(Copy& copy) {
  copy.staging = std::malloc(copy.width * copy.height);
  if (!copy.staging) throw std::bad_alloc();
  for (std::size_t row = 0; row < copy.height; ++row) {
    std::memcpy(static_cast<char*>(copy.staging) + row * copy.width,
                static_cast<const char*>(copy.source) + row * copy.source_pitch, copy.width);
  }
  copy.source = copy.staging;
  copy.source_pitch = copy.width;
}

cudaError_t copy_memory(Copy copy, cudaMemcpyKind kind, cudaStream_t handle, Timing timing) {
  return api([&](Runtime& all) {
    Place place;
    if (const cudaError_t error = find_place(handle, place)) return error;
    if (const cudaError_t error = check_copy(copy, kind)) return error;
    const bool captured = !place.in_place && place.stream->capture.load();
    if (captured && timing == Timing::kSynchronous) {
      return all.captures.check_synchronisation(*place.stream);
    }
    if (copy.width == 0 || copy.height == 0) return cudaSuccess;
    const bool from_pageable = pageable(copy.source);
    const bool to_pageable = pageable(copy.destination);
    // As on a GPU: a copy within the device never blocks the caller, one that touches pageable
    // memory may return early only if it no longer needs that memory.
    bool synchronous = to_pageable || from_pageable;
    if (timing == Timing::kSynchronous) {
      const auto device = [](const void* side) {
        const auto block = memory_registry().find(side);
        return block && block->type == cudaMemoryTypeDevice;
      };
      synchronous = !(device(copy.source) && device(copy.destination));
    } else if (from_pageable && !to_pageable && !captured && !place.in_place
               && copy.width * copy.height <= kStagedBytes) {
      stage(copy);
      synchronous = false;
    }
    std::uint64_t ticket = 0;
    cudaError_t error;
    try {
      error = dispatch(place, copy, &ticket);
    } catch (...) {
      std::free(copy.staging);
      throw;
    }
    if (error) std::free(copy.staging);
    if (error || !synchronous || ticket == 0) return error;
    return finish(*place.stream, ticket);
  });
}

cudaError_t fill_memory(const Fill& fill, cudaStream_t handle, Timing timing) {
  return api([&](Runtime& all) {
    Place place;
    if (const cudaError_t error = find_place(handle, place)) return error;
    if (fill.width == 0 || fill.height == 0) return cudaSuccess;
    if (fill.width > fill.pitch || fill.pitch > SIZE_MAX / 2 / fill.height
        || !device_can_access(fill.destination, extent(fill.pitch, fill.width, fill.height))) {
      return cudaErrorInvalidValue;
    }
    const bool captured = !place.in_place && place.stream->capture.load();
    if (captured && timing == Timing::kSynchronous) {
      return all.captures.check_synchronisation(*place.stream);
    }
    // Only a fill of pinned host memory makes the caller wait.
    const auto block = memory_registry().find(fill.destination);
    const bool synchronous =
        timing == Timing::kSynchronous && block && block->type == cudaMemoryTypeHost;
    std::uint64_t ticket = 0;
    const cudaError_t error = dispatch(place, fill, &ticket);
    if (error || !synchronous || ticket == 0) return error;
    return finish(*place.stream, ticket);
  });
}

/// Either default stream, depending on how the program was compiled.
cudaStream_t default_stream(bool per_thread) {
  return per_thread ? cudaStreamPerThread : cudaStreamLegacy;
}

Copy flat(void* destination, const void* source, std::size_t count) {
  return {destination, count, source, count, count, 1, nullptr};
}

}  // namespace
}  // namespace tenon::cudart

using namespace tenon::cudart;

cudaError_t cudaMemcpy(void* dst, const void* src, size_t count, cudaMemcpyKind kind) {
  return copy_memory(flat(dst, src, count), kind, default_stream(false), Timing::kSynchronous);
}

cudaError_t cudaMemcpyAsync(void* dst, const void* src, size_t count, cudaMemcpyKind kind,
                            cudaStream_t stream) {
  return copy_memory(flat(dst, src, count), kind, stream, Timing::kAsynchronous);
}

cudaError_t cudaMemcpy2D(void* dst, size_t dpitch, const void* src, size_t spitch, size_t width,
                         size_t height, cudaMemcpyKind kind) {
  return copy_memory({dst, dpitch, src, spitch, width, height, nullptr}, kind,
                     default_stream(false), Timing::kSynchronous);
}

cudaError_t cudaMemcpy2DAsync(void* dst, size_t dpitch, const void* src, size_t spitch,
                              size_t width, size_t height, cudaMemcpyKind kind,
                              cudaStream_t stream) {
  return copy_memory({dst, dpitch, src, spitch, width, height, nullptr}, kind, stream,
                     Timing::kAsynchronous);
}

cudaError_t cudaMemcpyPeer(void* dst, int dst_device, const void* src, int src_device,
                           size_t count) {
  if (dst_device != 0 || src_device != 0) return note(cudaErrorInvalidDevice);
  return cudaMemcpy(dst, src, count, cudaMemcpyDeviceToDevice);
}

cudaError_t cudaMemcpyPeerAsync(void* dst, int dst_device, const void* src, int src_device,
                                size_t count, cudaStream_t stream) {
  if (dst_device != 0 || src_device != 0) return note(cudaErrorInvalidDevice);
  return cudaMemcpyAsync(dst, src, count, cudaMemcpyDeviceToDevice, stream);
}

cudaError_t cudaMemset(void* pointer, int value, size_t count) {
  return cudaMemset2D(pointer, count, value, count, 1);
}

cudaError_t cudaMemsetAsync(void* pointer, int value, size_t count, cudaStream_t stream) {
  return cudaMemset2DAsync(pointer, count, value, count, 1, stream);
}

cudaError_t cudaMemset2D(void* pointer, size_t pitch, int value, size_t width, size_t height) {
  const Fill fill{pointer, pitch, width, height, static_cast<unsigned char>(value)};
  return fill_memory(fill, default_stream(false), Timing::kSynchronous);
}

cudaError_t cudaMemset2DAsync(void* pointer, size_t pitch, int value, size_t width, size_t height,
                              cudaStream_t stream) {
  const Fill fill{pointer, pitch, width, height, static_cast<unsigned char>(value)};
  return fill_memory(fill, stream, Timing::kAsynchronous);
}

// Programs compiled for the per-thread default stream call these in place of the above.
extern "C" {
cudaError_t cudaMemcpy_ptds(void* dst, const void* src, size_t count, cudaMemcpyKind kind) {
  return copy_memory(flat(dst, src, count), kind, default_stream(true), Timing::kSynchronous);
}

cudaError_t cudaMemcpy2D_ptds(void* dst, size_t dpitch, const void* src, size_t spitch,
                              size_t width, size_t height, cudaMemcpyKind kind) {
  return copy_memory({dst, dpitch, src, spitch, width, height, nullptr}, kind, default_stream(true),
                     Timing::kSynchronous);
}

cudaError_t cudaMemset2D_ptds(void* pointer, size_t pitch, int value, size_t width, size_t height) {
  const Fill fill{pointer, pitch, width, height, static_cast<unsigned char>(value)};
  return fill_memory(fill, default_stream(true), Timing::kSynchronous);
}

cudaError_t cudaMemset_ptds(void* pointer, int value, size_t count) {
  return cudaMemset2D_ptds(pointer, count, value, count, 1);
}
}
