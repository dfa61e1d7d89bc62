#include "target/cpu/rooms.h"

#include <array>
#include <atomic>
#include <mutex>
#include <vector>

#include "base/error.h"
#include "base/tensor.h"

namespace tenon::cpu {
namespace {

// All rooms. Threads exchange pointers with it and wait for each other only while a room is made.
class Rooms {
 public:
  void reserve(int64_t count) {
    const std::lock_guard lock(mutex_);
    while (static_cast<int64_t>(made_) < count) {
      const size_t place = add();
      give_back(place, memory_[place].get());
    }
  }

  // Makes `place` that of the room that is now the caller's, beginning with the one it names.
  std::byte* take(size_t& place) {
    for (size_t made = made_, i = 0; i < made; ++i) {
      const size_t next = (place + i) % made;
      if (std::byte* const memory = free_[next].exchange(nullptr, std::memory_order_acquire)) {
        place = next;
        return memory;
      }
    }
    const std::lock_guard lock(mutex_);
    place = add();
    return memory_[place].get();
  }

  void give_back(size_t place, std::byte* memory) {
    free_[place].store(memory, std::memory_order_release);
  }

 private:
  static constexpr size_t kMost = 4096;

  size_t add() {
    require(made_ < kMost, "more than {} threads run layers at a time", kMost);
    memory_.push_back(allocate_aligned(kCacheFloats * sizeof(float)));
    return made_++;
  }

  std::mutex mutex_;
  std::vector<std::shared_ptr<std::byte>> memory_;
  std::atomic<size_t> made_ = 0;
  std::array<std::atomic<std::byte*>, kMost> free_{};  // null where taken
};

// Never destroyed: worker threads may outlive static destruction.
Rooms& rooms() {
  static auto* const all = new Rooms;
  return *all;
}

thread_local size_t last_place = 0;

}  // namespace

void reserve_rooms(int64_t count) {
  rooms().reserve(count);
}

Room::Room() : memory_(rooms().take(last_place)), place_(last_place) {}

Room::~Room() {
  rooms().give_back(place_, memory_);
}

}  // namespace tenon::cpu
