/// int8 tensors with scales, for plugins that compute in float: `using T = Types<float,
/// Quantized>;` Their elements times their scale (PluginTensorDesc::scale) are copied into floats
/// before run(), and its results are rounded to steps of theirs.
#pragma once

#include <array>
#include <cmath>
#include <stdexcept>
#include <string>

#include "tenon/plugin/device.h"
#include "tenon/plugin/spec.h"

namespace tenon {
namespace kit {

/// Bytes of the floats of a tensor, at the front of the workspace.
inline size_t float_copy_bytes(const Port& port, const nvinfer1::PluginTensorDesc& desc) {
  constexpr size_t kLine = 256;
  if (port.types != kT || desc.type != DataType::kINT8) return 0;
  const int64_t elements = std::max<int64_t>(Shape{desc.dims}.volume(), 0);
  return (static_cast<size_t>(elements) * sizeof(float) + kLine - 1) / kLine * kLine;
}
inline size_t float_copies_bytes(const Ports& ports, const nvinfer1::PluginTensorDesc* descs,
                                 int count) {
  size_t bytes = 0;
  for (int i = 0; i < count; ++i) bytes += float_copy_bytes(ports.port_at(i, count), descs[i]);
  return bytes;
}

inline namespace TENON_TARGET {

struct DequantizeElement {
  const int8_t* from;
  float* to;
  float scale;
  TENON_HD void operator()(int64_t, int64_t i) const {
    to[i] = static_cast<float>(from[i]) * scale;
  }
};
/// Rounds to nearest, ties to even; what int8 has not becomes its end, and what is no number 0.
struct QuantizeElement {
  const float* from;
  int8_t* to;
  float scale;
  TENON_HD void operator()(int64_t, int64_t i) const {
    const float steps = rintf(from[i] / scale);
    const float bounded = steps < -128 ? -128.f : steps > 127 ? 127.f : steps;
    to[i] = static_cast<int8_t>(bounded == bounded ? bounded : 0);
  }
};

/// The tensors of a call in which T is Quantized, as float: addresses instead of those given.
class QuantizedCall {
 public:
  /// Dequantizes the inputs. `device.workspace` moves behind the copies.
  QuantizedCall(Device& device, const Spec& spec, const nvinfer1::PluginTensorDesc* inputs,
                int input_count, const void* const* input_data,
                const nvinfer1::PluginTensorDesc* outputs, int output_count,
                void* const* output_data)
      : device_(device),
        spec_(spec),
        outputs_(outputs),
        output_count_(output_count),
        quantized_(output_data) {
    for (int i = 0; i < input_count; ++i) {
      this->input_data[static_cast<size_t>(i)] = input_data[i];
      float* const copy = take(spec.inputs.port_at(i, input_count), inputs[i], "input", i);
      if (copy == nullptr) continue;
      this->input_data[static_cast<size_t>(i)] = copy;
      device.parallel_grid(
          1, Shape{inputs[i].dims}.volume(),
          DequantizeElement{static_cast<const int8_t*>(input_data[i]), copy, inputs[i].scale});
    }
    for (int i = 0; i < output_count; ++i) {
      float* const copy = take(spec.outputs.port_at(i, output_count), outputs[i], "output", i);
      this->output_data[static_cast<size_t>(i)] = copy != nullptr ? copy : output_data[i];
    }
  }
  /// Quantizes the results.
  void store() const {
    for (int i = 0; i < output_count_; ++i) {
      if (float_copy_bytes(spec_.outputs.port_at(i, output_count_), outputs_[i]) == 0) continue;
      device_.parallel_grid(
          1, Shape{outputs_[i].dims}.volume(),
          QuantizeElement{static_cast<const float*>(output_data[static_cast<size_t>(i)]),
                          static_cast<int8_t*>(quantized_[i]), outputs_[i].scale});
    }
  }

  std::array<const void*, Ports::kMax> input_data{};
  std::array<void*, Ports::kMax> output_data{};

 private:
  // Memory for a copy; null for a tensor that stays as it is.
  float* take(const Port& port, const nvinfer1::PluginTensorDesc& desc, const char* kind, int i) {
    const size_t bytes = float_copy_bytes(port, desc);
    if (bytes == 0) return nullptr;
    if (!(desc.scale > 0 && std::isfinite(desc.scale)))
      throw std::invalid_argument(std::string(kind) + " " + std::to_string(i)
                                  + " is int8 and has the scale " + std::to_string(desc.scale)
                                  + "; expected a number above 0");
    char* const copy = static_cast<char*>(device_.workspace);
    device_.workspace = copy + bytes;
    return reinterpret_cast<float*>(copy);
  }

  Device& device_;
  const Spec& spec_;
  const nvinfer1::PluginTensorDesc* outputs_;
  int output_count_;
  void* const* quantized_;
};

}  // namespace TENON_TARGET
}  // namespace kit
}  // namespace tenon
