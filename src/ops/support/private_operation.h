// Element-wise operations that TensorRT does not name.
#pragma once

#include <NvInfer.h>

#include <cstdint>

namespace tenon {

/// Values of an ElementWiseOperation, of floats only.
enum class PrivateOperation : int32_t {
  kRemainder = 10001,  // of a division: exact, with the sign of the dividend, as C's fmod
};

constexpr nvinfer1::ElementWiseOperation operation_of(PrivateOperation operation) {
  return static_cast<nvinfer1::ElementWiseOperation>(operation);
}

}  // namespace tenon
