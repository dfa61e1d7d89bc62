// Convolution, deconvolution, pooling and padding layers.
#ifndef TENON_API_LAYERS_CONVOLUTION_H
#define TENON_API_LAYERS_CONVOLUTION_H

#include "tenon/api/tensor.h"
#include "tenon/compat8/bindings.h"

namespace nvinfer1 {

enum class PaddingMode : int32_t {
  kEXPLICIT_ROUND_DOWN = 0,
  kEXPLICIT_ROUND_UP = 1,
  kSAME_UPPER = 2,
  kSAME_LOWER = 3,

  // 8.x names.
  kCAFFE_ROUND_DOWN = 4,
  kCAFFE_ROUND_UP = 5,
};

template <> struct impl::EnumMaxImpl<PaddingMode> {
  static constexpr int32_t kVALUE = 4;
};

class IConvolutionLayer : public ILayer {
 public:
  void setNbOutputMaps(int64_t nbOutputMaps) noexcept { mImpl->setNbOutputMaps(nbOutputMaps); }
  int64_t getNbOutputMaps() const noexcept { return mImpl->getNbOutputMaps(); }
  void setNbGroups(int64_t nbGroups) noexcept { mImpl->setNbGroups(nbGroups); }
  int64_t getNbGroups() const noexcept { return mImpl->getNbGroups(); }
  void setKernelWeights(Weights weights) noexcept { mImpl->setKernelWeights(weights); }
  Weights getKernelWeights() const noexcept { return mImpl->getKernelWeights(); }
  void setBiasWeights(Weights weights) noexcept { mImpl->setBiasWeights(weights); }
  Weights getBiasWeights() const noexcept { return mImpl->getBiasWeights(); }
  void setPrePadding(const Dims& padding) noexcept { mImpl->setPrePadding(padding); }
  Dims getPrePadding() const noexcept { return mImpl->getPrePadding(); }
  void setPostPadding(const Dims& padding) noexcept { mImpl->setPostPadding(padding); }
  Dims getPostPadding() const noexcept { return mImpl->getPostPadding(); }
  void setPaddingMode(PaddingMode paddingMode) noexcept { mImpl->setPaddingMode(paddingMode); }
  PaddingMode getPaddingMode() const noexcept { return mImpl->getPaddingMode(); }
  void setKernelSizeNd(const Dims& kernelSize) noexcept { mImpl->setKernelSizeNd(kernelSize); }
  Dims getKernelSizeNd() const noexcept { return mImpl->getKernelSizeNd(); }
  void setStrideNd(const Dims& stride) noexcept { mImpl->setStrideNd(stride); }
  Dims getStrideNd() const noexcept { return mImpl->getStrideNd(); }
  void setPaddingNd(const Dims& padding) noexcept { mImpl->setPaddingNd(padding); }
  Dims getPaddingNd() const noexcept { return mImpl->getPaddingNd(); }
  void setDilationNd(const Dims& dilation) noexcept { mImpl->setDilationNd(dilation); }
  Dims getDilationNd() const noexcept { return mImpl->getDilationNd(); }

 protected:
  ~IConvolutionLayer() noexcept override = default;

 public:
#include "tenon/compat8/IConvolutionLayer.inl"
 protected:
  apiv::VConvolutionLayer* mImpl;
};

class IDeconvolutionLayer : public ILayer {
 public:
  void setNbOutputMaps(int64_t nbOutputMaps) noexcept { mImpl->setNbOutputMaps(nbOutputMaps); }
  int64_t getNbOutputMaps() const noexcept { return mImpl->getNbOutputMaps(); }
  void setNbGroups(int64_t nbGroups) noexcept { mImpl->setNbGroups(nbGroups); }
  int64_t getNbGroups() const noexcept { return mImpl->getNbGroups(); }
  void setKernelWeights(Weights weights) noexcept { mImpl->setKernelWeights(weights); }
  Weights getKernelWeights() const noexcept { return mImpl->getKernelWeights(); }
  void setBiasWeights(Weights weights) noexcept { mImpl->setBiasWeights(weights); }
  Weights getBiasWeights() const noexcept { return mImpl->getBiasWeights(); }
  void setPrePadding(const Dims& padding) noexcept { mImpl->setPrePadding(padding); }
  Dims getPrePadding() const noexcept { return mImpl->getPrePadding(); }
  void setPostPadding(const Dims& padding) noexcept { mImpl->setPostPadding(padding); }
  Dims getPostPadding() const noexcept { return mImpl->getPostPadding(); }
  void setPaddingMode(PaddingMode paddingMode) noexcept { mImpl->setPaddingMode(paddingMode); }
  PaddingMode getPaddingMode() const noexcept { return mImpl->getPaddingMode(); }
  void setKernelSizeNd(const Dims& kernelSize) noexcept { mImpl->setKernelSizeNd(kernelSize); }
  Dims getKernelSizeNd() const noexcept { return mImpl->getKernelSizeNd(); }
  void setStrideNd(const Dims& stride) noexcept { mImpl->setStrideNd(stride); }
  Dims getStrideNd() const noexcept { return mImpl->getStrideNd(); }
  void setPaddingNd(const Dims& padding) noexcept { mImpl->setPaddingNd(padding); }
  Dims getPaddingNd() const noexcept { return mImpl->getPaddingNd(); }
  void setDilationNd(const Dims& dilation) noexcept { mImpl->setDilationNd(dilation); }
  Dims getDilationNd() const noexcept { return mImpl->getDilationNd(); }

