// Layers that move elements and change shapes.
#ifndef TENON_API_LAYERS_SHAPE_H
#define TENON_API_LAYERS_SHAPE_H

#include "tenon/api/tensor.h"

namespace nvinfer1 {

struct Permutation {
  int32_t order[Dims::MAX_DIMS];
};

class IShuffleLayer : public ILayer {
 public:
  void setFirstTranspose(Permutation permutation) noexcept {
    mImpl->setFirstTranspose(permutation);
  }
  Permutation getFirstTranspose() const noexcept { return mImpl->getFirstTranspose(); }
  void setReshapeDimensions(const Dims& dimensions) noexcept {
    mImpl->setReshapeDimensions(dimensions);
  }
  Dims getReshapeDimensions() const noexcept { return mImpl->getReshapeDimensions(); }
  void setSecondTranspose(Permutation permutation) noexcept {
    mImpl->setSecondTranspose(permutation);
  }
  Permutation getSecondTranspose() const noexcept { return mImpl->getSecondTranspose(); }
  void setZeroIsPlaceholder(bool zeroIsPlaceholder) noexcept {
    mImpl->setZeroIsPlaceholder(zeroIsPlaceholder);
  }
  bool getZeroIsPlaceholder() const noexcept { return mImpl->getZeroIsPlaceholder(); }

 protected:
  ~IShuffleLayer() noexcept override = default;
  apiv::VShuffleLayer* mImpl;
};

enum class SampleMode : int32_t {
  kSTRICT_BOUNDS = 0,
  kWRAP = 1,
  kCLAMP = 2,
  kFILL = 3,
  kREFLECT = 4,

  // 8.x name.
  kDEFAULT = kSTRICT_BOUNDS,
};

template <> struct impl::EnumMaxImpl<SampleMode> {
  static constexpr int32_t kVALUE = 5;
};

class ISliceLayer : public ILayer {
 public:
  void setStart(const Dims& start) noexcept { mImpl->setStart(start); }
  Dims getStart() const noexcept { return mImpl->getStart(); }
  void setSize(const Dims& size) noexcept { mImpl->setSize(size); }
  Dims getSize() const noexcept { return mImpl->getSize(); }
  void setStride(const Dims& stride) noexcept { mImpl->setStride(stride); }
  Dims getStride() const noexcept { return mImpl->getStride(); }
  void setMode(SampleMode mode) noexcept { mImpl->setMode(mode); }
  SampleMode getMode() const noexcept { return mImpl->getMode(); }
  void setAxes(const Dims& axes) noexcept { mImpl->setAxes(axes); }
  Dims getAxes() const noexcept { return mImpl->getAxes(); }

 protected:
  ~ISliceLayer() noexcept override = default;
  apiv::VSliceLayer* mImpl;
};

class IShapeLayer : public ILayer {
 protected:
  ~IShapeLayer() noexcept override = default;
  apiv::VShapeLayer* mImpl;
};

class IConcatenationLayer : public ILayer {
 public:
  void setAxis(int32_t axis) noexcept { mImpl->setAxis(axis); }
  int32_t getAxis() const noexcept { return mImpl->getAxis(); }

 protected:
  ~IConcatenationLayer() noexcept override = default;
  apiv::VConcatenationLayer* mImpl;
};

class IConstantLayer : public ILayer {
 public:
  void setWeights(Weights weights) noexcept { mImpl->setWeights(weights); }
  Weights getWeights() const noexcept { return mImpl->getWeights(); }
  void setDimensions(const Dims& dimensions) noexcept { mImpl->setDimensions(dimensions); }
  Dims getDimensions() const noexcept { return mImpl->getDimensions(); }

 protected:
  ~IConstantLayer() noexcept override = default;
  apiv::VConstantLayer* mImpl;
};

enum class FillOperation : int32_t {
  kLINSPACE = 0,
  kRANDOM_UNIFORM = 1,
  kRANDOM_NORMAL = 2,
};

template <> struct impl::EnumMaxImpl<FillOperation> {
  static constexpr int32_t kVALUE = 3;
};

class IFillLayer : public ILayer {
 public:
  void setDimensions(const Dims& dimensions) noexcept { mImpl->setDimensions(dimensions); }
  Dims getDimensions() const noexcept { return mImpl->getDimensions(); }
  void setOperation(FillOperation operation) noexcept { mImpl->setOperation(operation); }
  FillOperation getOperation() const noexcept { return mImpl->getOperation(); }
  void setAlpha(double alpha) noexcept { mImpl->setAlpha(alpha); }
  double getAlpha() const noexcept { return mImpl->getAlpha(); }
  void setBeta(double beta) noexcept { mImpl->setBeta(beta); }
  double getBeta() const noexcept { return mImpl->getBeta(); }
  void setAlphaInt64(int64_t alpha) noexcept { mImpl->setAlphaInt64(alpha); }
  int64_t getAlphaInt64() const noexcept { return mImpl->getAlphaInt64(); }
  void setBetaInt64(int64_t beta) noexcept { mImpl->setBetaInt64(beta); }
  int64_t getBetaInt64() const noexcept { return mImpl->getBetaInt64(); }
  bool isAlphaBetaInt64() const noexcept { return mImpl->isAlphaBetaInt64(); }
  void setToType(DataType toType) noexcept { mImpl->setToType(toType); }
  DataType getToType() const noexcept { return mImpl->getToType(); }

 protected:
  ~IFillLayer() noexcept override = default;
  apiv::VFillLayer* mImpl;
};

class ISqueezeLayer : public ILayer {
 protected:
  ~ISqueezeLayer() noexcept override = default;
  apiv::VSqueezeLayer* mImpl;
};

class IUnsqueezeLayer : public ILayer {
 protected:
  ~IUnsqueezeLayer() noexcept override = default;
  apiv::VUnsqueezeLayer* mImpl;
};

class IReverseSequenceLayer : public ILayer {
 public:
  void setBatchAxis(int32_t batchAxis) noexcept { mImpl->setBatchAxis(batchAxis); }
  int32_t getBatchAxis() const noexcept { return mImpl->getBatchAxis(); }
  void setSequenceAxis(int32_t sequenceAxis) noexcept { mImpl->setSequenceAxis(sequenceAxis); }
  int32_t getSequenceAxis() const noexcept { return mImpl->getSequenceAxis(); }

 protected:
  ~IReverseSequenceLayer() noexcept override = default;
  apiv::VReverseSequenceLayer* mImpl;
};

}  // namespace nvinfer1

#endif  // TENON_API_LAYERS_SHAPE_H
