// Convolution, deconvolution, pooling and padding layers.
#ifndef TENON_API_LAYERS_CONVOLUTION_H
#define TENON_API_LAYERS_CONVOLUTION_H

#include "tenon/api/tensor.h"
#include "tenon/compat8/bindings.h"

namespace nvinfer1 {

/// How the padding of a window is found, and how the size of the output is rounded.
enum class PaddingMode : int32_t {
  kEXPLICIT_ROUND_DOWN = 0,  ///< Padding as set; windows that do not fit wholly are left out.
  kEXPLICIT_ROUND_UP = 1,    ///< Padding as set; the last window may reach over the end.
  /// So much that the output is input / stride, rounded up; an odd one goes after.
  kSAME_UPPER = 2,
  /// So much that the output is input / stride, rounded up; an odd one goes before.
  kSAME_LOWER = 3,

  // 8.x names.
  kCAFFE_ROUND_DOWN = 4,
  kCAFFE_ROUND_UP = 5,
};

template <> struct impl::EnumMaxImpl<PaddingMode> {
  static constexpr int32_t kVALUE = 4;
};

/// A convolution over the last two or three dimensions of an input (N, C, spatial..). Input 1 and
/// 2, if set, take the place of the kernel and the bias.
class IConvolutionLayer : public ILayer {
 public:
  /// Sets the number of output channels.
  void setNbOutputMaps(int64_t nbOutputMaps) noexcept { mImpl->setNbOutputMaps(nbOutputMaps); }

  /// The number of output channels.
  int64_t getNbOutputMaps() const noexcept { return mImpl->getNbOutputMaps(); }

  /// Sets how many groups the channels are split into; both channel counts are multiples of it. 1
  /// unless set.
  void setNbGroups(int64_t nbGroups) noexcept { mImpl->setNbGroups(nbGroups); }

  /// How many groups the channels are split into.
  int64_t getNbGroups() const noexcept { return mImpl->getNbGroups(); }

  /// Sets the kernel, (outputs, inputs / groups, spatial..) in row-major order.
  void setKernelWeights(Weights weights) noexcept { mImpl->setKernelWeights(weights); }

  /// The kernel.
  Weights getKernelWeights() const noexcept { return mImpl->getKernelWeights(); }

  /// Sets the bias, one value per output channel, or none.
  void setBiasWeights(Weights weights) noexcept { mImpl->setBiasWeights(weights); }

  /// The bias.
  Weights getBiasWeights() const noexcept { return mImpl->getBiasWeights(); }

  /// Sets the padding before each spatial dimension; 0 unless set.
  void setPrePadding(const Dims& padding) noexcept { mImpl->setPrePadding(padding); }

  /// The padding before each spatial dimension.
  Dims getPrePadding() const noexcept { return mImpl->getPrePadding(); }

  /// Sets the padding after each spatial dimension; 0 unless set.
  void setPostPadding(const Dims& padding) noexcept { mImpl->setPostPadding(padding); }

  /// The padding after each spatial dimension.
  Dims getPostPadding() const noexcept { return mImpl->getPostPadding(); }

  /// Sets how the padding is found; all but the explicit modes ignore the padding set.
  void setPaddingMode(PaddingMode paddingMode) noexcept { mImpl->setPaddingMode(paddingMode); }

  /// How the padding is found.
  PaddingMode getPaddingMode() const noexcept { return mImpl->getPaddingMode(); }

  /// Sets the size of the kernel, one value per spatial dimension.
  void setKernelSizeNd(const Dims& kernelSize) noexcept { mImpl->setKernelSizeNd(kernelSize); }

  /// The size of the kernel.
  Dims getKernelSizeNd() const noexcept { return mImpl->getKernelSizeNd(); }

  /// Sets the step of the window, one value per spatial dimension; 1 unless set.
  void setStrideNd(const Dims& stride) noexcept { mImpl->setStrideNd(stride); }

  /// The step of the window.
  Dims getStrideNd() const noexcept { return mImpl->getStrideNd(); }

  /// Sets the padding before and after each spatial dimension.
  void setPaddingNd(const Dims& padding) noexcept { mImpl->setPaddingNd(padding); }

  /// The padding of each spatial dimension; the one before, if they differ.
  Dims getPaddingNd() const noexcept { return mImpl->getPaddingNd(); }

  /// Sets the distance of the kernel's elements, one value per spatial dimension; 1 unless set.
  void setDilationNd(const Dims& dilation) noexcept { mImpl->setDilationNd(dilation); }

