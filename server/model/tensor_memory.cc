#include "tensor_memory.h"

#include <algorithm>
#include <utility>

namespace tenon::server {
namespace {

struct OwnedMemory {
  OwnedMemory(void* data, size_t bytes, std::shared_ptr<const void> whole)
      : owner(std::move(whole)), memory(data, bytes, nullptr, 0) {}

  std::shared_ptr<const void> owner;
  serve::MixMemory memory;
};

}  // namespace

Tensor heap_tensor(Shape shape, DataType type) {
  const size_t bytes = std::max<size_t>(Tensor(shape, type).bytes(), 1);
  const auto memory = std::make_shared<std::vector<std::byte>>(bytes);
  auto owned = std::make_shared<OwnedMemory>(memory->data(), bytes, memory);
  return Tensor(std::move(shape), type, std::shared_ptr<serve::MixMemory>(owned, &owned->memory),
                serve::DataHead::kHost);
}

Tensor tensor_over(Shape shape, DataType type, void* data, std::shared_ptr<const void> owner) {
  const size_t bytes = Tensor(shape, type).bytes();
  if (bytes == 0) return heap_tensor(std::move(shape), type);
  auto owned = std::make_shared<OwnedMemory>(data, bytes, std::move(owner));
  return Tensor(std::move(shape), type, std::shared_ptr<serve::MixMemory>(owned, &owned->memory),
                serve::DataHead::kHost);
}

}  // namespace tenon::server
