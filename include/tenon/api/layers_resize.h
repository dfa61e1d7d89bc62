// Resizing and sampling of images, and selection of boxes.
#ifndef TENON_API_LAYERS_RESIZE_H
#define TENON_API_LAYERS_RESIZE_H

#include "tenon/api/layers_shape.h"

namespace nvinfer1 {

enum class InterpolationMode : int32_t {
  kNEAREST = 0,
  kLINEAR = 1,
  kCUBIC = 2,
};

template <> struct impl::EnumMaxImpl<InterpolationMode> {
  static constexpr int32_t kVALUE = 3;
};

enum class ResizeCoordinateTransformation : int32_t {
  kALIGN_CORNERS = 0,
  kASYMMETRIC = 1,
  kHALF_PIXEL = 2,
};

template <> struct impl::EnumMaxImpl<ResizeCoordinateTransformation> {
  static constexpr int32_t kVALUE = 3;
};

enum class ResizeSelector : int32_t {
  kFORMULA = 0,
  kUPPER = 1,
};

template <> struct impl::EnumMaxImpl<ResizeSelector> {
  static constexpr int32_t kVALUE = 2;
};

enum class ResizeRoundMode : int32_t {
  kHALF_UP = 0,
  kHALF_DOWN = 1,
  kFLOOR = 2,
  kCEIL = 3,
};

template <> struct impl::EnumMaxImpl<ResizeRoundMode> {
  static constexpr int32_t kVALUE = 4;
};

class IResizeLayer : public ILayer {
 public:
  void setOutputDimensions(const Dims& dimensions) noexcept {
    mImpl->setOutputDimensions(dimensions);
  }
  Dims getOutputDimensions() const noexcept { return mImpl->getOutputDimensions(); }
  void setScales(const float* scales, int32_t nbScales) noexcept {
    mImpl->setScales(scales, nbScales);
  }
  int32_t getScales(int32_t size, float* scales) const noexcept {
    return mImpl->getScales(size, scales);
  }
  void setResizeMode(InterpolationMode interpolationMode) noexcept {
    mImpl->setResizeMode(interpolationMode);
  }
  InterpolationMode getResizeMode() const noexcept { return mImpl->getResizeMode(); }
  void setCoordinateTransformation(ResizeCoordinateTransformation transformation) noexcept {
    mImpl->setCoordinateTransformation(transformation);
  }
  ResizeCoordinateTransformation getCoordinateTransformation() const noexcept {
    return mImpl->getCoordinateTransformation();
  }
  void setSelectorForSinglePixel(ResizeSelector selector) noexcept {
    mImpl->setSelectorForSinglePixel(selector);
  }
  ResizeSelector getSelectorForSinglePixel() const noexcept {
    return mImpl->getSelectorForSinglePixel();
  }
  void setNearestRounding(ResizeRoundMode value) noexcept { mImpl->setNearestRounding(value); }
  ResizeRoundMode getNearestRounding() const noexcept { return mImpl->getNearestRounding(); }
  void setCubicCoeff(float coefficient) noexcept { mImpl->setCubicCoeff(coefficient); }
  float getCubicCoeff() const noexcept { return mImpl->getCubicCoeff(); }
  void setExcludeOutside(bool exclude) noexcept { mImpl->setExcludeOutside(exclude); }
  bool getExcludeOutside() const noexcept { return mImpl->getExcludeOutside(); }

 protected:
  ~IResizeLayer() noexcept override = default;

 public:
#include "tenon/compat8/IResizeLayer.inl"
 protected:
  apiv::VResizeLayer* mImpl;
};

class IGridSampleLayer : public ILayer {
 public:
  void setInterpolationMode(InterpolationMode mode) noexcept { mImpl->setInterpolationMode(mode); }
  InterpolationMode getInterpolationMode() const noexcept { return mImpl->getInterpolationMode(); }
  void setAlignCorners(bool alignCorners) noexcept { mImpl->setAlignCorners(alignCorners); }
  bool getAlignCorners() const noexcept { return mImpl->getAlignCorners(); }
  bool setSampleMode(SampleMode mode) noexcept { return mImpl->setSampleMode(mode); }
  SampleMode getSampleMode() const noexcept { return mImpl->getSampleMode(); }

 protected:
  ~IGridSampleLayer() noexcept override = default;
  apiv::VGridSampleLayer* mImpl;
};

enum class BoundingBoxFormat : int32_t {
  kCORNER_PAIRS = 0,
  kCENTER_SIZES = 1,
};

template <> struct impl::EnumMaxImpl<BoundingBoxFormat> {
  static constexpr int32_t kVALUE = 2;
};

class INMSLayer : public ILayer {
 public:
  void setBoundingBoxFormat(BoundingBoxFormat format) noexcept {
    mImpl->setBoundingBoxFormat(format);
  }
  BoundingBoxFormat getBoundingBoxFormat() const noexcept { return mImpl->getBoundingBoxFormat(); }
  void setTopKBoxLimit(int32_t limit) noexcept { mImpl->setTopKBoxLimit(limit); }
  int32_t getTopKBoxLimit() const noexcept { return mImpl->getTopKBoxLimit(); }
  bool setIndicesType(DataType type) noexcept { return mImpl->setIndicesType(type); }
  DataType getIndicesType() const noexcept { return mImpl->getIndicesType(); }

 protected:
  ~INMSLayer() noexcept override = default;
  apiv::VNMSLayer* mImpl;
};

}  // namespace nvinfer1

#endif  // TENON_API_LAYERS_RESIZE_H