 protected:
  ~IDeconvolutionLayer() noexcept override = default;

 public:
#include "tenon/compat8/IDeconvolutionLayer.inl"
 protected:
  apiv::VDeconvolutionLayer* mImpl;
};

enum class PoolingType : int32_t {
  kMAX = 0,
  kAVERAGE = 1,
  kMAX_AVERAGE_BLEND = 2,
};

template <> struct impl::EnumMaxImpl<PoolingType> {
  static constexpr int32_t kVALUE = 3;
};

class IPoolingLayer : public ILayer {
 public:
  void setPoolingType(PoolingType type) noexcept { mImpl->setPoolingType(type); }
  PoolingType getPoolingType() const noexcept { return mImpl->getPoolingType(); }
  void setBlendFactor(float blendFactor) noexcept { mImpl->setBlendFactor(blendFactor); }
  float getBlendFactor() const noexcept { return mImpl->getBlendFactor(); }
  void setAverageCountExcludesPadding(bool exclusive) noexcept {
    mImpl->setAverageCountExcludesPadding(exclusive);
  }
  bool getAverageCountExcludesPadding() const noexcept {
    return mImpl->getAverageCountExcludesPadding();
  }
  void setPrePadding(const Dims& padding) noexcept { mImpl->setPrePadding(padding); }
  Dims getPrePadding() const noexcept { return mImpl->getPrePadding(); }
  void setPostPadding(const Dims& padding) noexcept { mImpl->setPostPadding(padding); }
  Dims getPostPadding() const noexcept { return mImpl->getPostPadding(); }
  void setPaddingMode(PaddingMode paddingMode) noexcept { mImpl->setPaddingMode(paddingMode); }
  PaddingMode getPaddingMode() const noexcept { return mImpl->getPaddingMode(); }
  void setWindowSizeNd(const Dims& windowSize) noexcept { mImpl->setWindowSizeNd(windowSize); }
  Dims getWindowSizeNd() const noexcept { return mImpl->getWindowSizeNd(); }
  void setStrideNd(const Dims& stride) noexcept { mImpl->setStrideNd(stride); }
  Dims getStrideNd() const noexcept { return mImpl->getStrideNd(); }
  void setPaddingNd(const Dims& padding) noexcept { mImpl->setPaddingNd(padding); }
  Dims getPaddingNd() const noexcept { return mImpl->getPaddingNd(); }

 protected:
  ~IPoolingLayer() noexcept override = default;

 public:
#include "tenon/compat8/IPoolingLayer.inl"
 protected:
  apiv::VPoolingLayer* mImpl;
};

class IPaddingLayer : public ILayer {
 public:
  void setPrePaddingNd(const Dims& padding) noexcept { mImpl->setPrePaddingNd(padding); }
  Dims getPrePaddingNd() const noexcept { return mImpl->getPrePaddingNd(); }
  void setPostPaddingNd(const Dims& padding) noexcept { mImpl->setPostPaddingNd(padding); }
  Dims getPostPaddingNd() const noexcept { return mImpl->getPostPaddingNd(); }

 protected:
  ~IPaddingLayer() noexcept override = default;

 public:
#include "tenon/compat8/IPaddingLayer.inl"
 protected:
  apiv::VPaddingLayer* mImpl;
};

}  // namespace nvinfer1

#endif  // TENON_API_LAYERS_CONVOLUTION_H
