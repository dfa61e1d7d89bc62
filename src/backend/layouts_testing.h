// Layouts element by element, as tests check them.
#pragma once

#include <cstring>
#include <memory>
#include <vector>

#include "backend/target.h"

namespace tenon {

/// Where an element lies, straight from the definition of the layouts.
inline int64_t offset_of(const Shape& shape, Layout layout, const Shape& index) {
  const int64_t channels = shape.rank() > 1 ? shape[1] : 1;
  int64_t plane = 1, position = 0;
  for (int i = 2; i < shape.rank(); ++i) {
    plane *= shape[i];
    position = position * shape[i] + index[i];
  }
  const int64_t n = index[0], c = shape.rank() > 1 ? index[1] : 0;
  if (layout == Layout::kLinear) return (n * channels + c) * plane + position;
  const int64_t block = channel_block(layout), groups = (channels + block - 1) / block;
  if (has_channels_last(layout)) return (n * plane + position) * groups * block + c;
  return ((n * groups + c / block) * plane + position) * block + c % block;
}

template <class Body> void for_each_index(const Shape& shape, Body&& body) {
  const int64_t count = shape.volume();
  const Shape strides = shape.strides();
  for (int64_t i = 0; i < count; ++i) {
    Shape index = shape;
    for (int a = 0; a < shape.rank(); ++a) index[a] = i / strides[a] % shape[a];
    body(i, index);
  }
}

/// Memory of a tensor in some layout.
using Buffer = std::vector<float>;

struct AlignedBuffer {
  std::shared_ptr<std::byte> memory;
  float* data() const { return reinterpret_cast<float*>(memory.get()); }
};

inline AlignedBuffer to_layout(const Tensor& t, Layout layout) {
  const size_t bytes = bytes_of(t.type(), 1), all = storage_bytes(t.type(), t.shape(), layout);
  AlignedBuffer b{allocate_aligned(all)};
  if (layout == Layout::kLinear) {
    std::memcpy(b.memory.get(), t.data(), all);
    return b;
  }
  std::memset(b.memory.get(), 0, all);
  for_each_index(t.shape(), [&](int64_t i, const Shape& index) {
    const auto to = static_cast<size_t>(offset_of(t.shape(), layout, index));
    std::memcpy(b.memory.get() + to * bytes, t.data<std::byte>() + static_cast<size_t>(i) * bytes,
                bytes);
  });
  return b;
}

inline Tensor from_layout(const void* memory, const TensorSpec& spec) {
  Tensor t(spec.type, spec.shape);
  if (spec.layout == Layout::kLinear) {
    std::memcpy(t.mutable_data<std::byte>(), memory, t.bytes());
    return t;
  }
  const size_t bytes = bytes_of(spec.type, 1);
  for_each_index(spec.shape, [&](int64_t i, const Shape& index) {
    const auto from = static_cast<size_t>(offset_of(spec.shape, spec.layout, index));
    std::memcpy(t.mutable_data<std::byte>() + static_cast<size_t>(i) * bytes,
                static_cast<const std::byte*>(memory) + from * bytes, bytes);
  });
  return t;
}

}  // namespace tenon
