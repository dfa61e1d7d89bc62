#include "tenon/serve/tensor_allocator.h"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "guard.h"

namespace tenon::serve {

struct TensorAllocator::State {
  std::mutex mutex;
  std::condition_variable came_back;
  std::vector<std::unique_ptr<MixMemory>> free;  // has room for all
  int capacity = 0;
  bool is_over = false;
};

TensorAllocator::TensorAllocator(int capacity, int device) : state_(std::make_shared<State>()) {
  state_->capacity = capacity < 1 ? 1 : capacity;
  for (int i = 0; i < state_->capacity; ++i)
    state_->free.push_back(std::make_unique<MixMemory>(device));
}

TensorAllocator::~TensorAllocator() {
  const std::scoped_lock lock(state_->mutex);
  state_->is_over = true;
  state_->came_back.notify_all();
}

Result<std::shared_ptr<MixMemory>> TensorAllocator::query(
    std::chrono::milliseconds timeout) noexcept {
  return session::guard([&] {
    const std::shared_ptr<State> state = state_;
    timeout = std::clamp<std::chrono::milliseconds>(timeout, std::chrono::milliseconds(0),
                                                    std::chrono::hours(24 * 365));
    std::unique_ptr<MixMemory> memory;
    {
      std::unique_lock lock(state->mutex);
      const bool is_in_time = state->came_back.wait_for(
          lock, timeout, [&] { return state->is_over || !state->free.empty(); });
      if (state->is_over) throw Error{"the tensor allocator is gone"};
      if (!is_in_time)
        throw Error{"all " + std::to_string(state->capacity)
                    + " tensors are in use, and none came back within "
                    + std::to_string(timeout.count()) + " ms"};
      memory = std::move(state->free.back());
      state->free.pop_back();
    }
    const auto give_back = [state](MixMemory* used) {
      const std::scoped_lock lock(state->mutex);
      state->free.emplace_back(used);
      state->came_back.notify_one();
    };
    // If there is no memory for the reference, it gives back what it was to refer to.
    return std::shared_ptr<MixMemory>(memory.release(), give_back);
  });
}

Result<Tensor> TensorAllocator::query(Shape shape, DataType type,
                                      std::chrono::milliseconds timeout) noexcept {
  return session::guard(
      [&] { return Tensor(std::move(shape), type, session::value_of(query(timeout))); });
}

int TensorAllocator::capacity() const {
  return state_->capacity;
}

int TensorAllocator::num_available() const {
  const std::scoped_lock lock(state_->mutex);
  return static_cast<int>(state_->free.size());
}

}  // namespace tenon::serve
