// Resizing and sampling of images, and selection of boxes.
#ifndef TENON_API_LAYERS_RESIZE_H
#define TENON_API_LAYERS_RESIZE_H

#include "tenon/api/layers_shape.h"

namespace nvinfer1 {

/// How values between elements are found.
enum class InterpolationMode : int32_t {
  kNEAREST = 0,  ///< The nearest element.
  kLINEAR = 1,   ///< Linearly from the two nearest ones of each dimension.
  kCUBIC = 2,    ///< By a cubic from the four nearest ones of each dimension.
};

template <> struct impl::EnumMaxImpl<InterpolationMode> {
  static constexpr int32_t kVALUE = 3;
};

/// Which place in the input belongs to an element of the output.
enum class ResizeCoordinateTransformation : int32_t {
  kALIGN_CORNERS = 0,  ///< First and last elements coincide.
  kASYMMETRIC = 1,     ///< x / scale
  kHALF_PIXEL = 2,     ///< (x + 0.5) / scale - 0.5
};

template <> struct impl::EnumMaxImpl<ResizeCoordinateTransformation> {
  static constexpr int32_t kVALUE = 3;
};

/// What is read if the output has one element along a dimension.
enum class ResizeSelector : int32_t {
  kFORMULA = 0,  ///< What the coordinate transformation says.
  kUPPER = 1,    ///< The first element.
};

template <> struct impl::EnumMaxImpl<ResizeSelector> {
  static constexpr int32_t kVALUE = 2;
};

/// How kNEAREST rounds.
enum class ResizeRoundMode : int32_t {
  kHALF_UP = 0,    ///< To the nearest, up from the middle.
  kHALF_DOWN = 1,  ///< To the nearest, down from the middle.
  kFLOOR = 2,      ///< Down.
  kCEIL = 3,       ///< Up.
};

template <> struct impl::EnumMaxImpl<ResizeRoundMode> {
  static constexpr int32_t kVALUE = 4;
};

/// Resizes its input. Input 1, if set, is the shape of the output.
class IResizeLayer : public ILayer {
 public:
  /// Sets the shape of the output.
  void setOutputDimensions(const Dims& dimensions) noexcept {
    mImpl->setOutputDimensions(dimensions);
  }

  /// The shape of the output; nbDims is 0 if scales or input 1 say it.
  Dims getOutputDimensions() const noexcept { return mImpl->getOutputDimensions(); }

  /// Sets the factor of each dimension, copied; they replace the shape.
  void setScales(const float* scales, int32_t nbScales) noexcept {
    mImpl->setScales(scales, nbScales);
  }

  /// Writes the factors if `size` suffices; how many there are, or -1 if none were set.
  int32_t getScales(int32_t size, float* scales) const noexcept {
    return mImpl->getScales(size, scales);
  }

  /// Sets how values between elements are found; kNEAREST unless set.
  void setResizeMode(InterpolationMode interpolationMode) noexcept {
    mImpl->setResizeMode(interpolationMode);
  }

  /// How values between elements are found.
  InterpolationMode getResizeMode() const noexcept { return mImpl->getResizeMode(); }

  /// Sets which place belongs to an element; kASYMMETRIC unless set.
  void setCoordinateTransformation(ResizeCoordinateTransformation transformation) noexcept {
    mImpl->setCoordinateTransformation(transformation);
  }

  /// Which place belongs to an element.
  ResizeCoordinateTransformation getCoordinateTransformation() const noexcept {
    return mImpl->getCoordinateTransformation();
  }

  /// Sets what is read for a single element; kFORMULA unless set.
  void setSelectorForSinglePixel(ResizeSelector selector) noexcept {
    mImpl->setSelectorForSinglePixel(selector);
  }

  /// What is read for a single element.
  ResizeSelector getSelectorForSinglePixel() const noexcept {
    return mImpl->getSelectorForSinglePixel();
  }

  /// Sets how kNEAREST rounds; kFLOOR unless set.
  void setNearestRounding(ResizeRoundMode value) noexcept { mImpl->setNearestRounding(value); }

  /// How kNEAREST rounds.
  ResizeRoundMode getNearestRounding() const noexcept { return mImpl->getNearestRounding(); }

