#include "cpu/thread_workspace.h"

#include <array>
#include <atomic>
#include <mutex>
#include <vector>

#include "base/error.h"
#include "base/tensor.h"
#include "cpu/partition.h"

namespace tenon::cpu {
namespace {

// All workspaces. Threads exchange pointers with it and wait for each other only while one is made.
class ThreadWorkspaces {
 public:
  void reserve(int64_t count) {
    const std::lock_guard lock(mutex_);
    while (static_cast<int64_t>(made_) < count) {
      const size_t index = add();
      give_back(index, memory_[index].get());
    }
  }

  // Makes `index` that of the workspace that is now the caller's, beginning with the one it names.
  std::byte* take(size_t& index) {
    for (size_t made = made_, i = 0; i < made; ++i) {
      const size_t next = (index + i) % made;
      if (std::byte* const memory = free_[next].exchange(nullptr, std::memory_order_acquire)) {
        index = next;
        return memory;
      }
    }
    const std::lock_guard lock(mutex_);
    index = add();
    return memory_[index].get();
  }

  void give_back(size_t index, std::byte* memory) {
    free_[index].store(memory, std::memory_order_release);
  }

 private:
  static constexpr size_t kMax = 4096;

  size_t add() {
    require(made_ < kMax, "more than {} threads run layers at a time", kMax);
    memory_.push_back(allocate_aligned(static_cast<size_t>(workspace_floats()) * sizeof(float)));
    return made_++;
  }

  std::mutex mutex_;
  std::vector<std::shared_ptr<std::byte>> memory_;
  std::atomic<size_t> made_ = 0;
  std::array<std::atomic<std::byte*>, kMax> free_{};  // null where taken
};

// Never destroyed: worker threads may outlive static destruction.
ThreadWorkspaces& workspaces() {
  static auto* const all = new ThreadWorkspaces;
  return *all;
}

thread_local size_t last_index = 0;

}  // namespace

int64_t workspace_floats() {
  // Once: those that were made stay.
  static const int64_t floats = this_machine().second_level / int64_t{sizeof(float)};
  return floats;
}

void reserve_thread_workspaces(int64_t count) {
  workspaces().reserve(count);
}

ThreadWorkspace::ThreadWorkspace() : memory_(workspaces().take(last_index)), index_(last_index) {}

ThreadWorkspace::~ThreadWorkspace() {
  workspaces().give_back(index_, memory_);
}

}  // namespace tenon::cpu