  /// The distance of the kernel's elements.
  Dims getDilationNd() const noexcept { return mImpl->getDilationNd(); }

 protected:
  ~IConvolutionLayer() noexcept override = default;

 public:
#if TENON_TRT_OLDER_NAMES
#include "tenon/compat8/IConvolutionLayer.inl"
#endif
 protected:
  apiv::VConvolutionLayer* mImpl;
};

/// A transposed convolution over the last two or three dimensions of an input (N, C, spatial..).
/// Input 1 and 2, if set, take the place of the kernel and the bias.
class IDeconvolutionLayer : public ILayer {
 public:
  /// Sets the number of output channels.
  void setNbOutputMaps(int64_t nbOutputMaps) noexcept { mImpl->setNbOutputMaps(nbOutputMaps); }

  /// The number of output channels.
  int64_t getNbOutputMaps() const noexcept { return mImpl->getNbOutputMaps(); }

  /// Sets how many groups the channels are split into; 1 unless set.
  void setNbGroups(int64_t nbGroups) noexcept { mImpl->setNbGroups(nbGroups); }

  /// How many groups the channels are split into.
  int64_t getNbGroups() const noexcept { return mImpl->getNbGroups(); }

  /// Sets the kernel, (inputs, outputs / groups, spatial..) in row-major order.
  void setKernelWeights(Weights weights) noexcept { mImpl->setKernelWeights(weights); }

  /// The kernel.
  Weights getKernelWeights() const noexcept { return mImpl->getKernelWeights(); }

  /// Sets the bias, one value per output channel, or none.
  void setBiasWeights(Weights weights) noexcept { mImpl->setBiasWeights(weights); }

  /// The bias.
  Weights getBiasWeights() const noexcept { return mImpl->getBiasWeights(); }

  /// Sets how much is cut before each spatial dimension of the output; 0 unless set.
  void setPrePadding(const Dims& padding) noexcept { mImpl->setPrePadding(padding); }

  /// How much is cut before each spatial dimension.
  Dims getPrePadding() const noexcept { return mImpl->getPrePadding(); }

  /// Sets how much is cut after each spatial dimension of the output; 0 unless set.
  void setPostPadding(const Dims& padding) noexcept { mImpl->setPostPadding(padding); }

  /// How much is cut after each spatial dimension.
  Dims getPostPadding() const noexcept { return mImpl->getPostPadding(); }

  /// Sets how the padding is found; all but the explicit modes ignore the padding set.
  void setPaddingMode(PaddingMode paddingMode) noexcept { mImpl->setPaddingMode(paddingMode); }

  /// How the padding is found.
  PaddingMode getPaddingMode() const noexcept { return mImpl->getPaddingMode(); }

  /// Sets the size of the kernel, one value per spatial dimension.
  void setKernelSizeNd(const Dims& kernelSize) noexcept { mImpl->setKernelSizeNd(kernelSize); }

  /// The size of the kernel.
  Dims getKernelSizeNd() const noexcept { return mImpl->getKernelSizeNd(); }

  /// Sets the step between inputs in the output, one value per spatial dimension; 1 unless set.
  void setStrideNd(const Dims& stride) noexcept { mImpl->setStrideNd(stride); }

  /// The step between inputs in the output.
  Dims getStrideNd() const noexcept { return mImpl->getStrideNd(); }

  /// Sets how much is cut before and after each spatial dimension.
  void setPaddingNd(const Dims& padding) noexcept { mImpl->setPaddingNd(padding); }

  /// How much is cut from each spatial dimension; that before, if they differ.
  Dims getPaddingNd() const noexcept { return mImpl->getPaddingNd(); }

  /// Sets the distance of the kernel's elements, one value per spatial dimension; 1 unless set.
  void setDilationNd(const Dims& dilation) noexcept { mImpl->setDilationNd(dilation); }

  /// The distance of the kernel's elements.
  Dims getDilationNd() const noexcept { return mImpl->getDilationNd(); }

 protected:
  ~IDeconvolutionLayer() noexcept override = default;

