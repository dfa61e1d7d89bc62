#include "tensor_memory.h"

#include <algorithm>
#include <utility>

#include "guard.h"

namespace tenon::server {
namespace {

struct OwnedMemory {
  OwnedMemory(void* data, size_t bytes, std::shared_ptr<const void> whole)
      : owner(std::move(whole)), memory(data, bytes, nullptr, 0) {}

  std::shared_ptr<const void> owner;
  serve::MixMemory memory;
};

}  // namespace

size_t tensor_bytes(const Shape& shape, DataType type) {
  int64_t bytes = static_cast<int64_t>(session::element_size(type));
  bool is_empty = false;
  for (const int64_t extent : shape) {
    if (extent < 0)
      throw Error{"the shape has the extent " + std::to_string(extent) + "; expected 0 or more"};
    is_empty = is_empty || extent == 0;
    if (__builtin_mul_overflow(bytes, std::max<int64_t>(extent, 1), &bytes))
      throw Error{"the bytes of shape " + session::shape_text(shape) + " do not fit 63 bits"};
  }
  return is_empty ? 0 : static_cast<size_t>(bytes);
}

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

// Of a shared MixMemory, two models at once would make the device's part.
Tensor shared_view(Tensor& tensor) {
  if (tensor.empty()) return heap_tensor(tensor.shape(), tensor.type());
  return tensor_over(tensor.shape(), tensor.type(), session::value_of(tensor.cpu()),
                     tensor.memory());
}

Tensor heap_copy(Tensor& tensor) {
  Tensor copy = heap_tensor(tensor.shape(), tensor.type());
  if (tensor.empty()) return copy;
  session::value_of(copy.copy_from_cpu(0, session::value_of(tensor.cpu()), tensor.numel()));
  return copy;
}

}  // namespace tenon::server
