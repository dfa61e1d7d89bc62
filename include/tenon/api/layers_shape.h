// Layers that move elements and change shapes.
#ifndef TENON_API_LAYERS_SHAPE_H
#define TENON_API_LAYERS_SHAPE_H

#include "tenon/api/tensor.h"

namespace nvinfer1 {

/// A new order of dimensions: dimension i of the result is dimension order[i] of the input.
struct Permutation {
  /// The order, of which as many elements count as there are dimensions.
  int32_t order[Dims::MAX_DIMS];
};

/// Reorders dimensions, reshapes and reorders again, in that order. Input 1, if set, is the shape
/// to reshape to.
class IShuffleLayer : public ILayer {
 public:
  /// Sets the order of dimensions before reshaping.
  void setFirstTranspose(Permutation permutation) noexcept {
    mImpl->setFirstTranspose(permutation);
  }

  /// The order of dimensions before reshaping.
  Permutation getFirstTranspose() const noexcept { return mImpl->getFirstTranspose(); }

  /// Sets the shape; one -1 stands for what is left over, and 0 for the input's dimension at that
  /// place.
  void setReshapeDimensions(const Dims& dimensions) noexcept {
    mImpl->setReshapeDimensions(dimensions);
  }

  /// The shape; nbDims is -1 if input 1 says it.
  Dims getReshapeDimensions() const noexcept { return mImpl->getReshapeDimensions(); }

  /// Sets the order of dimensions after reshaping.
  void setSecondTranspose(Permutation permutation) noexcept {
    mImpl->setSecondTranspose(permutation);
  }

  /// The order of dimensions after reshaping.
  Permutation getSecondTranspose() const noexcept { return mImpl->getSecondTranspose(); }

  /// Sets whether 0 stands for the input's dimension, which is the default, or for an empty one.
  void setZeroIsPlaceholder(bool zeroIsPlaceholder) noexcept {
    mImpl->setZeroIsPlaceholder(zeroIsPlaceholder);
  }

  /// Whether 0 stands for the input's dimension.
  bool getZeroIsPlaceholder() const noexcept { return mImpl->getZeroIsPlaceholder(); }

 protected:
  ~IShuffleLayer() noexcept override = default;
  apiv::VShuffleLayer* mImpl;
};

/// What is read outside of the input.
enum class SampleMode : int32_t {
  kSTRICT_BOUNDS = 0,  ///< Nothing: that is an error.
  kWRAP = 1,           ///< The input, repeated.
  kCLAMP = 2,          ///< The nearest element.
  kFILL = 3,           ///< A fill value.
  kREFLECT = 4,        ///< The input, mirrored at its first and last elements.

  // 8.x name.
  kDEFAULT = kSTRICT_BOUNDS,
};

template <> struct impl::EnumMaxImpl<SampleMode> {
  static constexpr int32_t kVALUE = 5;
};

/// Picks every stride-th element from a start. Inputs 1 to 3, if set, are start, size and stride;

/// input 4 is the fill value and input 5 the axes.
class ISliceLayer : public ILayer {
 public:
  /// Sets the first element, one value per dimension.
  void setStart(const Dims& start) noexcept { mImpl->setStart(start); }

  /// The first element; nbDims is -1 if input 1 says it.
  Dims getStart() const noexcept { return mImpl->getStart(); }

  /// Sets the shape of the output.
  void setSize(const Dims& size) noexcept { mImpl->setSize(size); }

  /// The shape of the output; nbDims is -1 if input 2 says it.
  Dims getSize() const noexcept { return mImpl->getSize(); }

  /// Sets the steps, which may be negative.
  void setStride(const Dims& stride) noexcept { mImpl->setStride(stride); }

  /// The steps; nbDims is -1 if input 3 says them.
  Dims getStride() const noexcept { return mImpl->getStride(); }

  /// Sets what is read outside of the input.
  void setMode(SampleMode mode) noexcept { mImpl->setMode(mode); }

  /// What is read outside of the input.
  SampleMode getMode() const noexcept { return mImpl->getMode(); }

  /// Sets the dimensions that start, size and stride are for; all unless set.
  void setAxes(const Dims& axes) noexcept { mImpl->setAxes(axes); }

  /// The dimensions that start, size and stride are for.
  Dims getAxes() const noexcept { return mImpl->getAxes(); }

 protected:
  ~ISliceLayer() noexcept override = default;
  apiv::VSliceLayer* mImpl;
};

/// The shape of its input, as kINT64.
class IShapeLayer : public ILayer {
 protected:
  ~IShapeLayer() noexcept override = default;
  apiv::VShapeLayer* mImpl;
};

/// Joins its inputs along one dimension.
class IConcatenationLayer : public ILayer {
 public:
  /// Sets the dimension; the third from the end, or the first, unless set.
  void setAxis(int32_t axis) noexcept { mImpl->setAxis(axis); }

  /// The dimension.
  int32_t getAxis() const noexcept { return mImpl->getAxis(); }