 public:
#if TENON_TRT_OLDER_NAMES
#include "tenon/compat8/IDeconvolutionLayer.inl"
#endif
 protected:
  apiv::VDeconvolutionLayer* mImpl;
};

/// What is computed from a window.
enum class PoolingType : int32_t {
  kMAX = 0,                ///< The largest element.
  kAVERAGE = 1,            ///< The mean.
  kMAX_AVERAGE_BLEND = 2,  ///< (1 - blend) * largest + blend * mean
};

template <> struct impl::EnumMaxImpl<PoolingType> {
  static constexpr int32_t kVALUE = 3;
};

/// Reduces windows over the last two or three dimensions of the input to one element each.
class IPoolingLayer : public ILayer {
 public:
  /// Sets what is computed from a window.
  void setPoolingType(PoolingType type) noexcept { mImpl->setPoolingType(type); }

  /// What is computed from a window.
  PoolingType getPoolingType() const noexcept { return mImpl->getPoolingType(); }

  /// Sets the share of the mean in kMAX_AVERAGE_BLEND, from 0 to 1.
  void setBlendFactor(float blendFactor) noexcept { mImpl->setBlendFactor(blendFactor); }

  /// The share of the mean in kMAX_AVERAGE_BLEND.
  float getBlendFactor() const noexcept { return mImpl->getBlendFactor(); }

  /// Sets whether the mean leaves the padding out, which is the default.
  void setAverageCountExcludesPadding(bool exclusive) noexcept {
    mImpl->setAverageCountExcludesPadding(exclusive);
  }

  /// Whether the mean leaves the padding out.
  bool getAverageCountExcludesPadding() const noexcept {
    return mImpl->getAverageCountExcludesPadding();
  }

  /// Sets the padding before each spatial dimension; 0 unless set.
  void setPrePadding(const Dims& padding) noexcept { mImpl->setPrePadding(padding); }

  /// The padding before each spatial dimension.
  Dims getPrePadding() const noexcept { return mImpl->getPrePadding(); }

  /// Sets the padding after each spatial dimension; 0 unless set.
  void setPostPadding(const Dims& padding) noexcept { mImpl->setPostPadding(padding); }

  /// The padding after each spatial dimension.
  Dims getPostPadding() const noexcept { return mImpl->getPostPadding(); }

  /// Sets how the padding is found; all but the explicit modes ignore the padding set.
  void setPaddingMode(PaddingMode paddingMode) noexcept { mImpl->setPaddingMode(paddingMode); }

  /// How the padding is found.
  PaddingMode getPaddingMode() const noexcept { return mImpl->getPaddingMode(); }

  /// Sets the size of the window, one value per spatial dimension.
  void setWindowSizeNd(const Dims& windowSize) noexcept { mImpl->setWindowSizeNd(windowSize); }

  /// The size of the window.
  Dims getWindowSizeNd() const noexcept { return mImpl->getWindowSizeNd(); }

  /// Sets the step of the window, one value per spatial dimension; the window's size unless set.
  void setStrideNd(const Dims& stride) noexcept { mImpl->setStrideNd(stride); }

  /// The step of the window.
  Dims getStrideNd() const noexcept { return mImpl->getStrideNd(); }

  /// Sets the padding before and after each spatial dimension.
  void setPaddingNd(const Dims& padding) noexcept { mImpl->setPaddingNd(padding); }

  /// The padding of each spatial dimension; the one before, if they differ.
  Dims getPaddingNd() const noexcept { return mImpl->getPaddingNd(); }

 protected:
  ~IPoolingLayer() noexcept override = default;

 public:
#if TENON_TRT_OLDER_NAMES
#include "tenon/compat8/IPoolingLayer.inl"
#endif
 protected:
  apiv::VPoolingLayer* mImpl;
};

/// Adds zeros around the last two dimensions, or cuts from them where the padding is negative.
class IPaddingLayer : public ILayer {
 public:
  /// Sets the padding before each of the two dimensions.
  void setPrePaddingNd(const Dims& padding) noexcept { mImpl->setPrePaddingNd(padding); }

  /// The padding before each of the two dimensions.
  Dims getPrePaddingNd() const noexcept { return mImpl->getPrePaddingNd(); }

  /// Sets the padding after each of the two dimensions.
  void setPostPaddingNd(const Dims& padding) noexcept { mImpl->setPostPaddingNd(padding); }

  /// The padding after each of the two dimensions.
  Dims getPostPaddingNd() const noexcept { return mImpl->getPostPaddingNd(); }

 protected:
  ~IPaddingLayer() noexcept override = default;

 public:
#if TENON_TRT_OLDER_NAMES
#include "tenon/compat8/IPaddingLayer.inl"
#endif
 protected:
  apiv::VPaddingLayer* mImpl;
};

}  // namespace nvinfer1

#endif  // TENON_API_LAYERS_CONVOLUTION_H
