// Quantization layers.
#ifndef TENON_API_LAYERS_QUANTIZE_H
#define TENON_API_LAYERS_QUANTIZE_H

#include "tenon/api/tensor.h"

namespace nvinfer1 {

class IQuantizeLayer : public ILayer {
 public:
  int32_t getAxis() const noexcept { return mImpl->getAxis(); }
  void setAxis(int32_t axis) noexcept { mImpl->setAxis(axis); }
  bool setBlockShape(const Dims& blockShape) noexcept { return mImpl->setBlockShape(blockShape); }
  Dims getBlockShape() const noexcept { return mImpl->getBlockShape(); }
  void setToType(DataType toType) noexcept { mImpl->setToType(toType); }
  DataType getToType() const noexcept { return mImpl->getToType(); }

 protected:
  ~IQuantizeLayer() noexcept override = default;
  apiv::VQuantizeLayer* mImpl;
};

class IDequantizeLayer : public ILayer {
 public:
  int32_t getAxis() const noexcept { return mImpl->getAxis(); }
  void setAxis(int32_t axis) noexcept { mImpl->setAxis(axis); }
  bool setBlockShape(const Dims& blockShape) noexcept { return mImpl->setBlockShape(blockShape); }
  Dims getBlockShape() const noexcept { return mImpl->getBlockShape(); }
  void setToType(DataType toType) noexcept { mImpl->setToType(toType); }
  DataType getToType() const noexcept { return mImpl->getToType(); }

 protected:
  ~IDequantizeLayer() noexcept override = default;
  apiv::VDequantizeLayer* mImpl;
};

class IDynamicQuantizeLayer : public ILayer {
 public:
  void setToType(DataType toType) noexcept { mImpl->setToType(toType); }
  DataType getToType() const noexcept { return mImpl->getToType(); }
  void setScaleType(DataType scaleType) noexcept { mImpl->setScaleType(scaleType); }
  DataType getScaleType() const noexcept { return mImpl->getScaleType(); }
  void setAxis(int32_t axis) noexcept { mImpl->setAxis(axis); }
  int32_t getAxis() const noexcept { return mImpl->getAxis(); }
  void setBlockSize(int32_t size) noexcept { mImpl->setBlockSize(size); }
  int32_t getBlockSize() const noexcept { return mImpl->getBlockSize(); }
  void setBlockShape(const Dims& blockShape) noexcept { mImpl->setBlockShape(blockShape); }
  Dims getBlockShape() const noexcept { return mImpl->getBlockShape(); }

 protected:
  ~IDynamicQuantizeLayer() noexcept override = default;
  apiv::VDynamicQuantizeLayer* mImpl;
};

}  // namespace nvinfer1

#endif  // TENON_API_LAYERS_QUANTIZE_H
