// Convolutions, pooling and padding, and the 8.x layers and properties for two dimensions.
#include "bind.h"
#include "network/network_parts.h"

namespace tenon::python {

using namespace nvinfer1;

namespace {

template <class Layer> void bind_padding(nb::class_<Layer, ILayer>& layer) {
  property(layer, "pre_padding", &Layer::getPrePadding, &Layer::setPrePadding,
           "The padding before the first element of each dimension.");
  property(layer, "post_padding", &Layer::getPostPadding, &Layer::setPostPadding,
           "The padding after the last element of each dimension.");
  property(layer, "padding_mode", &Layer::getPaddingMode, &Layer::setPaddingMode,
           "How padding and output size follow from each other.");
  property(layer, "stride_nd", &Layer::getStrideNd, &Layer::setStrideNd,
           "The step per dimension; 1 unless set.");
  property(layer, "padding_nd", &Layer::getPaddingNd, &Layer::setPaddingNd,
           "The same padding before and after.");
  property(layer, "stride", &Layer::getStride, &Layer::setStride, "The 8.x name of stride_nd.");
  property(layer, "padding", &Layer::getPadding, &Layer::setPadding, "The 8.x name of padding_nd.");
}

template <class Layer>
nb::class_<Layer, ILayer> bind_convolving(nb::module_& m, const char* name, const char* doc) {
  auto layer = layer_class<Layer>(m, name, doc);
  property(layer, "num_output_maps", &Layer::getNbOutputMaps, &Layer::setNbOutputMaps,
           "The number of output channels.");
  property(layer, "num_groups", &Layer::getNbGroups, &Layer::setNbGroups,
           "How many groups of channels are computed apart.");
  weights_property(layer, "kernel", &Layer::getKernelWeights, &Layer::setKernelWeights,
                   "The weights; empty if the kernel is input 1.");
  weights_property(layer, "bias", &Layer::getBiasWeights, &Layer::setBiasWeights,
                   "One value per output channel; may be empty.");
  property(layer, "kernel_size_nd", &Layer::getKernelSizeNd, &Layer::setKernelSizeNd,
           "The size of the window.");
  property(layer, "dilation_nd", &Layer::getDilationNd, &Layer::setDilationNd,
           "The distance of the window's elements; 1 unless set.");
  property(layer, "kernel_size", &Layer::getKernelSize, &Layer::setKernelSize,
           "The 8.x name of kernel_size_nd.");
  bind_padding(layer);
  return layer;
}

}  // namespace

void bind_window_layers(nb::module_& m) {
  auto convolution = bind_convolving<IConvolutionLayer>(
      m, "IConvolutionLayer",
      "A convolution over two or three dimensions (ONNX Conv), kernel (K, C / groups, sizes..).");
  property(convolution, "dilation", &IConvolutionLayer::getDilation,
           &IConvolutionLayer::setDilation, "The 8.x name of dilation_nd.");
  bind_convolving<IDeconvolutionLayer>(
      m, "IDeconvolutionLayer",
      "A transposed convolution (ONNX ConvTranspose), kernel (C, K / groups, sizes..).");

  auto pooling =
      layer_class<IPoolingLayer>(m, "IPoolingLayer", "The largest element or the mean of windows.");
  using P = IPoolingLayer;
  property(pooling, "type", &P::getPoolingType, &P::setPoolingType, "What is taken of a window.");
  property(pooling, "blend_factor", &P::getBlendFactor, &P::setBlendFactor,
           "The share of the mean for MAX_AVERAGE_BLEND.");
  property(pooling, "average_count_excludes_padding", &P::getAverageCountExcludesPadding,
           &P::setAverageCountExcludesPadding, "Whether the mean leaves padding out.");
  property(pooling, "window_size_nd", &P::getWindowSizeNd, &P::setWindowSizeNd,
           "The size of the window.");
  property(pooling, "window_size", &P::getWindowSize, &P::setWindowSize,
           "The 8.x name of window_size_nd.");
  bind_padding(pooling);

  auto padding = layer_class<IPaddingLayer>(
      m, "IPaddingLayer", "Zeros around the last two dimensions; negative padding cuts.");
  using Z = IPaddingLayer;
  property(padding, "pre_padding_nd", &Z::getPrePaddingNd, &Z::setPrePaddingNd,
           "The padding before the first elements.");
  property(padding, "post_padding_nd", &Z::getPostPaddingNd, &Z::setPostPaddingNd,
           "The padding after the last elements.");
  property(padding, "pre_padding", &Z::getPrePadding, &Z::setPrePadding,
           "The 8.x name of pre_padding_nd.");
  property(padding, "post_padding", &Z::getPostPadding, &Z::setPostPadding,
           "The 8.x name of post_padding_nd.");

  auto connected = layer_class<IFullyConnectedLayer>(
      m, "IFullyConnectedLayer", "Of 8.x: the last three dimensions times weights (K, C*H*W).");
  using F = IFullyConnectedLayer;
  property(connected, "num_output_channels", &F::getNbOutputChannels, &F::setNbOutputChannels,
           "The number of output channels.");
  weights_property(connected, "kernel", &F::getKernelWeights, &F::setKernelWeights, "The weights.");
  weights_property(connected, "bias", &F::getBiasWeights, &F::setBiasWeights,
                   "One value per output channel; may be empty.");
}

}  // namespace tenon::python
