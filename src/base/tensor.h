// Tensors on the host: an owning one, and a view for kernels.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "base/dtype.h"
#include "base/shape.h"

namespace tenon {

/// Memory aligned for SIMD and oneDNN (64 bytes); throws Error(kFAILED_ALLOCATION) when there is
/// none. Large pieces are taken from the thread's MemoryCache::current().
std::shared_ptr<std::byte> allocate_aligned(size_t bytes);
/// The same without a cache.
std::shared_ptr<std::byte> allocate_uncached(size_t bytes);

/// An immutable host tensor, rows first. Copies share the data.
class Tensor {
 public:
  Tensor() = default;
  /// Uninitialised memory of its own.
  Tensor(DataType type, const Shape& shape);
  /// Data kept alive by `owner` (a mapped file, a parsed model).
  Tensor(DataType type, const Shape& shape, std::shared_ptr<const void> owner, const void* data);

  template <class T>
  static Tensor of(DataType type, const Shape& shape, std::span<const T> values) {
    Tensor t(type, shape);
    std::copy(values.begin(), values.end(), t.mutable_data<T>());
    return t;
  }

  DataType type() const { return type_; }
  const Shape& shape() const { return shape_; }
  int64_t count() const { return count_; }
  size_t bytes() const { return bytes_of(type_, count_); }
  const void* data() const { return data_; }
  /// In use as long as it does not expire; of tensors without memory of their own it has.
  std::weak_ptr<const void> memory() const { return owner_; }
  /// False for weights that a plan was stripped of, whose type and shape alone are known.
  bool has_data() const { return data_ != nullptr || count_ == 0; }
  template <class T> const T* data() const { return static_cast<const T*>(data_); }
  /// Only for a tensor just made and not shared yet.
  template <class T> T* mutable_data() { return static_cast<T*>(const_cast<void*>(data_)); }
  /// Same data under another shape of the same volume.
  Tensor reshaped(const Shape& shape) const;
  /// The values of an integer or boolean tensor. Throws for other types.
  std::vector<int64_t> integers() const;
  /// The values as double; any numeric type of 8 bits or more.
  std::vector<double> numbers() const;

 private:
  DataType type_ = DataType::kFLOAT;
  Shape shape_;
  int64_t count_ = 0;
  std::shared_ptr<const void> owner_;
  const void* data_ = nullptr;
};

/// What a kernel sees: where the elements are, their type and shape. Does not own.
struct TensorView {
  void* data = nullptr;
  DataType type = DataType::kFLOAT;
  Shape shape;

  template <class T> T* as() const { return static_cast<T*>(data); }
};

/// A boolean tensor with bytes of 0 and 1 only, where other bytes than 0 are true; a tensor of any
/// other type as it is. Weights come from files and users, and C++ knows no other booleans.
Tensor with_plain_booleans(Tensor tensor);

inline TensorView view_of(const Tensor& t) {
  return {const_cast<void*>(t.data()), t.type(), t.shape()};
}

}  // namespace tenon
