/// Fields and tensors of a test case.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "tenon/plugin/placement.h"
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

inline size_t size_of(DataType type) {
  return with_type(type, [](auto e) { return sizeof(e); });
}
inline bool is_floating(DataType type) {
  return type == DataType::kFLOAT || type == DataType::kHALF || type == DataType::kBF16;
}

/// A tensor of a case. Without values only its shape counts.
struct CaseTensor {
  std::string name;
  DataType type;
  bool follows_t;  // the type is the type variable T
  nvinfer1::Dims dims;
  std::vector<double> values;
  float scale = 1;  // what a step of an int8 is worth, where the plugin asks

  int64_t volume() const {
    int64_t v = 1;
    for (int i = 0; i < dims.nbDims; ++i) v *= dims.d[i];
    return v;
  }
  DataType type_for(DataType t) const { return follows_t ? t : type; }

  /// The values as elements of `as`; at least one byte. Padding is 0.
  std::vector<char> bytes(DataType as, nvinfer1::TensorFormat format) const {
    const Placement place(dims, format);
    std::vector<char> all(std::max<size_t>(place.elements() * size_of(as), 1));
    for (size_t i = 0; i < values.size(); ++i)
      with_type(as, [&](auto e) {
        e = static_cast<decltype(e)>(values[i]);
        std::memcpy(all.data() + place(i) * sizeof(e), &e, sizeof(e));
      });
    return all;
  }
  /// Element `i` of such bytes.
  double element(DataType as, nvinfer1::TensorFormat format, const void* data, size_t i) const {
    const size_t place = Placement(dims, format)(i);
    return with_type(as, [&](auto e) {
      std::memcpy(&e, static_cast<const char*>(data) + place * sizeof(e), sizeof(e));
      return static_cast<double>(e);
    });
  }
};

/// The largest difference of results: |got - want|, and |got - want| / (1 + |want|), as tolerances
/// count it.
struct Difference {
  double absolute = 0, relative = 0;

  void add(double got, double want) {
    if (got == want || (std::isnan(got) && std::isnan(want))) return;
    double d = std::fabs(got - want);
    if (std::isnan(d)) d = std::numeric_limits<double>::infinity();
    absolute = std::max(absolute, d);
    relative = std::max(relative, d / (1 + std::fabs(want)));
  }
};

}  // namespace testing
}  // namespace kit
}  // namespace tenon
