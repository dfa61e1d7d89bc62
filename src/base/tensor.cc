#include "base/tensor.h"

#include <algorithm>
#include <cstdlib>
#include <type_traits>

#include "base/error.h"
#include "base/half.h"
#include "base/low_precision.h"
#include "base/memory_cache.h"

namespace tenon {

namespace {

/// What takes longer to touch for the first time than to find in a cache.
constexpr size_t kSmallestCached = size_t{1} << 16;

}  // namespace

std::shared_ptr<std::byte> allocate_uncached(size_t bytes) {
  constexpr size_t kAlignment = 64;
  // Of exactly that size, so that AddressSanitizer sees what is read past it.
  void* memory = nullptr;
  if (posix_memalign(&memory, kAlignment, std::max<size_t>(bytes, 1)) != 0)
    fail(ErrorCode::kFAILED_ALLOCATION, "out of memory: could not allocate {} bytes", bytes);
  return {static_cast<std::byte*>(memory), [](std::byte* p) { std::free(p); }};
}

std::shared_ptr<std::byte> allocate_aligned(size_t bytes) {
  MemoryCache* const cache = bytes >= kSmallestCached ? MemoryCache::current() : nullptr;
  return cache != nullptr ? cache->take(bytes) : allocate_uncached(bytes);
}

Tensor::Tensor(DataType type, const Shape& shape)
    : type_(type), shape_(shape), count_(shape.volume()) {
  require(count_ <= INT64_MAX / 8, "a tensor of shape {} is too large", shape);
  auto memory = allocate_aligned(bytes_of(type, count_));
  data_ = memory.get();
  owner_ = std::move(memory);
}

Tensor::Tensor(DataType type, const Shape& shape, std::shared_ptr<const void> owner,
               const void* data)
    : type_(type), shape_(shape), count_(shape.volume()), owner_(std::move(owner)), data_(data) {}

Tensor Tensor::reshaped(const Shape& shape) const {
  require(shape.volume() == count_, "cannot view {} elements as shape {}", count_, shape);
  Tensor t = *this;
  t.shape_ = shape;
  return t;
}

namespace {
template <class To, class From> std::vector<To> converted(const Tensor& t) {
  const From* from = t.data<From>();
  std::vector<To> out(static_cast<size_t>(t.count()));
  for (size_t i = 0; i < out.size(); ++i) {
    if constexpr (std::is_same_v<From, BFloat16>)
      out[i] = static_cast<To>(static_cast<float>(from[i]));
    else
      out[i] = static_cast<To>(from[i]);
  }
  return out;
}

std::vector<float> low_precision_values(const Tensor& t) {
  std::vector<float> out(static_cast<size_t>(t.count()));
  read_low_precision(t.type(), t.data(), 0, t.count(), out.data());
  return out;
}
}  // namespace

std::vector<int64_t> Tensor::integers() const {
  switch (type_) {
    case DataType::kINT64:
      return converted<int64_t, int64_t>(*this);
    case DataType::kINT32:
      return converted<int64_t, int32_t>(*this);
    case DataType::kINT8:
      return converted<int64_t, int8_t>(*this);
    case DataType::kUINT8:
      return converted<int64_t, uint8_t>(*this);
    case DataType::kBOOL: {
      auto values = converted<int64_t, uint8_t>(*this);
      for (int64_t& value : values) value = value != 0;
      return values;
    }
    case DataType::kINT4: {
      const auto values = low_precision_values(*this);
      return {values.begin(), values.end()};
    }
    default:
      fail(ErrorCode::kINVALID_ARGUMENT, "expected integers, found {}", name_of(type_));
  }
}

std::vector<double> Tensor::numbers() const {
  switch (type_) {
    case DataType::kFLOAT:
      return converted<double, float>(*this);
    case DataType::kHALF:
      return converted<double, Half>(*this);
    case DataType::kBF16:
      return converted<double, BFloat16>(*this);
    case DataType::kFP8:
    case DataType::kFP4:
    case DataType::kE8M0: {
      const auto values = low_precision_values(*this);
      return {values.begin(), values.end()};
    }
    default: {
      const auto values = integers();
      return {values.begin(), values.end()};
    }
  }
}

Tensor with_plain_booleans(Tensor tensor) {
  if (tensor.type() != DataType::kBOOL) return tensor;
  const auto* const bytes = tensor.data<uint8_t>();
  const auto is_plain = [](uint8_t byte) { return byte <= 1; };
  if (std::all_of(bytes, bytes + tensor.count(), is_plain)) return tensor;
  Tensor plain(DataType::kBOOL, tensor.shape());
  std::transform(bytes, bytes + tensor.count(), plain.mutable_data<uint8_t>(),
                 [](uint8_t byte) { return static_cast<uint8_t>(byte != 0); });
  return plain;
}

}  // namespace tenon
