// Quantized tensors as the floats that they stand for.
#ifndef TENON_COMPARE_DEQUANTIZE_H
#define TENON_COMPARE_DEQUANTIZE_H

#include <NvInfer.h>
#include <tenon/session/array.h>

#include <optional>
#include <string>

#include "compare/network_graph.h"

namespace tenon::compare {

/// A quantized tensor as floats.
struct Dequantized {
  std::string tensor;    ///< that was quantized
  session::Array array;  ///< (q - zero point) * scale, in float32
  double step;           ///< the scale, of several the largest
};

/// What a Quantize layer's output stands for, with a scale for all or for each index of the layer's
/// axis. Nothing where no Quantize layer makes the tensor, or its scale is no constant.
/// @param array elements of int8, uint8 or a float of 8 bits.
std::optional<Dequantized> dequantized(const NetworkGraph& graph, const std::string& tensor,
                                       const session::Array& array);

}  // namespace tenon::compare

#endif  // TENON_COMPARE_DEQUANTIZE_H
