// Scratch memory of threads: whoever runs a task takes a room for it, whatever the layer, so that a
// thread finds its own in its caches. In the memory of a plan a thread would write what another one
// wrote for the layer before.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tenon::cpu {

/// Floats of a second-level cache of 1 MiB, and of a room.
constexpr int64_t kCacheFloats = 1 << 18;

/// Makes rooms until the process has as many for its threads to take, which then allocate nothing.
/// Throws std::bad_alloc. Rooms stay until the process ends.
void reserve_rooms(int64_t count);

/// A room for as long as this object lives: the one that the thread had last, else any that is
/// free, else a new one.
class Room {
 public:
  Room();
  ~Room();
  Room(const Room&) = delete;
  Room& operator=(const Room&) = delete;

  /// kCacheFloats floats, 64-byte aligned, of any content.
  float* floats() const { return reinterpret_cast<float*>(memory_); }

 private:
  std::byte* memory_;
  size_t place_;
};

}  // namespace tenon::cpu
