// Layers that combine elements: reductions, matrix products and normalisations.
#ifndef TENON_API_LAYERS_REDUCE_H
#define TENON_API_LAYERS_REDUCE_H

#include "tenon/api/tensor.h"

namespace nvinfer1 {

/// What is computed from a set of elements.
enum class ReduceOperation : int32_t {
  kSUM = 0,   ///< Their sum.
  kPROD = 1,  ///< Their product.
  kMAX = 2,   ///< The largest.
  kMIN = 3,   ///< The smallest.
  kAVG = 4,   ///< Their mean.
  kNONE = 5,  ///< Nothing; for collective layers that do not reduce.
};

template <> struct impl::EnumMaxImpl<ReduceOperation> {
  static constexpr int32_t kVALUE = 6;
};

/// Reduces dimensions to one element.
class IReduceLayer : public ILayer {
 public:
  /// Sets what is computed.
  void setOperation(ReduceOperation operation) noexcept { mImpl->setOperation(operation); }

  /// What is computed.
  ReduceOperation getOperation() const noexcept { return mImpl->getOperation(); }

  /// Sets the dimensions that are reduced, bit n for dimension n.
  void setReduceAxes(uint32_t reduceAxes) noexcept { mImpl->setReduceAxes(reduceAxes); }

  /// The dimensions that are reduced.
  uint32_t getReduceAxes() const noexcept { return mImpl->getReduceAxes(); }

  /// Sets whether reduced dimensions stay, with size 1.
  void setKeepDimensions(bool keepDimensions) noexcept { mImpl->setKeepDimensions(keepDimensions); }

  /// Whether reduced dimensions stay.
  bool getKeepDimensions() const noexcept { return mImpl->getKeepDimensions(); }

 protected:
  ~IReduceLayer() noexcept override = default;
  apiv::VReduceLayer* mImpl;
};

/// Which elements are picked.
enum class TopKOperation : int32_t {
  kMAX = 0,  ///< The largest.
  kMIN = 1,  ///< The smallest.
};

template <> struct impl::EnumMaxImpl<TopKOperation> {
  static constexpr int32_t kVALUE = 2;
};

/// Picks the k largest or smallest elements along one dimension, in order. Output 0 holds the
/// values, output 1 their indices; of equal elements the one with the lower index comes first.
class ITopKLayer : public ILayer {
 public:
  /// Sets which elements are picked.
  void setOperation(TopKOperation operation) noexcept { mImpl->setOperation(operation); }

  /// Which elements are picked.
  TopKOperation getOperation() const noexcept { return mImpl->getOperation(); }

  /// Sets how many are picked; input 1, a scalar kINT32, takes its place if set.
  void setK(int32_t k) noexcept { mImpl->setK(k); }

  /// How many are picked; -1 if input 1 says so.
  int32_t getK() const noexcept { return mImpl->getK(); }

  /// Sets the dimension, as the only bit that is set.
  void setReduceAxes(uint32_t reduceAxes) noexcept { mImpl->setReduceAxes(reduceAxes); }

  /// The dimension, as a bit.
  uint32_t getReduceAxes() const noexcept { return mImpl->getReduceAxes(); }

  /// Sets the type of the indices, kINT32 or kINT64; false for others.
  bool setIndicesType(DataType type) noexcept { return mImpl->setIndicesType(type); }

  /// The type of the indices.
  DataType getIndicesType() const noexcept { return mImpl->getIndicesType(); }

 protected:
  ~ITopKLayer() noexcept override = default;
  apiv::VTopKLayer* mImpl;
};

/// What is done to a matrix before a product.
enum class MatrixOperation : int32_t {
  kNONE = 0,       ///< Nothing.
  kTRANSPOSE = 1,  ///< The last two dimensions change places.
  kVECTOR = 2,     ///< It is a batch of vectors: only the last dimension takes part.
};

template <> struct impl::EnumMaxImpl<MatrixOperation> {
  static constexpr int32_t kVALUE = 3;
};

/// The product of the matrices in the last two dimensions of two inputs; dimensions of 1 before
/// them are broadcast.
class IMatrixMultiplyLayer : public ILayer {
 public:
  /// Sets what is done to input `index` first.
  void setOperation(int32_t index, MatrixOperation operation) noexcept {
    mImpl->setOperation(index, operation);
  }

  /// What is done to input `index` first.
  MatrixOperation getOperation(int32_t index) const noexcept { return mImpl->getOperation(index); }

 protected:
  ~IMatrixMultiplyLayer() noexcept override = default;
  apiv::VMatrixMultiplyLayer* mImpl;
};

/// A sum of products as an equation says, such as "ij,jk->ik".
class IEinsumLayer : public ILayer {
 public:
  /// Sets the equation; false if it does not fit the inputs. The text is copied.
  bool setEquation(const char* equation) noexcept { return mImpl->setEquation(equation); }

  /// The equation.
  const char* getEquation() const noexcept { return mImpl->getEquation(); }

