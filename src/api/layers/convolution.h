// IConvolutionLayer, IDeconvolutionLayer and IPoolingLayer.
#pragma once

#include "api/layer.h"
#include "ops/convolution.h"
#include "ops/deconvolution.h"
#include "ops/pooling.h"

namespace tenon {

/// Padding, which convolutions and pooling describe alike.
template <class Handle, class Virtual, class Op>
class PaddedLayer : public LayerOf<Handle, Virtual, Op> {
 public:
  using LayerOf<Handle, Virtual, Op>::LayerOf;
  void setPrePadding(const nvinfer1::Dims& padding) noexcept override {
    this->set(&Op::pre_padding, padding, 0, "the padding");
  }
  nvinfer1::Dims getPrePadding() const noexcept override { return this->op().pre_padding.dims(); }
  void setPostPadding(const nvinfer1::Dims& padding) noexcept override {
    this->set(&Op::post_padding, padding, 0, "the padding");
  }
  nvinfer1::Dims getPostPadding() const noexcept override { return this->op().post_padding.dims(); }
  void setPaddingMode(nvinfer1::PaddingMode mode) noexcept override {
    this->template set<nvinfer1::PaddingMode>(&Op::padding_mode, mode);
  }
  nvinfer1::PaddingMode getPaddingMode() const noexcept override { return this->op().padding_mode; }
  void setStrideNd(const nvinfer1::Dims& stride) noexcept override {
    this->set(&Op::stride, stride, 1, "the stride");
  }
  nvinfer1::Dims getStrideNd() const noexcept override { return this->op().stride.dims(); }
  void setPaddingNd(const nvinfer1::Dims& padding) noexcept override {
    this->set(&Op::pre_padding, padding, 0, "the padding");
    this->set(&Op::post_padding, padding, 0, "the padding");
  }
  nvinfer1::Dims getPaddingNd() const noexcept override { return this->op().pre_padding.dims(); }
};

/// Input 1 holds the kernel and input 2 the bias: weights, or tensors put there by setInput().
template <class Handle, class Virtual, class Op>
class ConvolutionLike final : public PaddedLayer<Handle, Virtual, Op> {
 public:
  using PaddedLayer<Handle, Virtual, Op>::PaddedLayer;
  void setNbOutputMaps(int64_t maps) noexcept override {
    this->change([&] {
      require(maps > 0, "{} output channels are not possible", maps);
      this->op().output_channels = maps;
    });
  }
  int64_t getNbOutputMaps() const noexcept override { return this->op().output_channels; }
  void setNbGroups(int64_t groups) noexcept override {
    this->change([&] {
      require(groups > 0, "{} groups are not possible", groups);
      this->op().groups = groups;
    });
  }
  int64_t getNbGroups() const noexcept override { return this->op().groups; }
  void setKernelWeights(nvinfer1::Weights weights) noexcept override {
    this->change([&] { this->put_weights(1, weights, "the kernel"); });
  }
  nvinfer1::Weights getKernelWeights() const noexcept override { return this->weights(1); }
  void setBiasWeights(nvinfer1::Weights weights) noexcept override {
    this->change([&] { this->put_weights(2, weights, "the bias"); });
  }
  nvinfer1::Weights getBiasWeights() const noexcept override { return this->weights(2); }
  void setKernelSizeNd(const nvinfer1::Dims& size) noexcept override {
    this->set(&Op::kernel, size, 1, "the kernel size");
  }
  nvinfer1::Dims getKernelSizeNd() const noexcept override { return this->op().kernel.dims(); }
  void setDilationNd(const nvinfer1::Dims& dilation) noexcept override {
    this->set(&Op::dilation, dilation, 1, "the dilation");
  }
  nvinfer1::Dims getDilationNd() const noexcept override { return this->op().dilation.dims(); }

 private:
  bool takes_input(int32_t index) const override { return index < 3; }
  bool holds_weights(int32_t index) const override { return index > 0; }
};

using ConvolutionView =
    ConvolutionLike<nvinfer1::IConvolutionLayer, nvinfer1::apiv::VConvolutionLayer, Convolution>;
TENON_VIEW(Convolution, ConvolutionView);
using DeconvolutionView = ConvolutionLike<nvinfer1::IDeconvolutionLayer,
                                          nvinfer1::apiv::VDeconvolutionLayer, Deconvolution>;
TENON_VIEW(Deconvolution, DeconvolutionView);

class PoolingView final
    : public PaddedLayer<nvinfer1::IPoolingLayer, nvinfer1::apiv::VPoolingLayer, Pooling> {
 public:
  using PaddedLayer::PaddedLayer;
  void setPoolingType(nvinfer1::PoolingType type) noexcept override { set(&Pooling::type, type); }
  nvinfer1::PoolingType getPoolingType() const noexcept override { return op().type; }
  void setBlendFactor(float blend) noexcept override { set(&Pooling::blend, blend); }
  float getBlendFactor() const noexcept override { return op().blend; }
  void setAverageCountExcludesPadding(bool excludes) noexcept override {
    set(&Pooling::average_excludes_padding, excludes);
  }
  bool getAverageCountExcludesPadding() const noexcept override {
    return op().average_excludes_padding;
  }
  void setWindowSizeNd(const nvinfer1::Dims& size) noexcept override {
    set(&Pooling::window, size, 1, "the window");
  }
  nvinfer1::Dims getWindowSizeNd() const noexcept override { return op().window.dims(); }
};
TENON_VIEW(Pooling, PoolingView);

}  // namespace tenon
