// A tensor with data on the host and on a device, whichever is newer.
#ifndef TENON_SERVE_TENSOR_H
#define TENON_SERVE_TENSOR_H

#include <NvInferRuntime.h>
#include <cuda_runtime_api.h>
#include <tenon/session/array.h>

#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/serve/mix_memory.h"

namespace tenon::serve {

using nvinfer1::DataType;
using session::Array;
using session::Shape;

/// Where the newest data is: nowhere yet, on the device, or on the host.
enum class DataHead { kInit = 0, kDevice = 1, kHost = 2 };

/// Rows of any type of TensorRT and of any rank. Its memory is made on first use, and data is
/// copied to the side where it is asked for, if it is newer on the other: what cpu() and gpu() give
/// may be written to, and is the newest from then on. For one thread at a time.
class Tensor {
 public:
  /// Without elements.
  explicit Tensor(DataType type = DataType::kFLOAT, int device = kCurrentDevice);
  explicit Tensor(Shape shape, DataType type = DataType::kFLOAT, int device = kCurrentDevice);
  /// In memory that others may share, or the caller's: it is used as it is, and it holds no data
  /// yet unless `head` says where.
  Tensor(Shape shape, DataType type, std::shared_ptr<MixMemory> memory,
         DataHead head = DataHead::kInit);
  ~Tensor();
  /// What is left of the other one is empty, and may be resized.
  Tensor(Tensor&& other) noexcept;
  Tensor& operator=(Tensor&& other) noexcept;

  /// The array's elements, on the host.
  static Result<Tensor> from(const Array& array) noexcept;
  /// A copy of the newest data.
  Result<Tensor> clone() const noexcept;
  /// The elements as an array of the host.
  Result<Array> to_array() noexcept;

  DataType type() const { return type_; }
  const Shape& shape() const { return shape_; }
  int ndims() const { return static_cast<int>(shape_.size()); }
  /// The extent of an axis; 0 where there is no such axis.
  int64_t size(int axis) const;
  int64_t batch() const { return size(0); }
  int64_t channel() const { return size(1); }
  int64_t height() const { return size(2); }
  int64_t width() const { return size(3); }
  int64_t numel() const { return count(0); }
  bool empty() const { return numel() == 0; }
  /// Elements of one index of the axis before `axis`: the product of the extents from there on.
  int64_t count(int axis) const;
  /// Bytes of an element; 0 for types of less than a byte, which elements are not addressed in.
  size_t element_size() const;
  /// Bytes of count(axis) elements, the last byte whole.
  size_t bytes(int axis = 0) const;
  /// Bytes from an element to the next along each axis; empty for types of less than a byte.
  std::vector<int64_t> strides() const;
  /// Where the element with those indices is, counted in elements; those left out are 0. An error
  /// when one is outside.
  Result<int64_t> offset(std::initializer_list<int64_t> index) const noexcept;
  DataHead head() const { return head_; }
  int device() const { return memory_ != nullptr ? memory_->device_id() : kCurrentDevice; }
  /// "2x3x4".
  std::string shape_string() const { return session::shape_text(shape_); }
  /// "float32 2x3x4 on the host".
  std::string descriptor() const;

  /// Another shape; an extent of -1 keeps that of before. What fits the memory stays in it, with
  /// what the bytes were; what does not has no data then.
  Result<void> resize(const Shape& shape) noexcept;
  Result<void> resize_single_dim(int axis, int64_t extent) noexcept;

  /// Makes the host's, or the device's, data the newest: copied, if it is newer on the other side
  /// and `copy` is set. An error when there is no memory, or the copy fails.
  Result<void> to_cpu(bool copy = true) noexcept;
  Result<void> to_gpu(bool copy = true) noexcept;
  /// The same, and where the data is. T is the tensor's type, or void.
  template <class T = void> Result<T*> cpu(std::initializer_list<int64_t> index = {}) noexcept {
    return data<T>(to_cpu_data(), index);
  }
  template <class T = void> Result<T*> gpu(std::initializer_list<int64_t> index = {}) noexcept {
    return data<T>(to_gpu_data(), index);
  }
  /// An element on the host.
  template <class T> Result<T> at(std::initializer_list<int64_t> index) noexcept {
    auto found = cpu<T>(index);
    if (!found) return Error{found.error()};
    return **found;
  }

