/// Tensors as plugins of this layer see them: GTensor, a view of an input or output, and Weight,
/// which owns a constant. Names of the tutorial and of tensorRT_Pro are the same classes.
#pragma once

#include <cuda_runtime_api.h>

#include <climits>
#include <cstring>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <vector>

#include "tenon/plugin/elements.h"

namespace ONNXPlugin {

using float16 = unsigned short;  // the bits

enum class DataType : int {
  Unknow = -1,
  Float = 0,
  Float32 = 0,
  Float16 = 1,
  Int32 = 2,
  UInt8 = 3
};

/// Bytes of an element; 0 for an unknown type.
inline int DataTypeSizeOf(DataType type) {
  switch (type) {
    case DataType::Float:
    case DataType::Int32:
      return 4;
    case DataType::Float16:
      return 2;
    case DataType::UInt8:
      return 1;
    default:
      return 0;
  }
}

inline const char* data_type_string(DataType type) {
  switch (type) {
    case DataType::Float:
      return "Float32";
    case DataType::Float16:
      return "Float16";
    case DataType::Int32:
      return "Int32";
    case DataType::UInt8:
      return "UInt8";
    default:
      return "Unknown";
  }
}

/// What follows from the extents of a tensor, which Self::extents() gives. Positions are those of
/// elements in row-major order.
template <class Self> class Shaped {
 public:
  /// The product of the extents from an axis on; 0 when there is no such axis.
  int count(int start_axis = 0) const {
    const auto rank = static_cast<int>(shape().size());
    if (start_axis < 0 || start_axis >= rank) return 0;
    int product = 1;
    for (int axis = start_axis; axis < rank; ++axis) product *= size(axis);
    return product;
  }
  /// Axes that are left out count as 0.
  template <class... Others> int offset(int index, Others... others) const {
    const int list[] = {index, static_cast<int>(others)...};
    return offset_array(sizeof...(others) + 1, list);
  }
  int offset_array(const std::vector<int>& index) const {
    return offset_array(index.size(), index.data());
  }
  int offset_array(size_t size, const int* index) const {
    if (size > shape().size()) throw std::out_of_range("more indices than axes");
    int place = 0;
    for (size_t axis = 0; axis < shape().size(); ++axis)
      place = place * shape()[axis] + (axis < size ? index[axis] : 0);
    return place;
  }
  int size(int axis) const { return shape().at(static_cast<size_t>(axis)); }
  int batch() const { return size(0); }
  int channel() const { return size(1); }
  int height() const { return size(2); }
  int width() const { return size(3); }

 private:
  const std::vector<int>& shape() const { return static_cast<const Self*>(this)->extents(); }
};

/// A view of device memory.
struct GTensor : Shaped<GTensor> {
  GTensor() = default;
  GTensor(float* ptr, int ndims, const int* dims)
      : ptr_(ptr), dtype_(DataType::Float), shape_(dims, dims + ndims) {}
  GTensor(float16* ptr, int ndims, const int* dims)
      : ptr_(ptr), dtype_(DataType::Float16), shape_(dims, dims + ndims) {}

  template <class T> T* ptr() const { return static_cast<T*>(ptr_); }
  template <class T, class... Others> T* ptr(int i, Others... others) const {
    return ptr<T>() + offset(i, others...);
  }
  const std::vector<int>& extents() const { return shape_; }

  void* ptr_ = nullptr;
  DataType dtype_ = DataType::Float;
  std::vector<int> shape_;
};

/// A constant: host memory, and a copy in device memory from copy_to_gpu() on. Owns both.
struct Weight : Shaped<Weight> {
  Weight() = default;
  /// Memory for so many elements, all 0.
  explicit Weight(const std::vector<int>& dims, DataType dt = DataType::Float)
      : dims_(dims), dt_(dt) {
    size_t bytes = static_cast<size_t>(DataTypeSizeOf(dt));
    if (bytes == 0) throw std::invalid_argument("a weight of an unknown data type");
    for (const int extent : dims)
      if (extent < 0 || __builtin_mul_overflow(bytes, static_cast<size_t>(extent), &bytes))
        throw std::invalid_argument("a weight with an extent that cannot be");
    numel_ = bytes / static_cast<size_t>(DataTypeSizeOf(dt));
    allocate();
    for (size_t i = 0; i < dims.size(); ++i) {
      const std::string text = (i == 0 ? "" : " x ") + std::to_string(dims[i]);
      std::strncat(shape_string_, text.c_str(),
                   sizeof(shape_string_) - std::strlen(shape_string_) - 1);
    }
  }
  Weight(const Weight&) = delete;
  Weight& operator=(const Weight&) = delete;
  ~Weight() { free(); }

