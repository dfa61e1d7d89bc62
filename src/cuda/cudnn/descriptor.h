// Descriptors of cuDNN's graphs, owned, and their attributes.
#pragma once

#include <span>
#include <utility>
#include <vector>

#include "cuda/cudnn/library.h"

namespace tenon::cuda::cudnn {

class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(cudnnBackendDescriptorType_t type) {
    check(library().create_descriptor(type, &descriptor_), "making a descriptor");
  }
  Descriptor(Descriptor&& other) noexcept { std::swap(descriptor_, other.descriptor_); }
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }
  ~Descriptor() {
    if (descriptor_ != nullptr) library().destroy_descriptor(descriptor_);
  }
  cudnnBackendDescriptor_t get() const { return descriptor_; }

  template <class T>
  void set_list(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                std::span<const T> values) {
    check(library().set_attribute(descriptor_, name, type, static_cast<int64_t>(values.size()),
                                  values.data()),
          "setting an attribute");
  }
  void set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, const auto& value) {
    set_list(name, type, std::span(&value, 1));
  }
  void set(cudnnBackendAttributeName_t name, int64_t value) { set(name, CUDNN_TYPE_INT64, value); }
  void set(cudnnBackendAttributeName_t name, std::span<const int64_t> values) {
    set_list(name, CUDNN_TYPE_INT64, values);
  }
  void set(cudnnBackendAttributeName_t name, cudnnDataType_t value) {
    set(name, CUDNN_TYPE_DATA_TYPE, value);
  }
  void set(cudnnBackendAttributeName_t name, bool value) { set(name, CUDNN_TYPE_BOOLEAN, value); }
  void set(cudnnBackendAttributeName_t name, double value) { set(name, CUDNN_TYPE_DOUBLE, value); }
  void set(cudnnBackendAttributeName_t name, const Descriptor& value) {
    set(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, value.descriptor_);
  }
  void finalize(const char* what) { check(library().finalize(descriptor_), what); }

  template <class T>
  T value(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type) const {
    T value{};
    int64_t count = 0;
    check(library().get_attribute(descriptor_, name, type, 1, &count, &value),
          "reading an attribute");
    return value;
  }
  /// At most `max_count` values.
  template <class T>
  std::vector<T> list(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                      size_t max_count) const {
    std::vector<T> values(max_count);
    int64_t count = 0;
    check(library().get_attribute(descriptor_, name, type, static_cast<int64_t>(max_count), &count,
                                  values.data()),
          "reading an attribute");
    values.resize(static_cast<size_t>(std::clamp<int64_t>(count, 0, values.size())));
    return values;
  }
  std::string text(cudnnBackendAttributeName_t name) const;
  /// Descriptors of one type, at most `max_count`.
  std::vector<Descriptor> descriptors(cudnnBackendAttributeName_t name,
                                      cudnnBackendDescriptorType_t type, size_t max_count) const;

 private:
  cudnnBackendDescriptor_t descriptor_ = nullptr;
};

}  // namespace tenon::cuda::cudnn
