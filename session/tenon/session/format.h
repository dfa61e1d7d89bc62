// How the elements of an input or output lie in the engine's memory: TensorRT's formats.
#ifndef TENON_SESSION_FORMAT_H
#define TENON_SESSION_FORMAT_H

#include <NvInferRuntime.h>

#include <cstddef>

#include "tenon/session/array.h"
#include "tenon/session/result.h"

namespace tenon::session {

/// kHWC8 and the like: channels side by side in vectors, or all of them last. The channel axis is
/// the third from the last, in formats with a depth the fourth. Errors name the format: those of
/// DLA are not supported, and a tensor needs a channel axis.
class Format {
 public:
  Format() = default;
  explicit Format(nvinfer1::TensorFormat format) : format_(format) {}

  /// Elements lie as in an Array.
  bool is_linear() const { return format_ == nvinfer1::TensorFormat::kLINEAR; }
  /// What a tensor takes, in bytes, with what pads its channels.
  Result<size_t> bytes(nvinfer1::DataType type, const Shape& shape) const;
  /// Writes the array's elements to bytes(array.type, array.shape) bytes; what pads them is zero.
  Result<void> pack(const Array& array, std::byte* to) const;
  /// Reads the array's elements from so many.
  Result<void> unpack(const std::byte* from, Array& array) const;

 private:
  nvinfer1::TensorFormat format_ = nvinfer1::TensorFormat::kLINEAR;
};

}  // namespace tenon::session

#endif  // TENON_SESSION_FORMAT_H
