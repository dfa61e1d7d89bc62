// Helpers of the 8.x names: sizes as (height, width), and bindings.
#ifndef TENON_COMPAT8_BINDINGS_H
#define TENON_COMPAT8_BINDINGS_H

#include <cstring>

#include "NvInferLegacyDims.h"
#include "tenon/extensions.h"

namespace nvinfer1 {
namespace impl {

inline DimsHW toDimsHW(const Dims& size) noexcept {
  return DimsHW{size.d[0], size.d[1]};
}

// Whether `given` is `name` (of profile 0) or "name [profile p]" with `profile` for p.
inline bool isBindingName(const char* given, const char* name, int32_t profile) noexcept {
  const size_t length = std::strlen(name);
  if (std::strncmp(given, name, length) != 0) return false;
  const char* rest = given + length;
  if (*rest == '\0') return profile == 0;
  constexpr char kPrefix[] = " [profile ";
  if (std::strncmp(rest, kPrefix, sizeof(kPrefix) - 1) != 0) return false;
  int32_t value = 0;
  for (rest += sizeof(kPrefix) - 1; *rest >= '0' && *rest <= '9' && value < 1000000; ++rest) {
    value = value * 10 + (*rest - '0');
  }
  return std::strcmp(rest, "]") == 0 && value == profile;
}

// Copies the integers at `address`, as many as `shape` has elements; false if they are not known.
inline bool copyShapeValues(const void* address, DataType type, const Dims& shape,
                            int32_t* values) noexcept {
  if (address == nullptr || values == nullptr || shape.nbDims < 0) return false;
  int64_t count = 1;
  for (int32_t i = 0; i < shape.nbDims; ++i) count *= shape.d[i];
  for (int64_t i = 0; i < count; ++i) {
    if (type == DataType::kINT32) {
      values[i] = static_cast<const int32_t*>(address)[i];
    } else if (type == DataType::kINT64) {
      values[i] = static_cast<int32_t>(static_cast<const int64_t*>(address)[i]);
    } else {
      return false;
    }
  }
  return true;
}

}  // namespace impl
}  // namespace nvinfer1

#endif  // TENON_COMPAT8_BINDINGS_H
