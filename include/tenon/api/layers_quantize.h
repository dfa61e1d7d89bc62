// Quantization layers.
#ifndef TENON_API_LAYERS_QUANTIZE_H
#define TENON_API_LAYERS_QUANTIZE_H

#include "tenon/api/tensor.h"

namespace nvinfer1 {

/// Divides by the scale in input 1, rounds to the nearest (even) and clamps. Input 2, if set, is a
/// zero point.
class IQuantizeLayer : public ILayer {
 public:
  /// The dimension that has one scale per element; -1 if there is one for all.
  int32_t getAxis() const noexcept { return mImpl->getAxis(); }

  /// Sets the dimension that has one scale per element.
  void setAxis(int32_t axis) noexcept { mImpl->setAxis(axis); }

  /// Sets the shape of blocks that share a scale; false if it does not fit.
  bool setBlockShape(const Dims& blockShape) noexcept { return mImpl->setBlockShape(blockShape); }

  /// The shape of blocks that share a scale; nbDims is -1 if there are none.
  Dims getBlockShape() const noexcept { return mImpl->getBlockShape(); }

  /// Sets the type of the output.
  void setToType(DataType toType) noexcept { mImpl->setToType(toType); }

  /// The type of the output.
  DataType getToType() const noexcept { return mImpl->getToType(); }

 protected:
  ~IQuantizeLayer() noexcept override = default;
  apiv::VQuantizeLayer* mImpl;
};

/// Multiplies by the scale in input 1. Input 2, if set, is a zero point.
class IDequantizeLayer : public ILayer {
 public:
  /// The dimension that has one scale per element; -1 if there is one for all.
  int32_t getAxis() const noexcept { return mImpl->getAxis(); }

  /// Sets the dimension that has one scale per element.
  void setAxis(int32_t axis) noexcept { mImpl->setAxis(axis); }

  /// Sets the shape of blocks that share a scale; false if it does not fit.
  bool setBlockShape(const Dims& blockShape) noexcept { return mImpl->setBlockShape(blockShape); }

  /// The shape of blocks that share a scale; nbDims is -1 if there are none.
  Dims getBlockShape() const noexcept { return mImpl->getBlockShape(); }

  /// Sets the type of the output.
  void setToType(DataType toType) noexcept { mImpl->setToType(toType); }

  /// The type of the output.
  DataType getToType() const noexcept { return mImpl->getToType(); }

 protected:
  ~IDequantizeLayer() noexcept override = default;
  apiv::VDequantizeLayer* mImpl;
};

/// Quantizes blocks by scales found at run time. Output 0 holds the data, output 1 the scales.
class IDynamicQuantizeLayer : public ILayer {
 public:
  /// Sets the type of the data.
  void setToType(DataType toType) noexcept { mImpl->setToType(toType); }

  /// The type of the data.
  DataType getToType() const noexcept { return mImpl->getToType(); }

  /// Sets the type of the scales.
  void setScaleType(DataType scaleType) noexcept { mImpl->setScaleType(scaleType); }

  /// The type of the scales.
  DataType getScaleType() const noexcept { return mImpl->getScaleType(); }

  /// Sets the dimension that is cut into blocks.
  void setAxis(int32_t axis) noexcept { mImpl->setAxis(axis); }

  /// The dimension that is cut into blocks.
  int32_t getAxis() const noexcept { return mImpl->getAxis(); }

  /// Sets the size of a block along that dimension.
  void setBlockSize(int32_t size) noexcept { mImpl->setBlockSize(size); }

  /// The size of a block along that dimension.
  int32_t getBlockSize() const noexcept { return mImpl->getBlockSize(); }

  /// Sets the shape of a block.
  void setBlockShape(const Dims& blockShape) noexcept { mImpl->setBlockShape(blockShape); }

  /// The shape of a block.
  Dims getBlockShape() const noexcept { return mImpl->getBlockShape(); }

 protected:
  ~IDynamicQuantizeLayer() noexcept override = default;
  apiv::VDynamicQuantizeLayer* mImpl;
};

}  // namespace nvinfer1

#endif  // TENON_API_LAYERS_QUANTIZE_H
