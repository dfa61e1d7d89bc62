#include "tensor_memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>
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

Tensor tensor_in(void* data, size_t bytes, std::shared_ptr<const void> owner, Shape shape,
                 DataType type) {
  auto owned = std::make_shared<OwnedMemory>(data, bytes, std::move(owner));
  return Tensor(std::move(shape), type, std::shared_ptr<serve::MixMemory>(owned, &owned->memory),
                serve::DataHead::kHost);
}

// There is always some.
size_t bytes_in_memory(const Shape& shape, DataType type) {
  return std::max<size_t>(Tensor(shape, type).bytes(), 1);
}

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

std::shared_ptr<std::byte> heap_memory(size_t bytes) {
  constexpr size_t kHugePage = size_t{2} << 20;
  const bool is_large = bytes >= 2 * kHugePage;
  const size_t alignment = is_large ? kHugePage : 64;
  if (bytes > SIZE_MAX - alignment) throw std::bad_alloc();
  const size_t whole = (std::max<size_t>(bytes, 1) + alignment - 1) / alignment * alignment;
  void* const data = std::aligned_alloc(alignment, whole);
  if (data == nullptr) throw std::bad_alloc();
  std::shared_ptr<std::byte> memory(static_cast<std::byte*>(data), [](void* at) { std::free(at); });
  if (is_large) ::madvise(data, whole, MADV_HUGEPAGE);  // advice: without it all is as right
  return memory;
}

Tensor unfilled_tensor(Shape shape, DataType type) {
  const size_t bytes = bytes_in_memory(shape, type);
  auto memory = heap_memory(bytes);
  void* const data = memory.get();
  return tensor_in(data, bytes, std::move(memory), std::move(shape), type);
}

Tensor heap_tensor(Shape shape, DataType type) {
  const size_t bytes = bytes_in_memory(shape, type);
  auto memory = heap_memory(bytes);
  void* const data = std::memset(memory.get(), 0, bytes);
  return tensor_in(data, bytes, std::move(memory), std::move(shape), type);
}

Tensor tensor_over(Shape shape, DataType type, void* data, std::shared_ptr<const void> owner) {
  const size_t bytes = Tensor(shape, type).bytes();
  if (bytes == 0) return heap_tensor(std::move(shape), type);
  return tensor_in(data, bytes, std::move(owner), std::move(shape), type);
}

// Of a shared MixMemory, two models at once would make the device's part.
Tensor shared_view(Tensor& tensor) {
  if (tensor.empty()) return heap_tensor(tensor.shape(), tensor.type());
  return tensor_over(tensor.shape(), tensor.type(), session::value_of(tensor.cpu()),
                     tensor.memory());
}

Tensor heap_copy(Tensor& tensor) {
  Tensor copy = unfilled_tensor(tensor.shape(), tensor.type());
  if (tensor.empty()) return copy;
  session::value_of(copy.copy_from_cpu(0, session::value_of(tensor.cpu()), tensor.numel()));
  return copy;
}

}  // namespace tenon::server
