// Models that are quantized explicitly, for every engine that reads ONNX's QuantizeLinear.
#ifndef TENON_QUANTIZE_H
#define TENON_QUANTIZE_H

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "NvInfer.h"
#include "tenon/extensions.h"

namespace tenon {

/// A number for each channel of a tensor: of axis 1 of what a convolution reads, and of the last
/// axis of what a product reads.
struct ChannelNumbers {
  const char* tensor;
  const float* values;
  int64_t count;
};

}  // namespace tenon

/// What the functions below call.
TENON_EXTENSION nvinfer1::IHostMemory* tenonPrepareModel(nvinfer1::ILogger* logger,
                                                         const char* path, bool equalizes,
                                                         nvinfer1::DataType type) noexcept;
TENON_EXTENSION nvinfer1::IHostMemory* tenonSmoothModel(nvinfer1::ILogger* logger,
                                                        const void* model, size_t modelSize,
                                                        const tenon::ChannelNumbers* largest,
                                                        int32_t nbLargest, float alpha) noexcept;
TENON_EXTENSION nvinfer1::IHostMemory* tenonQuantizeModel(
    nvinfer1::ILogger* logger, const void* model, size_t modelSize, const void* cache,
    size_t cacheSize, const char* const* keptFloat, int32_t nbKeptFloat,
    const tenon::ChannelNumbers* means, int32_t nbMeans, nvinfer1::DataType type) noexcept;

namespace tenon {

/// Numbers of tensors' channels, by the tensors' names.
using ChannelNumbersByName = std::map<std::string, std::vector<float>>;

namespace detail {

inline std::vector<ChannelNumbers> channel_numbers(const ChannelNumbersByName& numbers) {
  std::vector<ChannelNumbers> result;
  for (const auto& [tensor, values] : numbers)
    result.push_back({tensor.c_str(), values.data(), static_cast<int64_t>(values.size())});
  return result;
}

}  // namespace detail

/// The ONNX model at `path` made ready to be calibrated and quantized; it computes the same. Opset
/// 11 and 12 become 13, which has scales for each channel, where the model allows it;
/// what only scales what a Conv gives (BatchNormalization, factors and addends of channels) and
/// zeros around what it reads become part of it; nodes without a name get one, as "Conv_7" by its
/// place; weights in files of their own come into the model.
/// @param equalizes also brings the channels between two convolutions, with ReLU or pooling
/// between them, to the same range (Nagel et al., ICCV 2019, section 4.1).
/// @param type what quantize_model() is to make of it: for kFP8 the opset becomes 19.
/// Null after an error to the logger, for a model that is not usable or a result above 2 GiB; and
/// with a library that is not Tenon's, as for all functions here.
inline std::unique_ptr<nvinfer1::IHostMemory> prepare_model(
    nvinfer1::ILogger& logger, const std::string& path, bool equalizes = false,
    nvinfer1::DataType type = nvinfer1::DataType::kINT8) {
  if (tenonPrepareModel == nullptr) return nullptr;
  return std::unique_ptr<nvinfer1::IHostMemory>(
      tenonPrepareModel(&logger, path.c_str(), equalizes, type));
}

/// SmoothQuant (Xiao et al., ICML 2023): a Mul in front of products with constant weights divides
/// each channel of their data, and the weights take the factor.
/// @param model that prepare_model() made.
/// @param largest magnitudes of the channels of what products read.
/// @param alpha from 0 to 1: how much of the differences between channels goes into the weights.
inline std::unique_ptr<nvinfer1::IHostMemory> smooth_model(nvinfer1::ILogger& logger,
                                                           const nvinfer1::IHostMemory& model,
                                                           const ChannelNumbersByName& largest,
                                                           float alpha = 0.5F) {
  if (tenonSmoothModel == nullptr) return nullptr;
  const auto numbers = detail::channel_numbers(largest);
  return std::unique_ptr<nvinfer1::IHostMemory>(
      tenonSmoothModel(&logger, model.data(), model.size(), numbers.data(),
                       static_cast<int32_t>(numbers.size()), alpha));
}

/// The ONNX model with QuantizeLinear and DequantizeLinear around its convolutions and
/// products with constant weights, sums behind them and maximum poolings: symmetric int8 with a
/// zero point of 0, a scale for each output channel of weights, which become int8, and biases in
/// float32, as TensorRT's explicit quantization has it.
/// @param model that prepare_model() made, or any without files beside it.
/// @param cache ranges of tensors: the text of TensorRT's calibration cache.
/// @param kept_float names of nodes that stay in float, which the metadata "tenon.kept_float"
/// lists.
/// @param means mean values of the channels of what convolutions and Gemm nodes read: what their
/// rounded weights add on average is taken from their biases (Nagel et al., ICCV 2019,
/// section 4.2).
/// @param type kINT8, or kFP8: e4m3 of what convolutions and products read, and of their weights,
/// with scales of amax / 448, and without means.
/// Null after an error to the logger, for a model or cache that is not usable, an opset below 10,
/// or below 19 for fp8, a node that is not there, a result above 2 GiB.
inline std::unique_ptr<nvinfer1::IHostMemory> quantize_model(
    nvinfer1::ILogger& logger, const nvinfer1::IHostMemory& model, std::string_view cache,
    const std::vector<std::string>& kept_float = {}, const ChannelNumbersByName& means = {},
    nvinfer1::DataType type = nvinfer1::DataType::kINT8) {
  if (tenonQuantizeModel == nullptr) return nullptr;
  std::vector<const char*> names;
  for (const std::string& name : kept_float) names.push_back(name.c_str());
  const auto numbers = detail::channel_numbers(means);
  return std::unique_ptr<nvinfer1::IHostMemory>(
      tenonQuantizeModel(&logger, model.data(), model.size(), cache.data(), cache.size(),
                         names.data(), static_cast<int32_t>(names.size()), numbers.data(),
                         static_cast<int32_t>(numbers.size()), type));
}

}  // namespace tenon

#endif  // TENON_QUANTIZE_H