 protected:
  ~IConcatenationLayer() noexcept override = default;
  apiv::VConcatenationLayer* mImpl;
};

/// A tensor with fixed values.
class IConstantLayer : public ILayer {
 public:
  /// Sets the values, in row-major order.
  void setWeights(Weights weights) noexcept { mImpl->setWeights(weights); }

  /// The values.
  Weights getWeights() const noexcept { return mImpl->getWeights(); }

  /// Sets the shape.
  void setDimensions(const Dims& dimensions) noexcept { mImpl->setDimensions(dimensions); }

  /// The shape.
  Dims getDimensions() const noexcept { return mImpl->getDimensions(); }

 protected:
  ~IConstantLayer() noexcept override = default;
  apiv::VConstantLayer* mImpl;
};

/// How a tensor is filled.
enum class FillOperation : int32_t {
  kLINSPACE = 0,        ///< alpha + beta * index, with one beta per dimension.
  kRANDOM_UNIFORM = 1,  ///< Random values from alpha to beta.
  kRANDOM_NORMAL = 2,   ///< Random values with mean alpha and standard deviation beta.
};

template <> struct impl::EnumMaxImpl<FillOperation> {
  static constexpr int32_t kVALUE = 3;
};

/// A tensor with computed values. Inputs 0 to 2, if set, are the shape, alpha and beta.
class IFillLayer : public ILayer {
 public:
  /// Sets the shape.
  void setDimensions(const Dims& dimensions) noexcept { mImpl->setDimensions(dimensions); }

  /// The shape; nbDims is -1 if input 0 says it.
  Dims getDimensions() const noexcept { return mImpl->getDimensions(); }

  /// Sets how it is filled.
  void setOperation(FillOperation operation) noexcept { mImpl->setOperation(operation); }

  /// How it is filled.
  FillOperation getOperation() const noexcept { return mImpl->getOperation(); }

  /// Sets alpha.
  void setAlpha(double alpha) noexcept { mImpl->setAlpha(alpha); }

  /// The value of alpha; NaN if input 1 says it.
  double getAlpha() const noexcept { return mImpl->getAlpha(); }

  /// Sets beta.
  void setBeta(double beta) noexcept { mImpl->setBeta(beta); }

  /// The value of beta; NaN if input 2 says it.
  double getBeta() const noexcept { return mImpl->getBeta(); }

  /// Sets alpha as an integer.
  void setAlphaInt64(int64_t alpha) noexcept { mImpl->setAlphaInt64(alpha); }

  /// The value of alpha as an integer; -1 if input 1 says it.
  int64_t getAlphaInt64() const noexcept { return mImpl->getAlphaInt64(); }

  /// Sets beta as an integer.
  void setBetaInt64(int64_t beta) noexcept { mImpl->setBetaInt64(beta); }

  /// The value of beta as an integer; -1 if input 2 says it.
  int64_t getBetaInt64() const noexcept { return mImpl->getBetaInt64(); }

  /// Whether alpha and beta were set as integers.
  bool isAlphaBetaInt64() const noexcept { return mImpl->isAlphaBetaInt64(); }

  /// Sets the type of the output.
  void setToType(DataType toType) noexcept { mImpl->setToType(toType); }

  /// The type of the output.
  DataType getToType() const noexcept { return mImpl->getToType(); }

 protected:
  ~IFillLayer() noexcept override = default;
  apiv::VFillLayer* mImpl;
};

/// Removes the dimensions of size 1 that input 1, known on the host, names.
class ISqueezeLayer : public ILayer {
 protected:
  ~ISqueezeLayer() noexcept override = default;
  apiv::VSqueezeLayer* mImpl;
};

/// Inserts dimensions of size 1 where input 1, known on the host, says.
class IUnsqueezeLayer : public ILayer {
 protected:
  ~IUnsqueezeLayer() noexcept override = default;
  apiv::VUnsqueezeLayer* mImpl;
};

/// Reverses the first elements of each sequence, as many as input 1 says.
class IReverseSequenceLayer : public ILayer {
 public:
  /// Sets the dimension that the sequences are numbered along; 1 unless set.
  void setBatchAxis(int32_t batchAxis) noexcept { mImpl->setBatchAxis(batchAxis); }

  /// The dimension that the sequences are numbered along.
  int32_t getBatchAxis() const noexcept { return mImpl->getBatchAxis(); }

  /// Sets the dimension that is reversed; 0 unless set.
  void setSequenceAxis(int32_t sequenceAxis) noexcept { mImpl->setSequenceAxis(sequenceAxis); }

  /// The dimension that is reversed.
  int32_t getSequenceAxis() const noexcept { return mImpl->getSequenceAxis(); }

 protected:
  ~IReverseSequenceLayer() noexcept override = default;
  apiv::VReverseSequenceLayer* mImpl;
};

}  // namespace nvinfer1

#endif  // TENON_API_LAYERS_SHAPE_H
