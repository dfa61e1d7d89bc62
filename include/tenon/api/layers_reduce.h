// Layers that combine elements: reductions, matrix products and normalisations.
#ifndef TENON_API_LAYERS_REDUCE_H
#define TENON_API_LAYERS_REDUCE_H

#include "tenon/api/tensor.h"

namespace nvinfer1 {

enum class ReduceOperation : int32_t {
  kSUM = 0,
  kPROD = 1,
  kMAX = 2,
  kMIN = 3,
  kAVG = 4,
  kNONE = 5,
};

template <> struct impl::EnumMaxImpl<ReduceOperation> {
  static constexpr int32_t kVALUE = 6;
};

class IReduceLayer : public ILayer {
 public:
  void setOperation(ReduceOperation operation) noexcept { mImpl->setOperation(operation); }
  ReduceOperation getOperation() const noexcept { return mImpl->getOperation(); }
  void setReduceAxes(uint32_t reduceAxes) noexcept { mImpl->setReduceAxes(reduceAxes); }
  uint32_t getReduceAxes() const noexcept { return mImpl->getReduceAxes(); }
  void setKeepDimensions(bool keepDimensions) noexcept { mImpl->setKeepDimensions(keepDimensions); }
  bool getKeepDimensions() const noexcept { return mImpl->getKeepDimensions(); }

 protected:
  ~IReduceLayer() noexcept override = default;
  apiv::VReduceLayer* mImpl;
};

enum class TopKOperation : int32_t {
  kMAX = 0,
  kMIN = 1,
};

template <> struct impl::EnumMaxImpl<TopKOperation> {
  static constexpr int32_t kVALUE = 2;
};

class ITopKLayer : public ILayer {
 public:
  void setOperation(TopKOperation operation) noexcept { mImpl->setOperation(operation); }
  TopKOperation getOperation() const noexcept { return mImpl->getOperation(); }
  void setK(int32_t k) noexcept { mImpl->setK(k); }
  int32_t getK() const noexcept { return mImpl->getK(); }
  void setReduceAxes(uint32_t reduceAxes) noexcept { mImpl->setReduceAxes(reduceAxes); }
  uint32_t getReduceAxes() const noexcept { return mImpl->getReduceAxes(); }
  bool setIndicesType(DataType type) noexcept { return mImpl->setIndicesType(type); }
  DataType getIndicesType() const noexcept { return mImpl->getIndicesType(); }

 protected:
  ~ITopKLayer() noexcept override = default;
  apiv::VTopKLayer* mImpl;
};

enum class MatrixOperation : int32_t {
  kNONE = 0,
  kTRANSPOSE = 1,
  kVECTOR = 2,
};

template <> struct impl::EnumMaxImpl<MatrixOperation> {
  static constexpr int32_t kVALUE = 3;
};

class IMatrixMultiplyLayer : public ILayer {
 public:
  void setOperation(int32_t index, MatrixOperation operation) noexcept {
    mImpl->setOperation(index, operation);
  }
  MatrixOperation getOperation(int32_t index) const noexcept { return mImpl->getOperation(index); }

 protected:
  ~IMatrixMultiplyLayer() noexcept override = default;
  apiv::VMatrixMultiplyLayer* mImpl;
};

class IEinsumLayer : public ILayer {
 public:
  bool setEquation(const char* equation) noexcept { return mImpl->setEquation(equation); }
  const char* getEquation() const noexcept { return mImpl->getEquation(); }

 protected:
  ~IEinsumLayer() noexcept override = default;
  apiv::VEinsumLayer* mImpl;
};

class ISoftMaxLayer : public ILayer {
 public:
  void setAxes(uint32_t axes) noexcept { mImpl->setAxes(axes); }
  uint32_t getAxes() const noexcept { return mImpl->getAxes(); }

 protected:
  ~ISoftMaxLayer() noexcept override = default;
  apiv::VSoftMaxLayer* mImpl;
};

class IRaggedSoftMaxLayer : public ILayer {
 protected:
  ~IRaggedSoftMaxLayer() noexcept override = default;
  apiv::VRaggedSoftMaxLayer* mImpl;
};

class ILRNLayer : public ILayer {
 public:
  void setWindowSize(int64_t windowSize) noexcept { mImpl->setWindowSize(windowSize); }
  int64_t getWindowSize() const noexcept { return mImpl->getWindowSize(); }
  void setAlpha(float alpha) noexcept { mImpl->setAlpha(alpha); }
  float getAlpha() const noexcept { return mImpl->getAlpha(); }
  void setBeta(float beta) noexcept { mImpl->setBeta(beta); }
  float getBeta() const noexcept { return mImpl->getBeta(); }
  void setK(float k) noexcept { mImpl->setK(k); }
  float getK() const noexcept { return mImpl->getK(); }

 protected:
  ~ILRNLayer() noexcept override = default;
  apiv::VLRNLayer* mImpl;
};

class INormalizationLayer : public ILayer {
 public:
  void setEpsilon(float epsilon) noexcept { mImpl->setEpsilon(epsilon); }
  float getEpsilon() const noexcept { return mImpl->getEpsilon(); }
  void setAxes(uint32_t axesMask) noexcept { mImpl->setAxes(axesMask); }
  uint32_t getAxes() const noexcept { return mImpl->getAxes(); }
  void setNbGroups(int64_t nbGroups) noexcept { mImpl->setNbGroups(nbGroups); }
  int64_t getNbGroups() const noexcept { return mImpl->getNbGroups(); }
  void setComputePrecision(DataType type) noexcept { mImpl->setComputePrecision(type); }
  DataType getComputePrecision() const noexcept { return mImpl->getComputePrecision(); }
  bool isV2() const noexcept { return mImpl->isV2(); }

 protected:
  ~INormalizationLayer() noexcept override = default;
  apiv::VNormalizationLayer* mImpl;
};

enum class CumulativeOperation : int32_t {
  kSUM = 0,
};

template <> struct impl::EnumMaxImpl<CumulativeOperation> {
  static constexpr int32_t kVALUE = 1;
};

class ICumulativeLayer : public ILayer {
 public:
  bool setOperation(CumulativeOperation operation) noexcept {
    return mImpl->setOperation(operation);
  }
  CumulativeOperation getOperation() const noexcept { return mImpl->getOperation(); }
  void setExclusive(bool exclusive) noexcept { mImpl->setExclusive(exclusive); }
  bool getExclusive() const noexcept { return mImpl->getExclusive(); }
  void setReverse(bool reverse) noexcept { mImpl->setReverse(reverse); }
  bool getReverse() const noexcept { return mImpl->getReverse(); }

 protected:
  ~ICumulativeLayer() noexcept override = default;
  apiv::VCumulativeLayer* mImpl;
};

}  // namespace nvinfer1

#endif  // TENON_API_LAYERS_REDUCE_H