  /// Every element becomes the number. An error when the type cannot hold it exactly or, of float
  /// types, becomes infinite in it.
  Result<void> set_to(double value) noexcept;
  /// Converts the elements on the host, as session::convert() does; the shape stays.
  Result<void> convert_to(DataType type) noexcept;
  Result<void> to_half() noexcept { return convert_to(DataType::kHALF); }
  Result<void> to_float() noexcept { return convert_to(DataType::kFLOAT); }
  /// Copies `count` elements to those from `offset` on, on the host, or on the device in the
  /// tensor's stream; they may come from another device. An error, and no copy, where they do not
  /// fit.
  Result<void> copy_from_cpu(int64_t offset, const void* from, int64_t count) noexcept;
  Result<void> copy_from_gpu(int64_t offset, const void* from, int64_t count,
                             int device = kCurrentDevice) noexcept;
  /// Item `index` of axis 0, in the same memory on the side where the data is now, as long as the
  /// view lives. What is written there is seen by both. An error when there is no data yet.
  Result<Tensor> item(int64_t index) noexcept;
  /// The same of `count` items from `begin` on, as a tensor whose axis 0 they are.
  Result<Tensor> items(int64_t begin, int64_t count) noexcept;

  /// Copies and kernels that work on the tensor are in that stream's order; null is the default
  /// one.
  /// @param is_own it is destroyed with the tensor.
  void set_stream(cudaStream_t stream, bool is_own = false) noexcept;
  cudaStream_t stream() const { return stream_; }
  Result<void> synchronize() noexcept;

  const std::shared_ptr<MixMemory>& memory() const { return memory_; }
  /// Memory that whoever works on the tensor may use.
  void set_workspace(std::shared_ptr<MixMemory> workspace) { workspace_ = std::move(workspace); }
  const std::shared_ptr<MixMemory>& workspace() const { return workspace_; }

 private:
  Result<void*> to_cpu_data() noexcept;
  Result<void*> to_gpu_data() noexcept;
  using Allocate = Result<void*> (MixMemory::*)(size_t) noexcept;
  void move_to(DataHead head, Allocate allocate, bool copy, const char* what);
  Result<void> check_type(DataType type) const noexcept;
  template <class T>
  Result<T*> data(Result<void*> begin, std::initializer_list<int64_t> index) const noexcept;
  void check_range(int64_t offset, const void* from, int64_t count) const;

  DataType type_;
  Shape shape_;
  std::shared_ptr<MixMemory> memory_, workspace_;
  DataHead head_ = DataHead::kInit;
  cudaStream_t stream_ = nullptr;
  bool owns_stream_ = false;
};

/// TensorRT's type of a C++ type; those of 16 bits and less may be read as their bits.
template <class T> constexpr DataType type_of();
template <> constexpr DataType type_of<float>() {
  return DataType::kFLOAT;
}
template <> constexpr DataType type_of<_Float16>() {
  return DataType::kHALF;
}
template <> constexpr DataType type_of<int8_t>() {
  return DataType::kINT8;
}
template <> constexpr DataType type_of<uint8_t>() {
  return DataType::kUINT8;
}
template <> constexpr DataType type_of<int32_t>() {
  return DataType::kINT32;
}
template <> constexpr DataType type_of<int64_t>() {
  return DataType::kINT64;
}
template <> constexpr DataType type_of<bool>() {
  return DataType::kBOOL;
}

template <class T>
Result<T*> Tensor::data(Result<void*> begin, std::initializer_list<int64_t> index) const noexcept {
  if (!begin) return Error{begin.error()};
  if constexpr (std::is_void_v<T>) {
    if (index.size() == 0) return *begin;
  } else if (const auto fits = check_type(type_of<T>()); !fits) {
    return Error{fits.error()};
  }
  const auto at = offset(index);
  if (!at) return Error{at.error()};
  const auto bytes = static_cast<size_t>(*at) * element_size();
  return reinterpret_cast<T*>(static_cast<std::byte*>(*begin) + bytes);
}

}  // namespace tenon::serve

#endif  // TENON_SERVE_TENSOR_H
