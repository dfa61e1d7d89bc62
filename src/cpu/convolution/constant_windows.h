// Constant weights of a layer of 8-bit integers, less their zero points.
#pragma once

#include <string>
#include <vector>

#include "backend/target.h"
#include "base/variant.h"

namespace tenon::cpu {

class ConstantWindows {
 public:
  /// The request's weights, as many output channels of so many channels as `shape`, which is
  /// (output channels, channels, rows, columns), says; `steps` are those of the weights' elements
  /// along these axes. Or why there are none. They are the request's: it outlives them.
  static Variant<ConstantWindows, std::string> take(const KernelRequest& request,
                                                    const Shape& shape, const Shape& steps);

  int32_t weight(int64_t output_channel, int64_t channel, int64_t row, int64_t column) const {
    const uint8_t byte = data_[output_channel * steps_[0] + channel * steps_[1] + row * steps_[2]
                               + column * steps_[3]];
    return (is_signed_ ? static_cast<int8_t>(byte) : byte)
           - zeros_[static_cast<size_t>(output_channel)];
  }
  /// As IntegerPanels has them, adding nothing.
  Tensor sums() const;
  /// Whether every weight there could be is an int8.
  bool are_bytes() const;

  Shape shape;

 private:
  Shape steps_;
  const uint8_t* data_;
  bool is_signed_;
  std::vector<int32_t> zeros_;
};

}  // namespace tenon::cpu