  /// The same values as the other type, on the host and where it has been copied to.
  void to_float32() { convert<tenon::kit::Half, float>(DataType::Float16, DataType::Float); }
  void to_float16() { convert<float, tenon::kit::Half>(DataType::Float, DataType::Float16); }
  void copy_to_gpu() {
    if (pdata_host_ == nullptr) throw std::logic_error("the weight has no host memory to copy");
    if (pdata_device_ == nullptr && cudaMalloc(&pdata_device_, data_bytes_) != cudaSuccess)
      throw std::bad_alloc();
    if (cudaMemcpy(pdata_device_, pdata_host_, data_bytes_, cudaMemcpyHostToDevice) != cudaSuccess)
      throw std::runtime_error("the weight cannot be copied to the device");
  }
  void free_host() {
    delete[] static_cast<char*>(pdata_host_);
    pdata_host_ = nullptr;
  }
  void free() {
    free_host();
    if (pdata_device_ != nullptr) cudaFree(pdata_device_);
    pdata_device_ = nullptr;
  }

  // As tensorRT_Pro's Tensor says it.
  const std::vector<int>& dims() const { return dims_; }
  DataType type() const { return dt_; }
  int ndims() const { return static_cast<int>(dims_.size()); }
  int shape(int axis) const { return size(axis); }
  int numel() const { return static_cast<int>(numel_); }
  int bytes() const { return static_cast<int>(data_bytes_); }
  const char* shape_string() const { return shape_string_; }
  Weight& to_float() { return to_float32(), *this; }
  Weight& to_half() { return to_float16(), *this; }
  void* cpu() const { return pdata_host_; }
  void* gpu() {
    if (pdata_device_ == nullptr) copy_to_gpu();
    return pdata_device_;
  }
  template <class T> T* cpu() const { return static_cast<T*>(pdata_host_); }
  template <class T> T* gpu() { return static_cast<T*>(gpu()); }
  template <class T, class... Others> T& at(int i, Others... others) const {
    return cpu<T>()[offset(i, others...)];
  }
  const std::vector<int>& extents() const { return dims_; }

  void* pdata_host_ = nullptr;
  void* pdata_device_ = nullptr;
  size_t data_bytes_ = 0;
  size_t numel_ = 0;
  std::vector<int> dims_;
  DataType dt_ = DataType::Float;
  char shape_string_[100] = {};

 private:
  void allocate() {
    data_bytes_ = numel_ * static_cast<size_t>(DataTypeSizeOf(dt_));
    pdata_host_ = new char[data_bytes_]();
  }
  template <class From, class To> void convert(DataType from, DataType to) {
    if (dt_ == to) return;
    if (dt_ != from) throw std::invalid_argument("only float weights change their type");
    const std::unique_ptr<char[]> before(static_cast<char*>(pdata_host_));
    const bool on_device = pdata_device_ != nullptr;
    pdata_host_ = nullptr;
    free();
    dt_ = to;
    allocate();
    const auto* values = reinterpret_cast<const From*>(before.get());
    for (size_t i = 0; i < numel_; ++i)
      cpu<To>()[i] = static_cast<To>(static_cast<float>(values[i]));
    if (on_device) copy_to_gpu();
  }
};

}  // namespace ONNXPlugin

namespace TRT {
using ONNXPlugin::data_type_string;
using ONNXPlugin::DataType;
using ONNXPlugin::float16;
using Tensor = ONNXPlugin::Weight;
inline int data_type_size(DataType type) {
  return ONNXPlugin::DataTypeSizeOf(type);
}
}  // namespace TRT