  /// Sets the coefficient of kCUBIC; -0.75 unless set.
  void setCubicCoeff(float coefficient) noexcept { mImpl->setCubicCoeff(coefficient); }

  /// The coefficient of kCUBIC.
  float getCubicCoeff() const noexcept { return mImpl->getCubicCoeff(); }

  /// Sets whether places outside of the input have weight 0, the others growing to make up for it.
  void setExcludeOutside(bool exclude) noexcept { mImpl->setExcludeOutside(exclude); }

  /// Whether places outside of the input have weight 0.
  bool getExcludeOutside() const noexcept { return mImpl->getExcludeOutside(); }

 protected:
  ~IResizeLayer() noexcept override = default;

 public:
#if TENON_TRT_OLDER_NAMES
#include "tenon/compat8/IResizeLayer.inl"
#endif
 protected:
  apiv::VResizeLayer* mImpl;
};

/// Reads input 0, (N, C, H, W), at the places in input 1, (N, H out, W out, 2), from -1 to 1 as (x,
/// y).
class IGridSampleLayer : public ILayer {
 public:
  /// Sets how values between elements are found; kLINEAR unless set.
  void setInterpolationMode(InterpolationMode mode) noexcept { mImpl->setInterpolationMode(mode); }

  /// How values between elements are found.
  InterpolationMode getInterpolationMode() const noexcept { return mImpl->getInterpolationMode(); }

  /// Sets whether -1 and 1 are the centres of the first and last elements, rather than their outer
  /// edges.
  void setAlignCorners(bool alignCorners) noexcept { mImpl->setAlignCorners(alignCorners); }

  /// Whether -1 and 1 are the centres of the first and last elements.
  bool getAlignCorners() const noexcept { return mImpl->getAlignCorners(); }

  /// Sets what is read outside: kFILL (zeros, the default), kCLAMP or kREFLECT; false for others.
  bool setSampleMode(SampleMode mode) noexcept { return mImpl->setSampleMode(mode); }

  /// What is read outside.
  SampleMode getSampleMode() const noexcept { return mImpl->getSampleMode(); }

 protected:
  ~IGridSampleLayer() noexcept override = default;
  apiv::VGridSampleLayer* mImpl;
};

/// What the four numbers of a box are.
enum class BoundingBoxFormat : int32_t {
  kCORNER_PAIRS = 0,  ///< (x1, y1, x2, y2)
  kCENTER_SIZES = 1,  ///< (x centre, y centre, width, height)
};

template <> struct impl::EnumMaxImpl<BoundingBoxFormat> {
  static constexpr int32_t kVALUE = 2;
};

/// Keeps the best of overlapping boxes. Inputs are boxes (N, boxes, classes or 1, 4), scores (N,
/// boxes, classes), the limit per class, and optionally the thresholds of overlap and score. Output
/// 0 holds (batch, class, box), output 1 how many.
class INMSLayer : public ILayer {
 public:
  /// Sets what the four numbers of a box are; kCORNER_PAIRS unless set.
  void setBoundingBoxFormat(BoundingBoxFormat format) noexcept {
    mImpl->setBoundingBoxFormat(format);
  }

  /// What the four numbers of a box are.
  BoundingBoxFormat getBoundingBoxFormat() const noexcept { return mImpl->getBoundingBoxFormat(); }

  /// Sets how many boxes per class are looked at, best first.
  void setTopKBoxLimit(int32_t limit) noexcept { mImpl->setTopKBoxLimit(limit); }

  /// How many boxes per class are looked at.
  int32_t getTopKBoxLimit() const noexcept { return mImpl->getTopKBoxLimit(); }

  /// Sets the type of output 0, kINT32 or kINT64; false for others.
  bool setIndicesType(DataType type) noexcept { return mImpl->setIndicesType(type); }

  /// The type of output 0.
  DataType getIndicesType() const noexcept { return mImpl->getIndicesType(); }

 protected:
  ~INMSLayer() noexcept override = default;
  apiv::VNMSLayer* mImpl;
};

}  // namespace nvinfer1

#endif  // TENON_API_LAYERS_RESIZE_H
