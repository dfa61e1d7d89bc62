/// Objects behind opaque handles, in slots that are never freed.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <new>
#include <vector>

namespace tenon::cudart {

/// A handle is a slot number and the slot's generation, not an address: a stale, foreign or made-up
/// handle is recognised and never followed. `find` takes no lock.
template <class T> class HandleTable {
 public:
  explicit HandleTable(std::uintptr_t kind) : kind_(kind) {}

  /// Takes a free slot and returns the handle that names it.
  /// @throws std::bad_alloc when every slot is taken.
  std::uintptr_t acquire() {
    const std::lock_guard lock(mutex_);
    std::uintptr_t index;
    if (!free_.empty()) {
      index = free_.back();
      free_.pop_back();
    } else {
      index = count_.load(std::memory_order_relaxed);
      if (index == kChunks * kChunkSlots) throw std::bad_alloc();
      auto& chunk = chunks_[index / kChunkSlots];
      if (!chunk.load(std::memory_order_relaxed)) chunk.store(new Chunk, std::memory_order_release);
      // Released slots must always find room in the list.
      free_.reserve(index + 1);
      count_.store(index + 1, std::memory_order_release);
    }
    const auto generation = slot(index).generation.fetch_add(1, std::memory_order_acq_rel) + 1;
    return generation << kGenerationShift | index << kIndexShift | kind_;
  }

  /// Null unless the handle is live.
  T* find(std::uintptr_t handle) {
    Slot* found = slot_of(handle);
    return found && found->generation.load(std::memory_order_acquire) == handle >> kGenerationShift
               ? &found->object
               : nullptr;
  }

  /// Ends the life of a handle; of several callers one gets the object, the others null.
  T* release(std::uintptr_t handle) {
    Slot* found = slot_of(handle);
    std::uintptr_t generation = handle >> kGenerationShift;
    return found && found->generation.compare_exchange_strong(generation, generation + 1)
               ? &found->object
               : nullptr;
  }

  /// Lets the slot of a released handle be taken again.
  void recycle(std::uintptr_t handle) {
    const std::lock_guard lock(mutex_);
    free_.push_back(index_of(handle));
  }

  /// Visits every object that was ever made, whether its handle is live or not.
  template <class Visit> void for_each(Visit&& visit) {
    const std::uintptr_t count = count_.load(std::memory_order_acquire);
    for (std::uintptr_t index = 0; index < count; ++index) visit(slot(index).object);
  }

 private:
  static constexpr std::uintptr_t kChunkSlots = 64;
  static constexpr std::uintptr_t kChunks = 4096;
  static constexpr int kIndexShift = 4;
  static constexpr int kGenerationShift = 24;

  /// Odd generations are live.
  struct Slot {
    std::atomic<std::uintptr_t> generation{0};
    T object;
  };
  using Chunk = std::array<Slot, kChunkSlots>;

  static std::uintptr_t index_of(std::uintptr_t handle) {
    return handle >> kIndexShift & ((std::uintptr_t{1} << (kGenerationShift - kIndexShift)) - 1);
  }

  Slot& slot(std::uintptr_t index) {
    return (*chunks_[index / kChunkSlots].load(std::memory_order_acquire))[index % kChunkSlots];
  }

  Slot* slot_of(std::uintptr_t handle) {
    const bool mine = (handle & ((1 << kIndexShift) - 1)) == kind_;
    const bool live = handle >> kGenerationShift & 1;
    const std::uintptr_t index = index_of(handle);
    return mine && live && index < count_.load(std::memory_order_acquire) ? &slot(index) : nullptr;
  }

  const std::uintptr_t kind_;
  std::mutex mutex_;
  std::vector<std::uintptr_t> free_;
  std::atomic<std::uintptr_t> count_{0};
  std::array<std::atomic<Chunk*>, kChunks> chunks_{};
};

}  // namespace tenon::cudart
