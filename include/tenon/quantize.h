// Models that are quantized explicitly, for every engine that reads ONNX's QuantizeLinear.
#ifndef TENON_QUANTIZE_H
#define TENON_QUANTIZE_H

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "NvInfer.h"
#include "tenon/extensions.h"

/// What the function below calls.
TENON_EXTENSION nvinfer1::IHostMemory* tenonQuantizeModel(nvinfer1::ILogger* logger,
                                                          const char* path, const void* cache,
                                                          size_t cacheSize,
                                                          const char* const* keptFloat,
                                                          int32_t nbKeptFloat) noexcept;

namespace tenon {

/// The ONNX model at `path` with QuantizeLinear and DequantizeLinear around its convolutions and
/// products with constant weights, sums behind them and maximum poolings: symmetric int8 with a
/// zero point of 0, a scale for each output channel of weights, which become int8, and biases in
/// float32, as TensorRT's explicit quantization has it. Weights in files of their own come into the
/// model.
/// @param cache ranges of tensors: the text of TensorRT's calibration cache.
/// @param kept_float names of nodes that stay in float.
/// Null after an error to the logger, for a model or cache that is not usable, an opset below 10, a
/// node that is not there, a result above 2 GiB; and with a library that is not Tenon's.
inline std::unique_ptr<nvinfer1::IHostMemory> quantize_model(
    nvinfer1::ILogger& logger, const std::string& path, std::string_view cache,
    const std::vector<std::string>& kept_float = {}) {
  if (tenonQuantizeModel == nullptr) return nullptr;
  std::vector<const char*> names;
  for (const std::string& name : kept_float) names.push_back(name.c_str());
  return std::unique_ptr<nvinfer1::IHostMemory>(
      tenonQuantizeModel(&logger, path.c_str(), cache.data(), cache.size(), names.data(),
                         static_cast<int32_t>(names.size())));
}

}  // namespace tenon

#endif  // TENON_QUANTIZE_H
