/// Where the elements of a tensor lie in memory, in each of TensorRT's formats.
#pragma once

#include <NvInferRuntime.h>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>

#include "tenon/plugin/spec.h"

namespace tenon {
namespace kit {
namespace testing {

/// How a format orders tensors N, C and, behind them, as many dimensions as it is made for: in
/// vectors of channels, or with all channels innermost. Their number is padded to a multiple.
/// Source: TensorRT's "Data Format Descriptions".
struct VectorFormat {
  nvinfer1::TensorFormat format;
  const char* name;
  int spatial_dims;
  size_t multiple;
  bool is_channels_last;
  TypeMask types;  // that TensorRT has in it

  bool suits(const nvinfer1::PluginTensorDesc& desc) const {
    return desc.dims.nbDims == spatial_dims + 2 && (types & bit(desc.type)) != 0;
  }
};

/// All formats but the linear one and those of DLA.
inline constexpr VectorFormat kVectorFormats[] = {
    {nvinfer1::TensorFormat::kCHW2, "kCHW2", 2, 2, false, kHalf | kBFloat16},
    {nvinfer1::TensorFormat::kCHW4, "kCHW4", 2, 4, false, kInt8},
    {nvinfer1::TensorFormat::kCHW16, "kCHW16", 2, 16, false, kHalf},
    {nvinfer1::TensorFormat::kCHW32, "kCHW32", 2, 32, false, kFloat | kHalf | kInt8},
    {nvinfer1::TensorFormat::kCDHW32, "kCDHW32", 3, 32, false, kHalf | kInt8},
    {nvinfer1::TensorFormat::kHWC, "kHWC", 2, 1, true, ~TypeMask{0}},
    {nvinfer1::TensorFormat::kHWC8, "kHWC8", 2, 8, true, kHalf | kBFloat16},
    {nvinfer1::TensorFormat::kHWC16, "kHWC16", 2, 16, true, kHalf | kInt8},
    {nvinfer1::TensorFormat::kDHWC, "kDHWC", 3, 1, true, ~TypeMask{0}},
    {nvinfer1::TensorFormat::kDHWC8, "kDHWC8", 3, 8, true, kHalf | kBFloat16},
};

/// From an element's index in the linear format to where it is.
class Placement {
 public:
  /// Throws std::invalid_argument for dimensions that have no such format.
  Placement(const nvinfer1::Dims& dims, nvinfer1::TensorFormat format) {
    if (format == nvinfer1::TensorFormat::kLINEAR) {
      for (int i = 0; i < dims.nbDims; ++i) plane_ *= static_cast<size_t>(dims.d[i]);
      return;
    }
    const auto* row = std::ranges::find(kVectorFormats, format, &VectorFormat::format);
    if (row == std::end(kVectorFormats) || dims.nbDims != row->spatial_dims + 2)
      throw std::invalid_argument("tensors of " + std::to_string(dims.nbDims)
                                  + " dimensions have no format "
                                  + std::to_string(static_cast<int>(format)));
    batch_ = static_cast<size_t>(dims.d[0]);
    channels_ = static_cast<size_t>(dims.d[1]);
    for (int i = 2; i < dims.nbDims; ++i) plane_ *= static_cast<size_t>(dims.d[i]);
    blocks_ = (channels_ + row->multiple - 1) / row->multiple;
    vector_ = row->multiple;
    if (row->is_channels_last) vector_ *= std::exchange(blocks_, 1);
  }

  size_t operator()(size_t i) const {
    const size_t pixel = i % plane_, c = i / plane_ % channels_, n = i / plane_ / channels_;
    return ((n * blocks_ + c / vector_) * plane_ + pixel) * vector_ + c % vector_;
  }
  /// How many elements there are in memory, with the padding.
  size_t elements() const { return batch_ * blocks_ * plane_ * vector_; }

 private:
  size_t batch_ = 1, channels_ = 1, plane_ = 1;
  size_t blocks_ = 1, vector_ = 1;  // of channels: how many, and of how many each
};

}  // namespace testing
}  // namespace kit
}  // namespace tenon
