/// Fields and tensors of a test case.
#pragma once

#include <cstring>
#include <string>
#include <vector>

#include "tenon/plugin/spec.h"

namespace tenon {
namespace kit {
namespace testing {

/// A field that a creator is given; owns its data.
struct CaseField {
  std::string name;
  nvinfer1::PluginFieldType type;
  int32_t length;
  std::string data;

  nvinfer1::PluginField view() const { return {name.c_str(), data.data(), type, length}; }
};

/// Calls f with a zero of the C++ type of `type`.
template <class F> auto with_type(DataType type, const F& f) {
  switch (type) {
    case DataType::kHALF:
      return f(Half{});
    case DataType::kINT32:
      return f(int32_t{});
    case DataType::kINT64:
      return f(int64_t{});
    case DataType::kINT8:
      return f(int8_t{});
    case DataType::kUINT8:
      return f(uint8_t{});
    case DataType::kBOOL:
      return f(bool{});
    default:
      return f(float{});
  }
}
inline size_t size_of(DataType type) {
  return with_type(type, [](auto e) { return sizeof(e); });
}
inline bool is_floating(DataType type) {
  return type == DataType::kFLOAT || type == DataType::kHALF;
}

/// A tensor of a case. Without values only its shape counts.
struct CaseTensor {
  std::string name;
  DataType type;
  bool follows_t;  // the type is the type variable T
  nvinfer1::Dims dims;
  std::vector<double> values;

  int64_t volume() const {
    int64_t v = 1;
    for (int i = 0; i < dims.nbDims; ++i) v *= dims.d[i];
    return v;
  }
  DataType type_for(DataType t) const { return follows_t ? t : type; }

  /// The values as elements of `as`.
  std::vector<char> bytes(DataType as) const {
    std::vector<char> all(static_cast<size_t>(volume()) * size_of(as));
    for (size_t i = 0; i < values.size(); ++i)
      with_type(as, [&](auto e) {
        e = static_cast<decltype(e)>(values[i]);
        std::memcpy(all.data() + i * sizeof(e), &e, sizeof(e));
      });
    return all;
  }
  static double element(DataType type, const void* data, size_t i) {
    return with_type(type, [&](auto e) {
      std::memcpy(&e, static_cast<const char*>(data) + i * sizeof(e), sizeof(e));
      return static_cast<double>(e);
    });
  }
};

}  // namespace testing
}  // namespace kit
}  // namespace tenon