 protected:
  ~IEinsumLayer() noexcept override = default;
  apiv::VEinsumLayer* mImpl;
};

/// exp(x) divided by the sum of exp along one dimension.
class ISoftMaxLayer : public ILayer {
 public:
  /// Sets the dimension, as the only bit that is set; the third from the end, or the first,
  /// unless set.
  void setAxes(uint32_t axes) noexcept { mImpl->setAxes(axes); }

  /// The dimension, as a bit.
  uint32_t getAxes() const noexcept { return mImpl->getAxes(); }

 protected:
  ~ISoftMaxLayer() noexcept override = default;
  apiv::VSoftMaxLayer* mImpl;
};

/// A softmax along the last dimension of input 0, of which only as many elements count as input 1
/// says.
class IRaggedSoftMaxLayer : public ILayer {
 protected:
  ~IRaggedSoftMaxLayer() noexcept override = default;
  apiv::VRaggedSoftMaxLayer* mImpl;
};

/// x / (k + alpha / n * sum of x^2 over n neighbouring channels) ^ beta
class ILRNLayer : public ILayer {
 public:
  /// Sets how many channels count, an odd number.
  void setWindowSize(int64_t windowSize) noexcept { mImpl->setWindowSize(windowSize); }

  /// How many channels count.
  int64_t getWindowSize() const noexcept { return mImpl->getWindowSize(); }

  /// Sets alpha.
  void setAlpha(float alpha) noexcept { mImpl->setAlpha(alpha); }

  /// The value of alpha.
  float getAlpha() const noexcept { return mImpl->getAlpha(); }

  /// Sets beta.
  void setBeta(float beta) noexcept { mImpl->setBeta(beta); }

  /// The value of beta.
  float getBeta() const noexcept { return mImpl->getBeta(); }

  /// Sets k.
  void setK(float k) noexcept { mImpl->setK(k); }

  /// The value of k.
  float getK() const noexcept { return mImpl->getK(); }

 protected:
  ~ILRNLayer() noexcept override = default;
  apiv::VLRNLayer* mImpl;
};

/// (x - mean) / sqrt(variance + epsilon) * scale + bias, with mean and variance over some
/// dimensions. Inputs 1 and 2 are scale and bias.
class INormalizationLayer : public ILayer {
 public:
  /// Sets epsilon; 1e-5 unless set.
  void setEpsilon(float epsilon) noexcept { mImpl->setEpsilon(epsilon); }

  /// The value of epsilon.
  float getEpsilon() const noexcept { return mImpl->getEpsilon(); }

  /// Sets the dimensions that mean and variance are taken over, bit n for dimension n.
  void setAxes(uint32_t axesMask) noexcept { mImpl->setAxes(axesMask); }

  /// The dimensions that mean and variance are taken over.
  uint32_t getAxes() const noexcept { return mImpl->getAxes(); }

  /// Sets how many groups the channels are split into, each with its own mean and variance; 1
  /// unless set.
  void setNbGroups(int64_t nbGroups) noexcept { mImpl->setNbGroups(nbGroups); }

  /// How many groups the channels are split into.
  int64_t getNbGroups() const noexcept { return mImpl->getNbGroups(); }

  /// Sets the type that is computed in, kFLOAT or kHALF.
  TENON_REMOVED_IN_11 void setComputePrecision(DataType type) noexcept {
    mImpl->setComputePrecision(type);
  }

  /// The type that is computed in.
  TENON_REMOVED_IN_11 DataType getComputePrecision() const noexcept {
    return mImpl->getComputePrecision();
  }

  /// Whether the layer was made by addNormalizationV2().
  bool isV2() const noexcept { return mImpl->isV2(); }

 protected:
  ~INormalizationLayer() noexcept override = default;
  apiv::VNormalizationLayer* mImpl;
};

/// What is accumulated.
enum class CumulativeOperation : int32_t {
  kSUM = 0,  ///< The sum.
};

template <> struct impl::EnumMaxImpl<CumulativeOperation> {
  static constexpr int32_t kVALUE = 1;
};

/// Accumulates along the dimension that input 1, a scalar known on the host, says.
class ICumulativeLayer : public ILayer {
 public:
  /// Sets what is accumulated; false if it is not known.
  bool setOperation(CumulativeOperation operation) noexcept {
    return mImpl->setOperation(operation);
  }

  /// What is accumulated.
  CumulativeOperation getOperation() const noexcept { return mImpl->getOperation(); }

  /// Sets whether each element leaves itself out.
  void setExclusive(bool exclusive) noexcept { mImpl->setExclusive(exclusive); }

  /// Whether each element leaves itself out.
  bool getExclusive() const noexcept { return mImpl->getExclusive(); }

  /// Sets whether it goes from the last element to the first.
  void setReverse(bool reverse) noexcept { mImpl->setReverse(reverse); }

  /// Whether it goes from the last element to the first.
  bool getReverse() const noexcept { return mImpl->getReverse(); }

 protected:
  ~ICumulativeLayer() noexcept override = default;
  apiv::VCumulativeLayer* mImpl;
};

}  // namespace nvinfer1

#endif  // TENON_API_LAYERS_REDUCE_H
